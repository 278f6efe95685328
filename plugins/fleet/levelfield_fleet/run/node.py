"""What answers the head on a node: `python -m levelfield_fleet.run.node`, started by `run.asking`.

It reads one request from stdin and writes one reply to stdout. Stdin stays open: when it is closed, nobody waits any
more, and the run is ended as by Ctrl-C. What was measured stays in a folder of this node, in Levelfield's cache; the
next request for the same fleet and node goes on there.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NoReturn

from levelfield import plan, untrusted
from levelfield.errors import LevelfieldError, printable
from levelfield.images import build, catalogue
from levelfield.images.bundle import unpack
from levelfield.launchers.needs import choose
from levelfield.paths import cache_folder, disk_space, file_lock, tool_sha256
from levelfield.record import files
from levelfield.record.references import parse
from levelfield.run.first_ranking import needed
from levelfield.version import __version__
from levelfield_fleet.run import guard, messages
from levelfield_fleet.run.messages import Failed, Measure, Measured, Reply, Survey, Surveyed
from levelfield_fleet.run.results import FILES

FOLDER = "fleets"
"""Of the cache: fleets, and their nodes' runs."""
LOG = "bench.log"
_TAIL_BYTES = 4096
_LINES = 6
"""Last lines of a run's output that a reason quotes."""
_REFUSED = 2
"""Exit code of a run that could not begin or go on."""


def main() -> None:
    private = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no reply
    with os.fdopen(0, "rb", buffering=0, closefd=False) as requests, os.fdopen(private, "wb") as replies:
        messages.write(replies, messages.encode(answer(requests)))


def answer(requests: IO[bytes]) -> Reply:
    """Read a request, the pieces of its bundle and the empty message that ends them; return the reply.

    An expected error becomes a `Failed`.
    """
    try:
        request = messages.request_of(messages.read(requests))
        chunks = _chunks(requests)
        if not isinstance(request, Measure):
            for _ in chunks:
                pass
            return survey(request)
        take_bundle(chunks, request.bundle_sha256)
        return measure(request)
    except LevelfieldError as error:
        return Failed(str(error))


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := messages.read(stream, messages.CHUNK_BYTES):
        yield chunk


def survey(asked: Survey) -> Surveyed:
    """Return what this node would measure with.

    Raises LevelfieldError: it cannot be planned here, or the launcher cannot run here.
    """
    launcher, _ = choose(asked.launcher, base=asked.base)
    images = needed(plan.make(plan.found_here(asked.selection, launcher.kind)), launcher)
    costs = [build.estimate(names, place, asked.base) for place, names in images.items()]
    references = [parse(name) for names in images.values() for name in names]
    return Surveyed(
        tool_version=__version__,
        tool_sha256=tool_sha256(),
        locks={str(each): catalogue.lock(each.name, each.variant, each.version).sha256 for each in references},
        lacks_files=any(each.download_bytes or each.unsized for each in costs),
    )


def take_bundle(chunks: Iterator[bytes], sha256: str) -> None:
    """Write the pieces of a bundle to a file, and take it into the cache.

    `sha256`: of all of them; empty: there are none. Raises LevelfieldError: they are another file, or no bundle.
    """
    with disk_space(), tempfile.NamedTemporaryFile(dir=cache_folder("downloads"), prefix="bundle-") as file:
        digest = hashlib.sha256()
        for chunk in chunks:
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        if not sha256:
            return
        if digest.hexdigest() != sha256:
            raise LevelfieldError(
                f"The bundle that arrived here has the SHA-256 {digest.hexdigest()[:16]}…, and {sha256[:16]}… was sent."
            )
        unpack(Path(file.name))


def measure(asked: Measure) -> Measured:
    """Measure, or go on with what was cut off here; a run that ended is not measured again.

    Raises LevelfieldError: the run did not end in time, or could not be made.
    """
    folder = cache_folder(FOLDER) / asked.fleet / asked.node / str(asked.number)
    reports = folder / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    with file_lock(folder / "lock"):  # an attempt that was given up may still be ending
        if (run := _ended(reports)) is not None:
            return _measured(run)
        cut_off = _cut_off(reports)
        ending = _bench(asked, folder, ("--resume", cut_off.name) if cut_off is not None else ())
        if cut_off is not None and ending == guard.Ending(_REFUSED, "ended"):
            ending = _bench(asked, folder, ())  # such as after a reboot into another kernel
        if ending.why == "abandoned":
            _leave()
        if (run := _ended(reports)) is not None:
            return _measured(run)
    if ending.why == "too long":
        raise LevelfieldError(f"The run did not end within {asked.limit_s:.0f} seconds, and was ended.")
    raise LevelfieldError(f"The run ended with {ending.code}. {_last_lines(folder / LOG)}")


def _bench(asked: Measure, folder: Path, more: tuple[str, ...]) -> guard.Ending:
    words = [
        "bench",
        *asked.words,
        "--no-so-far",
        "--seed",
        str(asked.seed),
        "--reports",
        str(folder / "reports"),
        *more,
    ]
    with (folder / LOG).open("wb") as log:
        return guard.run(
            [sys.executable, "-P", "-m", "levelfield.cli", *words],
            output=log,
            environment=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"},
            limit_s=asked.limit_s,
        )


def _leave() -> NoReturn:
    """Exit without a reply: nobody reads it."""
    sys.exit(1)


def _ended(reports: Path) -> Path | None:
    """Return the newest run that measured all it should."""
    for folder in reversed(files.runs_in(reports)):
        try:
            if files.read(folder).finished is not None:
                return folder
        except LevelfieldError:
            continue  # cut off within a write; its journal has all
    return None


def _cut_off(reports: Path) -> Path | None:
    """Return the newest run that was cut off."""
    return max((path.parent for path in reports.glob(f"*/{files.JOURNAL}")), key=lambda path: path.name, default=None)


def _measured(run: Path) -> Measured:
    found = {}
    for name, most_bytes in FILES.items():
        if (run / name).is_file():
            try:
                found[name] = untrusted.read_plain(run / name, most_bytes)
            except OSError as error:
                raise LevelfieldError(
                    f"{name} of the run {run.name} cannot be sent: {error.strerror or error}."
                ) from error
    return Measured(run.name, found)


def _last_lines(log: Path) -> str:
    with untrusted.open_plain(log) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
        lines = printable(file.read().decode("utf-8", "replace")).split("\n")
    return " ".join(" ".join(line.split()) for line in [line for line in lines if line.strip()][-_LINES:])


if __name__ == "__main__":
    main()
