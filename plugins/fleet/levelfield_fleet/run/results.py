"""What a node sent back is a stranger's: bounded, of known names, and the record of exactly what was asked."""

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from levelfield import analysis, untrusted
from levelfield.analysis import guarded
from levelfield.errors import LevelfieldError
from levelfield.record import files, page
from levelfield.record.schema import Run
from levelfield.report import html
from levelfield.share import statement
from levelfield_fleet.run.images import Expected, difference
from levelfield_fleet.run.messages import Measured

FILES: Mapping[str, int] = {
    page.NAME: 64 * 1024 * 1024,
    statement.NAME: statement.MAX_BYTES,
}
"""The files of a run that a node sends, and the most bytes of each."""


class RefusedError(LevelfieldError):
    """The node measures something else than the others: to ask it again changes nothing."""


class Asked(msgspec.Struct, frozen=True):
    """What a record must show that it answers."""

    node: str
    seed: int
    """Of the schedule, drawn for this node: no other record has it."""
    launcher: str
    tool_sha256: str
    images: Mapping[str, Expected]
    identify: bool = False


class Kept(msgspec.Struct, frozen=True):
    run: str
    sha256: str
    """Of its record."""


def keep(measured: Measured, asked: Asked, fleet: Path, known: Collection[str]) -> Kept:
    """Check what a node sent, and write it to `<fleet>/<node>/<run>/`.

    Raises LevelfieldError: it is not what was asked for, or is damaged. Raises RefusedError: it was measured with
    another Levelfield or other images.
    """
    _check_files(measured, asked.node)
    name = f"The record of {asked.node}"
    content = page.record_in(measured.files[page.NAME], FILES[page.NAME])
    run = guarded.decode(content, name)
    _check_run(run, measured.run, asked, name, known)
    with guarded.computing(name):  # a page may hold anything: it is rendered here
        rendered = html.render(run, analysis.analyse(run), evidence=page.pack(content))
    folder = fleet / asked.node / measured.run
    try:
        untrusted.make_inside(folder, fleet)
    except OSError as error:
        raise LevelfieldError(
            f"The folder {folder} cannot be made: {error.strerror or error}.", fix="Free space, or choose --reports."
        ) from error
    if statement.NAME in measured.files:
        files.write_atomically(folder / statement.NAME, measured.files[statement.NAME])
    files.write_atomically(folder / page.NAME, rendered.encode(errors="replace"))  # last: with it the run is there
    return Kept(measured.run, hashlib.sha256(content).hexdigest())


def _check_files(measured: Measured, node: str) -> None:
    for name, content in measured.files.items():
        if name not in FILES:
            raise LevelfieldError(f"{node} sent a file {name[:80]!r}, which no run holds.")
        if len(content) > FILES[name]:
            raise LevelfieldError(f"{node} sent {len(content):,} bytes of {name}, which has {FILES[name]:,} at most.")
    if page.NAME not in measured.files:
        raise LevelfieldError(f"{node} sent no record.")


def _check_run(run: Run, claimed: str, asked: Asked, name: str, known: Collection[str]) -> None:
    if run.id != claimed:
        raise LevelfieldError(f"{name} is of the run {run.id[:80]!r}, and {claimed!r} was sent.")
    if run.id in known:
        raise LevelfieldError(f"{name} is the run {run.id!r}, which another node sent.")
    if run.settings.seed != asked.seed:
        raise LevelfieldError(f"{name} has another seed than was drawn for this node: it is of another run.")
    if run.settings.launcher != asked.launcher:
        raise LevelfieldError(f"{name} was measured with the launcher {run.settings.launcher}, not {asked.launcher}.")
    if run.finished is None:
        raise LevelfieldError(f"{name} is of a run that did not end.")
    if "identity" in run.machine and not asked.identify:
        raise LevelfieldError(f"{name} names its host and user, which was not asked for.")
    if run.tool_sha256 != asked.tool_sha256:
        raise RefusedError(
            f"{name} was measured with another Levelfield ({run.tool_sha256[:12]}, and {asked.tool_sha256[:12]} here)."
        )
    if found := difference(run.images, asked.images):
        raise RefusedError(f"{name} was measured with other images: {found}.")
