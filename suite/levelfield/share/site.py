"""A folder of runs as a static site: an index with filters, a page for every run, comparisons of two, and trends.

Any static host serves it, and no page makes a request to another one.
"""

import contextlib
import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from levelfield.analysis import Analysis, guarded, summary
from levelfield.analysis.environment import machine_key, machine_title
from levelfield.analysis.summary import Summary
from levelfield.compare import ab, sides
from levelfield.compare.comparison import compare_runs
from levelfield.compare.formats import html as comparison_page
from levelfield.compare.types import Gate
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.report import answers, html, names, pages, sentences
from levelfield.share import attestation, card, trends
from levelfield.share.trends import Page
from levelfield.version import __version__

TEMPLATES = Path(__file__).parent / "templates"
MARK = ".levelfield-site"
"""Marks a folder that was made here, and may be replaced."""
PAIRS = 6
"""Newest runs of a machine of which any two are compared."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
"""What a run's id may be to become the name of a folder."""


class Entry(msgspec.Struct, frozen=True):
    """One run."""

    id: str
    folder: Path
    started: str
    title: str
    """The verdict in a sentence."""
    parity: str
    machine: str
    """Key of the hardware."""
    machine_title: str
    launcher: str
    labels: tuple[str, ...]
    models: tuple[str, ...]
    backends: tuple[str, ...]
    stack: tuple[str, ...]
    """`torch 2.13.0`, one for every framework."""


class SiteRuns(msgspec.Struct, frozen=True):
    """What a site is made of."""

    entries: tuple[Entry, ...]
    """Newest first."""
    summaries: tuple[Summary, ...]
    skipped: tuple[str, ...]
    """Folders that are left out, and why."""


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
        runs = read_runs(reports, say, lambda one, run, found: _run(one, run, found, fresh / "runs" / one.id))
        if not runs.entries:
            why = f" {runs.skipped[0]}" if runs.skipped else ""
            raise LevelfieldError(
                f"There is no run under {reports} that can be published.{why}", fix="Measure one with levelfield bench."
            )
        pairs = _comparisons(runs.entries, fresh / "compare", say)
        found = trends.pages(runs.summaries)
        machines = machines_of(runs.entries)
        for page in found:
            _write(
                fresh / "trends" / f"{page.name}.html",
                _page("trends.html.j2", page=page, pairs=pairs, machine=machines.get(page.machine, page.machine_title)),
            )
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
    evidence = attestation.evidence_of(record, files.content_of(record))
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
        machines=machines_of(entries),
        backends=sorted({name for one in entries for name in one.backends}),
        models=sorted({name for one in entries for name in one.models}),
        launchers=sorted({one.launcher for one in entries}),
        skipped=len(runs.skipped),
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


def read_runs(reports: Path, say: Callable[[str], None], keep: Callable[[Entry, Run, Analysis], None]) -> SiteRuns:
    """Read every run of a folder, once; what cannot be read, or has an id that no folder can have, is left out."""
    entries: dict[str, Entry] = {}
    summaries: list[Summary] = []
    skipped: list[str] = []
    for number, folder in enumerate(folders := files.runs_in(reports), start=1):
        say(f"reading {folder.name} ({number} of {len(folders)})")
        try:
            record = guarded.read(folder)
            run, found = record.run, record.analysis
            if not _ID.fullmatch(run.id) or run.id in entries:
                skipped.append(f"{folder.name}: its run's id is taken, or can be no folder's name")
                continue
            one = _entry(run, found, folder)
            keep(one, run, found)
        except LevelfieldError as error:
            skipped.append(f"{folder.name}: {error.message}")
        except OSError:
            raise  # of the disk that the site is written to
        except Exception as error:  # noqa: BLE001  (a stranger's record may break the analysis in any way)
            skipped.append(f"{folder.name}: its analysis ended with {error.__class__.__name__}")
        else:
            entries[one.id] = one
            with contextlib.suppress(LevelfieldError):  # names that no history keeps: it has no trends
                summaries.append(
                    summary.summarise(run, found, record_sha256=record.sha256, record_bytes=record.size_bytes)
                )
    newest = sorted(entries.values(), key=lambda entry: (entry.started, entry.id), reverse=True)
    return SiteRuns(tuple(newest), tuple(summaries), tuple(skipped))


def machines_of(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the title of each machine by its key, sorted by title; where several share a title, the key is added."""
    titles = {one.machine: one.machine_title for one in entries}
    count = Counter(titles.values())
    named = {key: title if count[title] == 1 else f"{title} (machine {key})" for key, title in titles.items()}
    return dict(sorted(named.items(), key=lambda each: each[1]))


def _entry(run: Run, found: Analysis, folder: Path) -> Entry:
    versions = {
        name: version
        for image in run.images
        for name, version in image.distributions.items()
        if names.is_framework(name)
    }
    return Entry(
        id=run.id,
        folder=folder,
        started=run.started,
        title=answers.overall(found),
        parity=sentences.parity(found),
        machine=machine_key(run.machine),
        machine_title=machine_title(run.machine),
        launcher=run.settings.launcher,
        labels=run.labels,
        models=tuple(dict.fromkeys(names.network(block.case) for block in run.blocks)),
        backends=run.settings.backends,
        stack=tuple(f"{name} {version}" for name, version in sorted(versions.items())),
    )
