"""A comparison as one HTML file: the report's own look, no request to anywhere, readable without JavaScript."""

from pathlib import Path

from markupsafe import Markup

from levelfield.compare import phrases
from levelfield.compare.formats import ratio_chart
from levelfield.compare.types import Comparison
from levelfield.report import html as report
from levelfield.report import names, pages, units
from levelfield.version import __version__

TEMPLATES = Path(__file__).parent.parent / "templates"


def write(comparison: Comparison) -> str:
    """Return the comparison as a page, to be written as UTF-8."""
    style = pages.style()
    return _render(
        "comparison.html.j2",
        comparison,
        policy=pages.policy(style),
        style=Markup(style),  # noqa: S704  (our own file)
    )


def within(comparison: Comparison) -> report.Compared:
    """Return the comparison as the answer and the sections of the report of the run that it is about."""
    sections = Markup(_render("comparison_within.html.j2", comparison))  # noqa: S704  (rendered with escaping)
    return report.Compared(phrases.first_line(comparison), sections)


def _render(template: str, comparison: Comparison, **further: object) -> str:
    return (
        pages.templates(TEMPLATES)
        .get_template(template)
        .render(
            comparison=comparison,
            moved=comparison.moved,
            changes=len(comparison.changed),
            names=names,
            ratio_chart=ratio_chart,
            units=units,
            version=__version__,
            words=phrases,
            **further,
        )
    )
