"""Where one fault is done: a folder, an engine, a small run that stops at an event, and what the fault cost it."""

import contextlib
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import docker
import msgspec

from levelfield.record import files, journal
from levelfield.record.append_only import Lost
from levelfield.record.journal import Event
from levelfield.record.schema import Run
from tests.commands import Command, eventually
from tests.engines import containers, none_left
from tests.faults.journalled import windows
from tests.faults.judging import differences
from tests.faults.stopping import GO, REACHED

RUN = ("bench", "--profile", "smoke", "--models", "mlp", "--backends", "onnxruntime", "--scenarios", "latency")
SEED = ("--seed", "7")


class Result(msgspec.Struct, frozen=True):
    """What one fault cost."""

    fault: str
    at: str
    """The event at which it struck."""
    code: int
    """Exit code of the command that it struck; negative: the signal that ended it."""
    said: str
    """Last line of what that command wrote to its standard error."""
    kept: int
    lost: int
    again: int
    """Windows, as `tests.faults.journalled.Windows` has them."""
    left: int
    """Containers that were still there after the next command."""
    differences: tuple[str, ...]
    """Between the run that was taken up again and an unbroken one."""
    seconds: float

    @property
    def holds(self) -> bool:
        return not self.lost and not self.left and not self.differences


class Place:
    """A folder for the runs of one fault; an engine of its own, where it has one."""

    def __init__(self, folder: Path, engine: docker.DockerClient, host: str = "") -> None:
        folder.chmod(0o755)
        self.folder, self.engine, self.host = folder, engine, host
        self.reports = folder / "reports"
        self.signals = folder / "signals"
        self.signals.mkdir()
        temporary = folder / "temporary"
        temporary.mkdir()
        self._environment = {"TMPDIR": str(temporary), **({"DOCKER_HOST": host} if host else {})}

    def begin(self, fault: str, number: int, *words: str) -> Command:
        """Start the run that the fault strikes at an event."""
        return self._command((*RUN, *SEED, *words), ("tests.faults.stopping", str(number), fault, str(self.signals)))

    def run(self, *words: str) -> Command:
        return self._command(words, ("levelfield.cli",)).wait()

    def _command(self, words: Sequence[str], module: Sequence[str]) -> Command:
        where = ("--reports", str(self.reports))
        return Command(*words, *where, folder=self.folder, environment=self._environment, module=module)

    def strike(self, number: int, harm: Callable[[], object]) -> Command:
        """Let the run come to an event, do harm, and let it go on to whatever end it has."""
        command = self.begin("wait", number)
        assert eventually(lambda: not command.running or (self.signals / REACHED).exists())
        assert command.running, command.wait().err
        self.pid = command.pid
        try:
            harm()
        except BaseException:
            command.send(signal.SIGKILL)
            command.wait()
            raise
        (self.signals / GO).touch()
        return command.wait()

    def events(self) -> list[Event | Lost]:
        return journal.read(next(self.reports.glob(f"*/{files.JOURNAL}")))

    def record(self) -> Run:
        return files.read(next(self.reports.glob(f"*/{files.JOURNAL}")).parent)


def unbroken(place: Place) -> tuple[Run, list[Event]]:
    """Make the run that nothing befalls; return its record and its events."""
    command = place.run(*RUN, *SEED)
    assert command.code == 0, command.err
    return place.record(), [event for event in place.events() if not isinstance(event, Lost)]


def name(number: int, events: Sequence[Event]) -> str:
    event = events[number - 1]
    return f"{number} of {len(events)}: {type(event).__name__}"


def take_up(
    place: Place, whole: tuple[Run, list[Event]], fault: str, at: str, command: Command, began: float
) -> Result:
    """Go on with the run that a fault ended, and judge what came of it."""
    held = place.events()
    begun = journal.fold(held).id if held else ""
    again = place.run("bench", "--resume", begun)
    result = judge(place, whole, fault, at, command, began, held)
    if again.code not in (0, 1):
        failed = f"it cannot be taken up again: {last_line(again.err).replace(str(place.folder), '…')}"
        return msgspec.structs.replace(result, differences=(failed, *result.differences))
    return result


def judge(
    place: Place,
    whole: tuple[Run, list[Event]],
    fault: str,
    at: str,
    command: Command,
    began: float,
    held: Sequence[Event | Lost],
) -> Result:
    record = place.record()
    found = windows(held, record)
    wrong = differences(whole[0], record)
    if "Traceback" in command.err:
        wrong.append("a traceback was printed")
    none_left(place.engine, command.pid)
    return Result(
        fault=fault,
        at=at,
        code=command.code,
        said=last_line(command.err).replace(str(place.folder), "…"),
        kept=found.kept,
        lost=found.lost,
        again=found.again,
        left=len(containers(place.engine, command.pid)),
        differences=tuple(wrong),
        seconds=time.monotonic() - began,
    )


def last_line(text: str) -> str:
    return next(iter(reversed(text.strip().splitlines())), "")


@contextlib.contextmanager
def place(engine: docker.DockerClient, host: str = "") -> Iterator[Place]:
    """Make a place for one fault, and remove it."""
    folder = Path(tempfile.mkdtemp(prefix="levelfield-faults-"))
    try:
        yield Place(folder, engine, host)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
