"""Faults at every event of a small run, each with what it cost: done to real engines, disks, clocks and networks."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import docker
import msgspec

from suite.launchers.docker import connect
from suite.records import files, journal
from suite.records.journal import Event, LaunchDone, Lost, RoundDone, TurnTaken
from suite.records.schema import Launch, Run, Turn
from tests.commands import Command, eventually
from tests.engines import PrivateEngine, containers, none_left
from tests.faults.judging import differences, windows
from tests.faults.stopping import GO, REACHED

RUN = ("bench", "--profile", "smoke", "--models", "mlp", "--backends", "onnxruntime", "--scenarios", "latency")
SEED = ("--seed", "7")
HOUR_S = 3600.0
STARVED_BYTES = 24 << 20
"""Memory that is left to a worker: less than its interpreter has loaded."""
NETNS = f"levelfield-faults-{os.getpid()}"
NETWORK = "198.18.0"
"""Of the range for trials, RFC 2544."""


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
    """Windows, as `tests.faults.judging.Windows` has them."""
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
        self.folder, self.engine = folder, engine
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
        return self._command(words, ("suite.cli",)).wait()

    def _command(self, words: Sequence[str], module: Sequence[str]) -> Command:
        where = ("--reports", str(self.reports))
        return Command(*words, *where, folder=self.folder, environment=self._environment, module=module)

    def strike(self, number: int, harm: Callable[[], object]) -> Command:
        """Let the run come to an event, do harm, and let it go on to whatever end it has."""
        command = self.begin("wait", number)
        assert eventually(lambda: not command.running or (self.signals / REACHED).exists())
        assert command.running, command.wait().err
        self.pid = command.pid
        harm()
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


def killed(place: Place, whole: tuple[Run, list[Event]], number: int, *, torn: bool) -> Result:
    """Kill the supervisor when an event is on the disk, or in the middle of writing it."""
    began = time.monotonic()
    command = place.begin("torn" if torn else "kill", number).wait()
    fault = "kill -9 within the write of an event" if torn else "kill -9 after an event"
    return _take_up(place, whole, fault, name(number, whole[1]), command, began)


def disk_full(place: Place, whole: tuple[Run, list[Event]], number: int) -> Result:
    """Fill the disk that the journal is on, and give it back before the run is taken up again."""
    began = time.monotonic()
    with _mounted(place, "-t", "tmpfs", "-o", "size=8m", "tmpfs"):
        ballast = place.reports / "ballast"

        def fill() -> None:
            free = os.statvfs(place.reports)
            ballast.write_bytes(bytes(free.f_bavail * free.f_bsize))

        command = place.strike(number, fill)
        ballast.unlink()
        return _take_up(place, whole, "disk full", name(number, whole[1]), command, began)


def read_only(place: Place, whole: tuple[Run, list[Event]], number: int) -> Result:
    """Let the file system find an error and turn read-only, as ext4 does (errors=remount-ro), then repair it."""
    began = time.monotonic()
    disk = place.folder / "disk"
    with disk.open("wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-e", "remount-ro", disk], check=True)
    with _mounted(place, "-o", "loop", str(disk)):
        device = _device(place.reports)
        trigger = Path("/sys/fs/ext4") / Path(device).name / "trigger_fs_error"
        command = place.strike(number, lambda: trigger.write_text("levelfield"))
    subprocess.run(["e2fsck", "-p", "-f", disk], check=False, capture_output=True)
    with _mounted(place, "-o", "loop", str(disk)):
        return _take_up(place, whole, "file system turns read-only", name(number, whole[1]), command, began)


def clock_back(place: Place, whole: tuple[Run, list[Event]], number: int) -> Result:
    """Set the machine's clock back by an hour, and right again afterwards; nothing has to be taken up again."""
    began = time.monotonic()
    offset = time.time() - began
    try:
        command = place.strike(number, lambda: time.clock_settime(time.CLOCK_REALTIME, time.time() - HOUR_S))
    finally:
        time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + offset)
    return _judge(place, whole, "clock set back by an hour", name(number, whole[1]), command, began, place.events())


def engine_killed(place: Place, whole: tuple[Run, list[Event]], number: int, engine: PrivateEngine) -> Result:
    """Kill the container engine and start it again."""
    began = time.monotonic()

    def again() -> None:
        engine.kill()
        engine.restart()

    command = place.strike(number, again)
    return _take_up(place, whole, "engine killed and started again", name(number, whole[1]), command, began)


