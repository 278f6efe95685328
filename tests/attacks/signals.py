"""A run that a signal ends in any of its phases: what it leaves, and whether the next command goes on.

`python -m tests.attacks.signals FILE [PHASES…]` tries every signal in these phases, as root, and adds what came of it
to a file. With a function, a delay in seconds and a number before a command, it sends itself a signal after that call.
"""

import contextlib
import os
import pkgutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import docker
import msgspec
import psutil

from levelfield.paths import MARK, tool_sha256
from levelfield.record import files
from levelfield.record.files import write_atomically
from tests.commands import Command
from tests.engines import PrivateEngine

PHASES = {  # the functions that begin them, and how long after that the signal comes
    "fetch": ("levelfield.images.wheels:_fetch_pins", "0.3"),
    "base": ("levelfield.images.base:_load", "2"),
    "build": ("levelfield.images.engine:container_of", "1"),
    "plan": ("levelfield.run.bench:_planned", "0"),
    "prepare": ("levelfield.schedule.preparation:_references", "0.1"),
    "windows": ("levelfield.schedule.rounds:RoundScheduler._round", "0.1"),
    "report": ("levelfield.run.bench:show_result", "0"),
}
"""In the order in which the first runs of an empty engine come to them."""
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
RUN = ("bench", "--profile", "smoke", "--models", "mlp", "--backends", "jax", "--scenarios", "latency")
PATIENCE_S = 20.0
"""An engine removes containers in its own time."""


class Result(msgspec.Struct, frozen=True):
    phase: str
    signal: str
    code: int
    left: tuple[str, ...]
    """Containers, volumes, mounts, processes and files of /tmp at its end, or of a kill at the end of the next command;
    and what is in the cache's temporary folder even then."""
    goes_on: bool | None
    """Whether the next command finished the run; None: it had not begun."""


class Place:
    """An empty engine, and folders that are empty again after each command."""

    def __init__(self, folder: Path, engine: PrivateEngine) -> None:
        self.folder, self.reports, self._temporary = folder, folder / "reports", folder / "temporary"
        self._temporary.mkdir()
        self._client, self._before = docker.DockerClient(engine.host), set[Path]()
        self._environment = {"DOCKER_HOST": engine.host, "TMPDIR": str(self._temporary)}
        self._environment["LEVELFIELD_CACHE"] = str(folder / "cache")

    def run(self, *words: str, module: tuple[str, ...] = ("levelfield.cli",)) -> Command:
        return Command(*words, folder=self.folder, environment=self._environment, module=module).wait()

    def left(self) -> tuple[str, ...]:
        deadline = time.monotonic() + PATIENCE_S
        while (found := self._left()) and time.monotonic() < deadline:
            time.sleep(0.2)
        kept = {each for each in (self.folder / "cache" / "temporary").glob("*") if each.name not in {MARK, ".lock"}}
        stale, self._before = kept & self._before, kept
        return (*found, *map(str, stale))

    def _left(self) -> tuple[str, ...]:
        own = str(self._temporary)
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        return (
            *(f"container {each.name}" for each in self._client.containers.list(all=True, ignore_removed=True)),
            *(f"volume {each.name}" for each in self._client.volumes.list()),
            *(f"mount {each}" for each in mounts if each.startswith(str(self.folder))),
            *(f"process {each}" for each in psutil.process_iter(["environ"]) if own in str(each.info["environ"])),
            *(f"file {each.name}" for each in self._temporary.iterdir()),
        )

    def strike(self, phase: str, number: signal.Signals) -> Result:
        where, reports = ("tests.attacks.signals", *PHASES[phase], str(int(number))), ("--reports", str(self.reports))
        command = self.run(*RUN, *reports, module=where)
        left, goes_on = self.left() if number != signal.SIGKILL else (), None
        for folder in [file.parent for file in self.reports.glob(f"*/{files.JOURNAL}")]:
            finished = files.has_record(folder) and files.read(folder).finished is not None
            again = self.run(*(("report",) if finished else ("bench", "--resume")), folder.name, *reports)
            goes_on = again.code in (0, 1) and files.read(folder).finished is not None
            left += self.left()
            folder.rename(self.folder / f"{phase}-{number.name}")
        said = ("a traceback",) if "Traceback" in command.err else ()
        return Result(phase, number.name, command.code, (*said, *left), goes_on)


def matrix(folder: Path, phases: tuple[str, ...] = tuple(PHASES)) -> list[Result]:
    """Try every signal in every phase; before those that need it, images are made."""
    results: list[Result] = []
    with contextlib.closing(PrivateEngine()) as engine:
        place, made = Place(folder, engine), set[str]()
        for phase in phases:
            image = {"fetch": "", "base": "", "build": "canary"}.get(phase, "jax")
            if image and image not in made:
                assert place.run("images", "build", "canary", image).code == 0
                made.add(image)
            for number in SIGNALS:
                results.append(place.strike(phase, number))
                print(results[-1], flush=True)
    return results


def main(out: Path, *phases: str) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background commands ignore it
    with tempfile.TemporaryDirectory(prefix="levelfield-signals-") as folder:
        Path(folder).chmod(0o755)
        results = matrix(Path(folder), phases or tuple(PHASES))
    parts = msgspec.json.decode(out.read_bytes())["parts"] if out.exists() else []
    record = {"parts": [*parts, {"tool_sha256": tool_sha256(), "results": results}]}
    write_atomically(out, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    return int(any(each.left or each.goes_on is False for each in results))


def strike(where: str, delay_s: str, number: str, *words: str) -> None:
    from levelfield.cli import __main__ as command

    holder, _, name = where.rpartition("." if "." in where.partition(":")[2] else ":")
    owner, function = pkgutil.resolve_name(holder), pkgutil.resolve_name(where)

    def struck(*given: Any, **named: Any) -> Any:
        setattr(owner, name, function)
        timer = threading.Timer(float(delay_s), os.kill, (os.getpid(), int(number)))
        timer.start()
        timer.join(0.0 if float(delay_s) else None)
        return function(*given, **named)

    setattr(owner, name, struck)
    sys.argv = ["levelfield", *words]
    command.start()


if __name__ == "__main__":
    if ":" in sys.argv[1]:
        strike(*sys.argv[1:])
    else:
        sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
