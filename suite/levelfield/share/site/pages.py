"""The site: an index with filters, a page for every run, comparisons of two, and trends; any static host serves it."""

import itertools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from levelfield.analysis import Analysis
from levelfield.analysis.summary import Summary
from levelfield.compare import ab, sides
from levelfield.compare.comparison import compare_runs
from levelfield.compare.formats import html as comparison_page
from levelfield.compare.types import Gate
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.report import html, pages
from levelfield.share import card, run_evidence
from levelfield.share.site import listing, trends
from levelfield.share.site.listing import Entry, SiteRuns
from levelfield.share.site.trends import Page
from levelfield.version import __version__

TEMPLATES = Path(__file__).parent / "templates"
MARK = ".levelfield-site"
"""Marks a folder that was made here, and may be replaced."""
PAIRS = 6
"""Newest runs of a machine of which any two are compared."""


class Published(msgspec.Struct, frozen=True):
    """What was written."""

    runs: int
    comparisons: int
    trends: int
    skipped: tuple[str, ...]


def publish(reports: Path, out: Path, say: Callable[[str], None]) -> Published:
    """Write the site of a reports folder; one that was there is replaced as a whole, or not at all.

    `out`: folder of the site; made here before, empty, or not there. Raises LevelfieldError: there is nothing to
    publish, or `out` holds something else.
    """
    _replaceable(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as place:
        fresh = Path(place) / "site"
        fresh.mkdir()
        (fresh / MARK).write_text(f"{__version__}\n", encoding="utf-8")
        runs = listing.read_runs(reports, say, lambda one, run, found: _run(one, run, found, fresh / "runs" / one.id))
        if not runs.entries:
            why = f" {runs.skipped[0]}" if runs.skipped else ""
            raise LevelfieldError(
                f"There is no run under {reports} that can be published.{why}", fix="Measure one with levelfield bench."
            )
        pairs = _comparisons(runs.entries, fresh / "compare", say)
        found = trends.pages(runs.summaries)
        machines = listing.machines(runs.entries)
        for page in found:
            _write(
                fresh / "trends" / f"{page.name}.html",
                _page("trends.html.j2", page=page, pairs=pairs, machine=machines.get(page.machine, page.machine_title)),
            )
        if len(runs.summaries) > 1:
            _write(fresh / "compare" / "index.html", _any_two(runs, machines, pairs))
        _write(fresh / "index.html", _index(runs, pairs, found))
        _put(fresh, out)
    return Published(len(runs.entries), len(pairs), len(found), runs.skipped)


def _replaceable(out: Path) -> None:
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise LevelfieldError(
            f"The folder {out} holds something that is no site of Levelfield's, and would be lost.",
            fix="Name another folder with --out.",
        )
    if out.exists() and not out.is_dir():
        raise LevelfieldError(f"{out} is no folder.", fix="Name another one with --out.")


def _put(fresh: Path, out: Path) -> None:
    """Put the new site in the place of the old one: two renames, so that no reader finds half of it for long."""
    old = fresh.parent / "old"
    if out.exists():
        out.rename(old)
    try:
        fresh.chmod(0o755)
        fresh.replace(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise


def _run(one: Entry, run: Run, found: Analysis, folder: Path) -> None:
    """Write a run's page anew from its record: a page that lies beside a record may be anybody's."""
    record = files.file_of(one.folder)
    evidence = run_evidence.evidence_of(record, files.content_of(record))
    comparison = None
    if ab.LABEL in run.labels:
        gate = Gate(margin=run.settings.margin)
        made_anew = ab.compare_arms(run, gate, evidence.sha256)
        comparison = comparison_page.within(made_anew)
    # All of it is made before any of it is written: a run is on the site as a whole, or not.
    made = {
        "index.html": html.render(run, found, comparison=comparison, evidence=evidence),
        "card.svg": card.svg(run, found),
        "card.md": card.markdown(run, found),
    }
    for name, content in made.items():
        _write(folder / name, content)


def _comparisons(entries: Sequence[Entry], folder: Path, say: Callable[[str], None]) -> dict[tuple[str, str], str]:
    """Compare any two of the newest runs of each machine; return old and new id to the page."""
    found: dict[tuple[str, str], str] = {}
    machines: dict[tuple[str, str], list[Entry]] = {}
    for one in entries:
        if not one.labels:
            machines.setdefault((one.machine, one.launcher), []).append(one)
    for runs in machines.values():
        reduced = {one.id: sides.load(one.folder) for one in runs[:PAIRS]}
        for newer, older in itertools.combinations(runs[:PAIRS], 2):
            say(f"comparing {older.id} and {newer.id}")
            try:
                made = compare_runs((reduced[older.id],), (reduced[newer.id],))
            except LevelfieldError:
                continue  # they have no case in common
            name = f"{older.id}--{newer.id}.html"
            _write(folder / name, comparison_page.write(made))
            found[older.id, newer.id] = f"compare/{name}"
    return found


def _index(runs: SiteRuns, pairs: dict[tuple[str, str], str], found: Sequence[Page]) -> str:
    entries = runs.entries
    script = (TEMPLATES / "filters.js").read_text(encoding="utf-8")
    return _page(
        "index.html.j2",
        script=script,
        entries=entries,
        pairs=[{"old": old, "new": new, "page": page} for (old, new), page in pairs.items()],
        trends=found,
        machines=listing.machines(entries),
        backends=sorted({name for one in entries for name in one.backends}),
        models=sorted({name for one in entries for name in one.models}),
        launchers=sorted({one.launcher for one in entries}),
        skipped=len(runs.skipped),
        any_two=len(runs.summaries) > 1,
    )


def _any_two(runs: SiteRuns, machines: Mapping[str, str], pairs: Mapping[tuple[str, str], str]) -> str:
    found = any_two_data(runs.summaries, machines, pairs)
    return _page(
        "any.html.j2",
        script=(TEMPLATES / "any.js").read_text(encoding="utf-8"),
        data=pages.data_block(msgspec.json.encode(found)),
        left_out=found.left_out,
    )


def _page(template: str, *, script: str = "", **values: object) -> str:
    return pages.render(
        pages.templates(TEMPLATES).get_template(template),
        style=pages.style(TEMPLATES / "site.css"),
        script=script,
        images="'self' data:",
        version=__version__,
        **values,
    )


def _write(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8", errors="replace")


MOST_ESTIMATES = 200_000
"""Estimates that the page holds, about 8 MB; runs beyond it are left out, the oldest first."""
_DIGITS = 5
"""Significant digits of an estimate."""


class Chosen(msgspec.Struct, frozen=True):
    """One run as the page holds it."""

    id: str
    started: str
    machine: str
    launcher: str
    labels: tuple[str, ...]
    results: dict[str, tuple[float | None, ...]]
    """By result id: index of the unit in `Data.units`, estimate, low, high."""


class Data(msgspec.Struct, frozen=True):
    """What the page's script reads."""

    units: tuple[str, ...]
    runs: tuple[Chosen, ...]
    """Newest first."""
    pages: dict[str, str]
    """By `old--new`: the page of a pair that was compared in full."""
    left_out: int


def any_two_data(
    summaries: Sequence[Summary], machines: Mapping[str, str], pages: Mapping[tuple[str, str], str]
) -> Data:
    """Return what the page holds."""
    units = tuple(dict.fromkeys(result.unit for one in summaries for result in one.results))
    runs: list[Chosen] = []
    held = 0
    newest = sorted(summaries, key=lambda one: (one.started, one.id), reverse=True)
    for one in newest:
        results = {
            result.id: (float(units.index(result.unit)), *map(_short, (result.estimate, result.low, result.high)))
            for result in one.results
            if result.estimate is not None
        }
        held += len(results)
        if held > MOST_ESTIMATES:
            break
        title = machines.get(one.machine, one.machine_title)
        runs.append(Chosen(one.id, one.started[:16], title, one.launcher, one.labels, results))
    links = {f"{old}--{new}": page for (old, new), page in pages.items()}
    return Data(units, tuple(runs), links, len(newest) - len(runs))


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")
