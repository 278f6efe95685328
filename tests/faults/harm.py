"""The faults: done to real processes, engines, disks, clocks and networks, each at one event of a run."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import docker
import msgspec
from docker.models.containers import Container

from levelfield.record.journal import Event
from levelfield.record.schema import Launch, Run, Turn
from tests.commands import Command, eventually
from tests.engines import PrivateEngine, containers
from tests.faults.network import NETNS, network
from tests.faults.place import Place, Result, judge, last_line, name, take_up

KILLED, TORN = "kill -9 after an event", "kill -9 within the write of an event"
TITLES = {
    "killed": KILLED,
    "disk_full": "disk full",
    "read_only": "file system turns read-only",
    "clock_back": "clock set back by an hour",
    "engine_killed": "engine killed and started again",
    "starved": "memory limit hit by a worker",
    "network_cut": "network cut while an image is built",
}
"""What the faults are called, by the names of their functions."""
HOUR_S = 3600.0
SPARE_BYTES = 64 << 20
"""Memory that a worker's limit leaves it, beyond what it has."""
GREEDY = f"import time; taken = b'x' * {4 * SPARE_BYTES}; time.sleep(600)"


def killed(place: Place, whole: tuple[Run, list[Event]], number: int, *, torn: bool) -> Result:
    """Kill the supervisor when an event is on the disk, or in the middle of writing it."""
    began = time.monotonic()
    command = place.begin("torn" if torn else "kill", number).wait()
    fault = TORN if torn else KILLED
    return take_up(place, whole, fault, name(number, whole[1]), command, began)


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
        return take_up(place, whole, TITLES["disk_full"], name(number, whole[1]), command, began)


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
        return take_up(place, whole, TITLES["read_only"], name(number, whole[1]), command, began)


def clock_back(place: Place, whole: tuple[Run, list[Event]], number: int) -> Result:
    """Set the machine's clock back by an hour, and right again afterwards; nothing has to be taken up again."""
    began = time.monotonic()
    offset = time.time() - began
    try:
        command = place.strike(number, lambda: time.clock_settime(time.CLOCK_REALTIME, time.time() - HOUR_S))
    finally:
        time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + offset)
    return judge(place, whole, TITLES["clock_back"], name(number, whole[1]), command, began, place.events())


def engine_killed(place: Place, whole: tuple[Run, list[Event]], number: int, engine: PrivateEngine) -> Result:
    """Kill the container engine and start it again."""
    began = time.monotonic()

    def again() -> None:
        engine.kill()
        engine.restart()

    command = place.strike(number, again)
    return take_up(place, whole, TITLES["engine_killed"], name(number, whole[1]), command, began)


def starved(place: Place, whole: tuple[Run, list[Event]], number: int) -> Result:
    """Let the kernel end a worker for want of memory; the run launches it again in the next generation."""
    began = time.monotonic()

    def starve() -> None:
        victim = next(
            each
            for each in containers(place.engine, place.pid)
            if "onnxruntime#2" in each.labels["levelfield.name"] and each.status == "running"
        )
        limit = victim.stats(stream=False)["memory_stats"]["usage"] + SPARE_BYTES
        victim.update(mem_limit=limit, memswap_limit=limit)
        _crowd(place.engine, victim)

    command = place.strike(number, starve)
    failed = [each for each in _failures(place.record()) if each[1] == "onnxruntime#2"]
    result = judge(place, whole, TITLES["starved"], name(number, whole[1]), command, began, place.events())
    own = {f"{block.case.id}: {what}" for block in whole[0].blocks for what in _of_one_arm(failed)}
    return msgspec.structs.replace(
        result,
        said="; ".join(dict.fromkeys(message for _, _, message in failed)) or "no worker failed",
        differences=(
            *(each for each in result.differences if each not in own),
            *(() if failed else ("the worker did not fail",)),
        ),
    )


def _crowd(engine: docker.DockerClient, container: Container) -> None:
    """Let a second process take the memory that a container has left, and the kernel end the first one for it."""
    Path(f"/proc/{container.attrs['State']['Pid']}/oom_score_adj").write_text("1000")
    command = ["/opt/levelfield/env/bin/python", "-c", GREEDY]
    engine.api.exec_start(engine.api.exec_create(container.id, command)["Id"], detach=True)
    assert eventually(lambda: all(each.id != container.id for each in engine.containers.list()))


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
    where = {"LEVELFIELD_CACHE": str(cache), "DOCKER_HOST": place.host}
    before = _images(place.engine)
    with network() as cut:
        command = Command(
            "images", "build", "onnxruntime", folder=place.folder, within=("ip", "netns", "exec", NETNS),
            environment={**where, "PIP_DEFAULT_TIMEOUT": "5", "PIP_RETRIES": "1"},
        )  # fmt: skip
        assert eventually(lambda: not command.running or _bytes(cache) > 0)
        assert command.running, command.wait().err
        cut()
        command.wait()
    left = len(_images(place.engine) - before)
    again = Command("images", "build", "onnxruntime", folder=place.folder, environment=where).wait()
    wrong = [] if again.code == 0 else [f"it cannot be built afterwards: {again.err.strip()[-200:]}"]
    if command.code != 2 or "Traceback" in command.err:
        wrong.append(f"it ended with {command.code}")
    return Result(
        fault=TITLES["network_cut"],
        at="the first bytes are there",
        code=command.code,
        said=last_line(command.err),
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
