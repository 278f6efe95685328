"""The runs of a reports folder, as a site shows them: newest first, each in a few plain words."""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from levelfield.analysis import Analysis, guarded, summary
from levelfield.analysis.environment import machine_key, machine_title
from levelfield.analysis.summary import Summary
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.schema import Run
from levelfield.report import names, sentences

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


def read_runs(reports: Path, say: Callable[[str], None], keep: Callable[[Entry, Run, Analysis], None]) -> SiteRuns:
    """Read every run of a folder, once; what cannot be read, or calls itself what no folder can be called, is left out.

    Raises LevelfieldError: the folder itself cannot be read.
    """
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


def machines(entries: Iterable[Entry]) -> dict[str, str]:
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
        title=sentences.overall(found),
        parity=sentences.parity(found),
        machine=machine_key(run.machine),
        machine_title=machine_title(run.machine),
        launcher=run.settings.launcher,
        labels=run.labels,
        models=tuple(dict.fromkeys(names.network(block.case) for block in run.blocks)),
        backends=run.settings.backends,
        stack=tuple(f"{name} {version}" for name, version in sorted(versions.items())),
    )
