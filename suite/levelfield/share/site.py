"""Runs as a static site: who is fastest on each machine, what changed, every run, comparisons of two, and trends.

Any static host serves it, and no page makes a request to another one. Every run is verified first.
"""

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from levelfield import untrusted
from levelfield.compare import phrases
from levelfield.compare.comparison import compare_runs
from levelfield.compare.formats import html as comparison_page
from levelfield.errors import LevelfieldError
from levelfield.names import plural
from levelfield.paths import temporary_folder
from levelfield.report import names, pages
from levelfield.share import card, machines, trends
from levelfield.share.attestation import Given
from levelfield.share.runs import Entry, SiteRuns, paths_of, read_runs
from levelfield.share.trends import Page
from levelfield.version import __version__

TEMPLATES = Path(__file__).parent / "templates"
MARK = ".levelfield-site"
"""Marks a folder that was made here: the version, and the files that were written, one a line."""
_WRITTEN = re.compile(r"(runs/[^/.\0][^/\0]*|compare|trends)/[^/.\0][^/\0]*\.(html|svg|md)")
"""Files that one site has and the next may not have: whatever else its list names, nothing else is removed."""
_MOST_LISTED = 1 << 26
"""Bytes of that list."""
PAIRS = 6
"""Newest runs of a machine of which any two are compared."""
SHOWN = 6
"""Machines and shared cases that are shown; what follows is folded."""


class Pair(msgspec.Struct, frozen=True):
    """Two runs of a machine that are compared."""

    old: Entry
    new: Entry
    page: str
    says: str
    facts: int
    """Facts of the environment that changed."""

    @property
    def versions(self) -> tuple[str, ...]:
        """Frameworks that the old run has not, or in another version."""
        return tuple(each for each in self.new.stack if each not in self.old.stack)


class Published(msgspec.Struct, frozen=True):
    runs: int
    comparisons: int
    trends: int
    skipped: tuple[str, ...]