def starved(place: Place, whole: tuple[Run, list[Event]], number: int) -> Result:
    """Take a worker's memory away; the run goes on without it, and launches it again in the next generation."""
    began = time.monotonic()

    def starve() -> None:
        victim = next(
            each for each in containers(place.engine, place.pid) if "onnxruntime#2" in each.labels["levelfield.name"]
        )
        with contextlib.suppress(docker.errors.APIError):  # it may have ended before the engine answers
            victim.update(mem_limit=STARVED_BYTES, memswap_limit=STARVED_BYTES)

    command = place.strike(number, starve)
    failed = [each for each in _failures(place.record()) if each[1] == "onnxruntime#2"]
    result = _judge(
        place, whole, "memory limit hit by a worker", name(number, whole[1]), command, began, place.events()
    )
    own = {f"{block.case.id}: {what}" for block in whole[0].blocks for what in _of_one_arm(failed)}
    return msgspec.structs.replace(
        result,
        said="; ".join(dict.fromkeys(message for _, _, message in failed)) or "no worker failed",
        differences=(
            *(each for each in result.differences if each not in own),
            *(() if failed else ("the worker did not fail",)),
        ),
    )


def _failures(run: Run) -> list[tuple[int, str, str]]:
    """Return generation, arm and message of every failed turn and launch."""
    found: list[tuple[int, str, str]] = []
    for generation in (each for block in run.blocks for each in block.generations):
        attempts: list[Launch | Turn] = [*generation.launches]
        attempts += [turn for done in generation.rounds for turn in done.turns]
        found += [(generation.index, each.arm, each.failure.message) for each in attempts if each.failure is not None]
    return found


def _of_one_arm(failed: Sequence[tuple[int, str, str]]) -> set[str]:
    """Return the differences that the failure of an arm in a generation accounts for."""
    indices = {index for index, _, _ in failed}
    return {f"{what} of generation {index} differ" for index in indices for what in ("launches", "arms of the rounds")}


def network_cut(place: Place) -> Result:
    """Cut the network while an image is built from nothing, and give it back: nothing half-made stays or counts."""
    began = time.monotonic()
    cache = place.folder / "cache"
    before = _images(place.engine)
    with _network() as cut:
        command = Command(
            "build", "onnxruntime", folder=place.folder, within=("ip", "netns", "exec", NETNS),
            environment={"LEVELFIELD_CACHE": str(cache), "PIP_DEFAULT_TIMEOUT": "5", "PIP_RETRIES": "1"},
        )  # fmt: skip
        assert eventually(lambda: not command.running or _bytes(cache) > 0)
        assert command.running, command.wait().err
        cut()
        command.wait()
    left = len(_images(place.engine) - before)
    again = Command("build", "onnxruntime", folder=place.folder, environment={"LEVELFIELD_CACHE": str(cache)}).wait()
    wrong = [] if again.code == 0 else [f"it cannot be built afterwards: {again.err.strip()[-200:]}"]
    if command.code != 2 or "Traceback" in command.err:
        wrong.append(f"it ended with {command.code}")
    return Result(
        fault="network cut while an image is built",
        at="the first bytes are there",
        code=command.code,
        said=_last_line(command.err),
        kept=0,
        lost=0,
        again=0,
        left=left,
        differences=tuple(wrong),
        seconds=time.monotonic() - began,
    )


def _images(engine: docker.DockerClient) -> set[str]:
    """Return the images that no build would count as its own, and every container beside them."""
    return {str(each.id) for each in engine.images.list(filters={"dangling": True})} | {
        str(each.id) for each in engine.containers.list(all=True, ignore_removed=True)
    }


def _bytes(folder: Path) -> int:
    total = 0
    for each in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += each.stat().st_size if each.is_file() else 0
    return total


