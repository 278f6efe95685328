"""What goes wrong on a GPU, caused on purpose: what Levelfield says of it, and what is left on the GPU afterwards."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import msgspec
import psutil

from studies.gpu import load as loads
from suite.backends.registry import CANARY
from suite.record import files
from suite.record.schema import Run

LEFT_FREE_BYTES = 1200 << 20
"""Beside a process that holds everything else: less than a framework with BERT takes."""
DEADLINE_S = 90.0
SETTLE_S = 10.0
_OUTPUT = "output.txt"
_LEVELFIELD = "from suite.cli.main import main; main()"


class Fault(msgspec.Struct, frozen=True):
    """One fault, and what came of it."""

    name: str
    done: str
    """What was done."""
    exit_code: int | None
    """Of the run; None where no run was part of it."""
    failures: tuple[str, ...]
    """As the record has them: stage, kind and message."""
    windows: int
    """How many windows the record has all the same."""
    warnings: tuple[str, ...]
    words: str
    """The end of what the run printed."""
    left_processes: int
    """Of the run's own on the GPU, afterwards."""
    left_bytes: int
    """Of the GPU's memory, which those hold."""
    released_s: float
    """How long it took until nothing was left; the whole wait where something is."""


class Faults(msgspec.Struct, frozen=True):
    """All faults that were caused."""

    faults: tuple[Fault, ...]


def cause(gpu: int, names: tuple[str, ...]) -> Faults:
    """Cause faults, one after the other."""
    return Faults(tuple(fault for name in names for fault in FAULTS[name](gpu)))


def _after(gpu: int, workers: Collection[int]) -> tuple[int, int, float]:
    """Wait until a GPU lists none of these processes; return how many are left, their bytes, and how long it took."""
    began = time.monotonic()
    while True:
        left = {pid: held for pid, held in loads.processes_on(gpu).items() if pid in workers}
        waited = time.monotonic() - began
        if not left or waited > SETTLE_S:
            return len(left), sum(left.values()), waited
        time.sleep(0.05)


class _Started(msgspec.Struct):
    process: "subprocess.Popen[bytes]"
    folder: Path
    workers: set[int] = set()
    """Every worker process that was seen."""

    def watch(self, until: Callable[[set[int]], bool] = lambda _: False) -> bool:
        """Look for workers until the run has ended (False) or those that live now are as asked for (True)."""
        end = time.monotonic() + DEADLINE_S
        while self.process.poll() is None and time.monotonic() < end:
            found = set(_workers(self.process.pid))
            self.workers |= found
            if until(found):
                return True
            time.sleep(0.02)
        return False

    def finish(self) -> tuple[int, str, Run | None]:
        """Wait for the run; return its exit code, its last words, and its record."""
        self.watch()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=DEADLINE_S)
        words = (
            (self.folder / _OUTPUT).read_text(encoding="utf-8", errors="replace").replace(str(self.folder), "reports")
        )
        found = [each for each in self.folder.iterdir() if (each / files.NAME).is_file()]
        return code, words[-1500:], files.read(found[0]) if found else None


@contextlib.contextmanager
def _bench(gpu: int, model: str) -> Iterator[_Started]:
    with tempfile.TemporaryDirectory(prefix="levelfield-trial-") as folder:
        command = [sys.executable, "-c", _LEVELFIELD, "bench", "--launcher", "host", "--gpu", str(gpu)]
        command += ["--models", model, "--backends", "torch", "--scenarios", "latency", "--profile", "smoke"]
        command += ["--control", "none", "--budget", "30s", "--reports", folder]
        with (
            (Path(folder) / _OUTPUT).open("wb") as output,
            subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process,
        ):
            try:
                yield _Started(process, Path(folder))
            finally:
                process.kill()


def _found(name: str, done: str, ended: tuple[int, str, Run | None], left: tuple[int, int, float]) -> Fault:
    code, words, run = ended
    launches = [launch for block in run.blocks for each in block.generations for launch in each.launches] if run else []
    turns = [
        turn
        for block in (run.blocks if run else ())
        for each in block.generations
        for one in each.rounds
        for turn in one.turns
    ]
    failures = [
        each for each in (*(one.failure for one in launches), *(one.failure for one in turns)) if each is not None
    ]
    return Fault(
        name=name,
        done=done,
        exit_code=code,
        failures=tuple(f"{one.stage}, {one.kind}: {one.message}" for one in failures),
        windows=sum(turn.window is not None and turn.arm != CANARY for turn in turns),
        warnings=tuple(warning.message for warning in run.warnings) if run else (),
        words=words,
        left_processes=left[0],
        left_bytes=left[1],
        released_s=left[2],
    )


def _out_of_memory(gpu: int) -> Iterator[Fault]:
    with loads.running(loads.MEMORY, str(LEFT_FREE_BYTES)), _bench(gpu, "bert") as run:
        ended = run.finish()
    done = f"another process held all but {LEFT_FREE_BYTES >> 20} MiB of the GPU's memory"
    yield _found("out of memory", done, ended, _after(gpu, run.workers))


def _killed_worker(gpu: int) -> Iterator[Fault]:
    with _bench(gpu, "mlp") as run:
        done = "no worker was seen on the GPU"
        if run.watch(lambda alive: bool(alive & loads.processes_on(gpu).keys())):
            for victim in run.workers & loads.processes_on(gpu).keys():
                os.kill(victim, signal.SIGKILL)
            done = "the worker was killed (SIGKILL) as soon as it held memory of the GPU"
        ended = run.finish()
    yield _found("killed worker", done, ended, _after(gpu, run.workers))


def _workers(pid: int) -> list[int]:
    """Return the worker processes among a process's descendants."""
    found = []
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if "suite.worker" in child.cmdline():
                    found.append(child.pid)
    return found


def _hung_kernel(gpu: int) -> Iterator[Fault]:
    with loads.running(loads.ENDLESS) as process:
        time.sleep(1)
        listed = process.pid in loads.processes_on(gpu)
        process.kill()
        process.wait(timeout=SETTLE_S)
    left = _after(gpu, {process.pid})
    done = f"a process in an endless kernel ({'listed' if listed else 'not listed'} by NVML) was killed (SIGKILL)"
    yield Fault("hung kernel", done, None, (), 0, (), "", *left)


def _two_runs(gpu: int) -> Iterator[Fault]:
    with _bench(gpu, "mlp") as one, _bench(gpu, "mlp") as other:
        ended = [(each, each.finish()) for each in (one, other)]
    for run, end in ended:
        yield _found("two runs at once", "two runs of one model began at the same time", end, _after(gpu, run.workers))


FAULTS: dict[str, Callable[[int], Iterator[Fault]]] = {
    "memory": _out_of_memory,
    "killed": _killed_worker,
    "hung": _hung_kernel,
    "two": _two_runs,
}