def publish(
    sources: Sequence[Path],
    out: Path,
    say: Callable[[str], None],
    *,
    title: str = "Levelfield reports",
    base: str = "",
    signers: Path | None = None,
) -> Published:
    """Write the site of all runs; of one that was there, what was written is replaced, and files of others stay.

    `sources`: folders of runs, folders of one, pages. `out`: made here before, empty, or not there. `base`: where the
    site will be (`parse_base_url`). Raises LevelfieldError: there is nothing to publish, or `out` holds something else.
    """
    _replaceable(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder("site") as place:
        fresh = place / "site"
        fresh.mkdir()
        (fresh / ".nojekyll").touch()  # GitHub Pages then serves a branch as it is

        def keep(one: Entry, given: Given, page: str) -> None:
            _run(given, page, fresh / "runs" / one.id, f"{base}/runs/{one.id}" if base else "")

        runs = read_runs(paths_of(sources), say, keep, signers=signers)
        if not runs.entries:
            why = f" {runs.skipped[0]}" if runs.skipped else ""
            pages_alone = not why and any(any(source.glob("*.html")) for source in sources)
            raise LevelfieldError(
                f"There is no run under {', '.join(map(str, sources))} that can be published.{why}",
                fix="Name the pages themselves." if pages_alone else "Measure one with levelfield bench.",
            )
        pairs = _comparisons(runs, fresh / "compare", say)
        found = trends.pages(runs.summaries)
        known, common = machines_of(runs.entries), {"title": title, "base": base}
        compared = {(pair.old.id, pair.new.id): pair.page for pair in pairs}
        for page in found:
            content = _page("trends.html.j2", **common, page=page, pairs=compared, machine=known[page.machine])
            _write(fresh / "trends" / f"{page.name}.html", content)
        _write(fresh / "index.html", _index(runs, pairs, found, common))
        _put(fresh, out)
    return Published(len(runs.entries), len(pairs), len(found), runs.skipped)


def _replaceable(out: Path) -> None:
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise LevelfieldError(
            f"The folder {out} holds something that is no site of Levelfield's, and could be overwritten.",
            fix="Name another folder with --out.",
        )
    if out.exists() and not out.is_dir():
        raise LevelfieldError(f"{out} is no folder.", fix="Name another one with --out.")


def _put(fresh: Path, out: Path) -> None:
    """Put a new site in the place of the old one, the index last; what the old one wrote and this one has not goes."""
    paths = {path.relative_to(fresh).as_posix() for path in fresh.rglob("*") if path.is_file()}
    out.mkdir(exist_ok=True)
    old = _written(out)
    untrusted.write_inside(out, MARK, _list(paths | old))
    for name in sorted(paths, key="index.html".__eq__):
        untrusted.write_inside(out, name, (fresh / name).read_bytes())
    for gone in old - paths:
        untrusted.remove_inside(out, gone)
    untrusted.write_inside(out, MARK, _list(paths))


def _list(paths: Iterable[str]) -> bytes:
    return "\n".join((__version__, *sorted(paths), "")).encode()


def _written(out: Path) -> set[str]:
    """Return what a site wrote that another may not; one of an earlier version has no list, and is told by names."""
    try:
        paths = untrusted.read_plain(out / MARK, _MOST_LISTED).decode(errors="replace").split("\n")[1:-1]
    except FileNotFoundError:
        return set()
    found = (path for depth in ("*/*", "*/*/*") for path in out.glob(depth) if path.is_file())
    return set(filter(_WRITTEN.fullmatch, paths or [path.relative_to(out).as_posix() for path in found]))


def _run(given: Given, page: str, folder: Path, address: str) -> None:
    run, found = given.run, given.analysis
    # All of it is made before any of it is written: a run is on the site as a whole, or not.
    text = card.markdown(run, found)
    if address:
        text += f"\n[![The result as a picture]({address}/card.svg)]({address}/index.html)\n"
    for name, content in {"index.html": page, "card.svg": card.svg(run, found), "card.md": text}.items():
        _write(folder / name, content)


def _comparisons(runs: SiteRuns, folder: Path, say: Callable[[str], None]) -> list[Pair]:
    """Compare any two of the newest runs of each machine; the newest pair of each comes first."""
    found: list[Pair] = []
    groups: dict[tuple[str, str], list[Entry]] = {}
    for one in runs.entries:
        if not one.labels:
            groups.setdefault((one.machine, one.launcher), []).append(one)
    for group in groups.values():
        for newer, older in itertools.combinations(group[:PAIRS], 2):
            say(f"comparing {older.id} and {newer.id}")
            try:
                made = compare_runs((runs.reduced[older.id],), (runs.reduced[newer.id],))
            except LevelfieldError:
                continue  # they have no case in common
            name = f"{older.id}--{newer.id}.html"
            if "--" in older.id or "--" in newer.id:  # two pairs may read alike
                name = f"{older.id}--{newer.id}--{hashlib.sha256(older.id.encode()).hexdigest()[:8]}.html"
            _write(folder / name, comparison_page.write(made))
            found.append(Pair(older, newer, f"compare/{name}", phrases.first_line(made), len(made.changed)))
    return found


def _index(runs: SiteRuns, pairs: Sequence[Pair], found: Sequence[Page], common: dict[str, str]) -> str:
    entries, newest = runs.entries, tuple(machines.newest(runs.entries))
    return _page(
        "index.html.j2",
        script=(TEMPLATES / "filters.js").read_text(encoding="utf-8"),
        **common,
        runs=entries,
        newest=newest,
        shared=machines.shared(newest),
        pairs=pairs,
        changed={(pair.new.machine, pair.new.launcher): pair for pair in reversed(pairs)},
        trends={(page.machine, page.launcher): page for page in found},
        machines=machines_of(entries),
        backends=sorted({name for one in entries for name in one.backends}),
        models=sorted({name for one in entries for name in one.models}),
        launchers=sorted({one.launcher for one in entries}),
        skipped=len(runs.skipped),
        shown=SHOWN,
        names=names,
        plural=plural,
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


_SHORTER = (re.compile(r" \((?:[^()]|\([^()]*\))*\)"), re.compile(r"; (?:[^()]|\([^()]*\))*(?=\))"))
"""What is left out of a machine's title where it is not needed: all details of the processor, or its instructions."""


def machines_of(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the title of each machine by its key, sorted: as short as tells them apart, else with the key added."""
    titles = {one.machine: one.machine_title for one in entries}
    forms = [{key: details.sub("", title) for key, title in titles.items()} for details in _SHORTER]
    forms += [titles, {key: f"{title} (machine {key})" for key, title in titles.items()}]
    counts = [Counter(form.values()) for form in forms]
    named = {
        key: next(form[key] for form, count in zip(forms, counts, strict=True) if count[form[key]] == 1)
        for key in titles
    }
    return dict(sorted(named.items(), key=lambda each: each[1]))
