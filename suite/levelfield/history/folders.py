"""The summaries of a folder of runs: what cannot be read is named and left out."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.history import summary
from levelfield.history.summary import Summary
from levelfield.record import files

Progress: TypeAlias = Callable[[str], None]


class Skipped(msgspec.Struct, frozen=True):
    """A folder whose record could not be read, and why."""

    folder: str
    reason: str


def read(reports: Path, progress: Progress) -> tuple[tuple[Summary, ...], tuple[Skipped, ...]]:
    """Return the summary of every run in a folder.

    A record without a summary that fits is analysed, and its summary is written beside it.

    Raises LevelfieldError: the folder cannot be read.
    """
    skipped: list[Skipped] = []
    found = list(_summaries(files.runs_in(reports), skipped, progress))
    chosen: dict[str, Summary] = {}
    for folder, run in sorted(found, key=lambda each: each[0].name != each[1].id):  # a run's own folder goes first
        if chosen.setdefault(run.id, run).record_sha256 != run.record_sha256:
            skipped.append(Skipped(folder.name, f"its run id {run.id} belongs to another record"))
    return tuple(chosen.values()), tuple(skipped)


def _summaries(folders: list[Path], skipped: list[Skipped], progress: Progress) -> Iterator[tuple[Path, Summary]]:
    for number, folder in enumerate(folders, start=1):
        found = summary.kept(folder)
        if found is not None:
            yield folder, found
            continue
        progress(f"analysing {folder.name} ({number} of {len(folders)})")
        try:
            found = summary.from_record(folder)
        except LevelfieldError as error:
            skipped.append(Skipped(folder.name, error.message))
        except Exception as error:  # noqa: BLE001  (a stranger's record may break the analysis in any way)
            skipped.append(Skipped(folder.name, f"its analysis ended with {error.__class__.__name__}: {error}"))
        else:
            with contextlib.suppress(LevelfieldError):  # a read-only folder: it is analysed again next time
                summary.write(found, folder)
            yield folder, found
