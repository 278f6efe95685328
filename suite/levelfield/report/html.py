"""The report as one HTML file: no request to anywhere, readable without JavaScript, its record inside.

Every text in a record comes from a stranger: Jinja2 escapes it, classes and anchors come from fixed sets, and the page
forbids itself frames, forms, requests and every script but its own (Content-Security-Policy).
"""

import functools
import shlex
from collections.abc import Iterator
from datetime import datetime

import jinja2
import markupsafe
import msgspec
from markupsafe import Markup

from levelfield.analysis import all_reduce, device, disturbances, energy, precision, processor, scaling, time_spent
from levelfield.analysis.types import Analysis
from levelfield.options import rerun
from levelfield.record import files, page
from levelfield.record.cpu_lists import as_text
from levelfield.record.page import Evidence
from levelfield.record.schema import Absent, Run
from levelfield.report import (
    accuracy,
    charts,
    costs,
    curves,
    insights,
    loadgen,
    machine,
    names,
    operators,
    overview,
    pages,
    parity,
    saturation,
    sentences,
    separation,
    settings_table,
    shared_images,
    states,
    units,
    xy_charts,
)
from levelfield.report.pages import TEMPLATES


class Compared(msgspec.Struct, frozen=True):
    """What the page of a run of two arms shows of their comparison."""

    answer: str
    """In one sentence: the first heading of the page."""
    sections: Markup


def render(
    run: Run, analysis: Analysis, *, comparison: Compared | None = None, evidence: Evidence | None = None
) -> str:
    """Render a run as one self-contained HTML page.

    `comparison`: of the two arms of a run that has no more; None: it is no such run. `evidence`: what the page carries;
    None: the record as it is written today, and no statement.
    """
    if evidence is None:
        evidence = page.pack(files.encode(run))
    return pages.render(
        _environment().get_template("page.html.j2"),
        style=style(),
        script=script(),
        run=run,
        analysis=analysis,
        comparison=comparison,
        anchors=names.anchors(_case_ids(analysis)),
        record_sha256=evidence.sha256,
        embedded=pages.data_block(evidence.block.encode()),
        attested=pages.data_block(page.attest(evidence)),
    )


def script() -> str:
    """Return the page's own script, joined from small files, for a script element at the end of the page.

    It builds elements and sets their text, and never makes markup out of a string.
    """
    parts = [(TEMPLATES / "script" / f"{name}.js").read_text(encoding="utf-8").strip() for name in _SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n\n".join(parts) + "\n})();"


_SCRIPTS = ("elements", "numbers", "sorting", "scales", "choosing", "record", "pictures", "closer", "downloads")
"""In the order in which they use one another."""


def style() -> str:
    """Return the page's style sheet."""
    return pages.style(TEMPLATES / "interaction.css")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = pages.templates(TEMPLATES)
    environment.globals |= {
        "accuracy": accuracy,
        "charts": charts,
        "costs": costs,
        "curves": curves,
        "device": device,
        "disturbances": disturbances,
        "all_reduce": all_reduce,
        "energy": energy,
        "insights": insights,
        "loadgen": loadgen,
        "machine": machine,
        "names": names,
        "parity": parity,
        "operators": operators,
        "overview": overview,
        "planes": xy_charts,
        "precision": precision,
        "processor": processor,
        "rerun": rerun,
        "as_typed": shlex.join,
        "saturation": saturation,
        "scaling": scaling,
        "sentences": sentences,
        "separation": separation,
        "states": states,
        "settings_table": settings_table,
        "shared_images": shared_images,
        "spending": time_spent,
        "units": units,
    }
    environment.filters |= {"elapsed": elapsed, "code": code, "cpu_list": as_text}
    environment.tests["absent"] = lambda value: isinstance(value, Absent)
    return environment


def elapsed(start: str, end: str) -> str:
    """Return the time between two moments as `9 min 12 s`.

    Returns empty where one is not a time, or the end lies before the start.
    """
    try:
        seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return ""
    return units.duration(seconds) if seconds >= 0 else ""


def code(text: str) -> Markup:
    """Escape a text, and set the parts between `backticks` as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a tick without its fellow means itself
        return markupsafe.escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else markupsafe.escape(part)
        for index, part in enumerate(parts)
    )


def _case_ids(analysis: Analysis) -> Iterator[str]:
    """Return the ids of the cases that have an article of their own, in the page's order."""
    yield from (block.case.id for block in analysis.timed)
    yield from (block.case.id for block in analysis.cold)
    yield from (block.case.id for block in analysis.memory)