@contextlib.contextmanager
def _network() -> Iterator[Callable[[], None]]:
    """Make a network namespace that reaches what this machine reaches; yield what cuts it off."""
    inside, outside = "lf-faults1", "lf-faults0"
    masquerade = ("POSTROUTING", "-s", f"{NETWORK}.0/30", "-j", "MASQUERADE")
    forwards = [("FORWARD", "-i", outside, "-j", "ACCEPT"), ("FORWARD", "-o", outside, "-j", "ACCEPT")]

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    ip("netns", "add", NETNS)
    try:
        ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", NETNS)
        ip("address", "add", f"{NETWORK}.1/30", "dev", outside)
        ip("link", "set", outside, "up")
        ip("-n", NETNS, "address", "add", f"{NETWORK}.2/30", "dev", inside)
        ip("-n", NETNS, "link", "set", "lo", "up")
        ip("-n", NETNS, "link", "set", inside, "up")
        ip("-n", NETNS, "route", "add", "default", "via", f"{NETWORK}.1")
        subprocess.run(["iptables", "-t", "nat", "-A", *masquerade], check=True)
        for each in forwards:
            subprocess.run(["iptables", "-I", *each], check=True)
        yield partial(ip, "link", "set", outside, "down")
    finally:
        subprocess.run(["iptables", "-t", "nat", "-D", *masquerade], check=False)
        for each in forwards:
            subprocess.run(["iptables", "-D", *each], check=False)
        ip("netns", "delete", NETNS)
        subprocess.run(["ip", "link", "delete", outside], check=False, capture_output=True)


@contextlib.contextmanager
def _mounted(place: Place, *words: str) -> Iterator[None]:
    place.reports.mkdir(exist_ok=True)
    subprocess.run(["mount", *words, place.reports], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", place.reports], check=True)


def _device(mounted: Path) -> str:
    for line in Path("/proc/mounts").read_text().splitlines():
        device, where, *_ = line.split()
        if where == str(mounted):
            return device
    raise AssertionError(f"{mounted} is not mounted.")


def _take_up(
    place: Place, whole: tuple[Run, list[Event]], fault: str, at: str, command: Command, began: float
) -> Result:
    """Go on with the run that a fault ended, and judge what came of it."""
    held = place.events()
    begun = journal.fold(held).id if held else ""
    again = place.run("bench", "--resume", begun)
    result = _judge(place, whole, fault, at, command, began, held)
    if again.code not in (0, 1):
        failed = f"it cannot be taken up again: {_last_line(again.err)}"
        return msgspec.structs.replace(result, differences=(failed, *result.differences))
    return result


def _judge(
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
        said=_last_line(command.err),
        kept=found.kept,
        lost=found.lost,
        again=found.again,
        left=len(containers(place.engine, command.pid)),
        differences=tuple(wrong),
        seconds=time.monotonic() - began,
    )


def _last_line(text: str) -> str:
    return next(iter(reversed(text.strip().splitlines())), "")


@contextlib.contextmanager
def place(engine: docker.DockerClient, host: str = "") -> Iterator[Place]:
    """Make a place for one fault, and remove it."""
    folder = Path(tempfile.mkdtemp(prefix="levelfield-faults-"))
    try:
        yield Place(folder, engine, host)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def matrix() -> Iterator[Result]:
    """Do every fault, one after the other."""
    engine = connect()
    with place(engine) as here:
        whole = unbroken(here)
    count = len(whole[1])

    def one(fault: Callable[..., Result], *words: Any, **options: Any) -> Result:
        with place(engine) as here:
            return fault(here, *words, **options)

    # What follows the last event of a run is not measured: the run is finished, and there is nothing to take up.
    for number in range(1, count):
        yield one(killed, whole, number, torn=False)
    for number in range(2, count + 1):
        yield one(killed, whole, number, torn=True)
    taken = [number for number, event in enumerate(whole[1], start=1) if isinstance(event, TurnTaken | RoundDone)]
    for number in taken[:-1]:
        yield one(disk_full, whole, number)
    first, half = taken[0], taken[len(taken) // 2]
    for number in (first, half):
        yield one(read_only, whole, number)
    for number in (first, half):
        yield one(clock_back, whole, number)
    launched = next(number for number, event in enumerate(whole[1], start=1) if isinstance(event, LaunchDone))
    for number in (launched + 1, first, half):
        yield one(starved, whole, number)
    with contextlib.ExitStack() as stack:
        private = PrivateEngine()
        stack.callback(private.close)
        private.load(engine, *(image.tag for image in whole[0].images))
        client = stack.enter_context(contextlib.closing(docker.DockerClient(private.host)))
        for number in (launched, first, half):
            with place(client, private.host) as here:
                yield engine_killed(here, whole, number, private)
    yield one(network_cut)
