"""What goes wrong on a GPU, caused on purpose: what Levelfield says of it, and what is left on the GPU afterwards."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil

from suite.record import files
from suite.record.schema import Run
from suite.trials.gpu import load as loads

LEFT_FREE_BYTES = 1200 << 20
"""Beside a process that holds everything else: less than a framework with BERT takes."""
DEADLINE_S = 90.0
SETTLE_S = 10.0
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
    """On the GPU, afterwards, beyond those of before."""
    left_bytes: int
    """Of the GPU's memory, afterwards, beyond what was used before."""
    released_s: float
    """How long it took until nothing was left; the whole wait where something is."""


class Faults(msgspec.Struct, frozen=True):
    """All faults that were caused."""

    faults: tuple[Fault, ...]


def cause(gpu: int, names: tuple[str, ...]) -> Faults:
    """Cause faults, one after the other.

    Parameters
    ----------
    gpu : int
        Index of the GPU.
    names : tuple of str
        Keys of `FAULTS`.

    Raises
    ------
    LevelfieldError
        No GPU can be used.
    """
    return Faults(tuple(fault for name in names for fault in FAULTS[name](gpu)))


class _State(msgspec.Struct, frozen=True):
    processes: frozenset[int]
    used: int


def _state(gpu: int) -> _State:
    return _State(frozenset(loads.processes_on(gpu)), loads.used_bytes(gpu))


def _after(gpu: int, before: _State) -> tuple[int, int, float]:
    """Wait until the GPU is as it was; return processes and bytes that are left, and how long it took."""
    began = time.monotonic()
    while True:
        now = _state(gpu)
        left, more = len(now.processes - before.processes), max(0, now.used - before.used)
        waited = time.monotonic() - began
        if (not left and more < 64 << 20) or waited > SETTLE_S:
            return left, more, waited
        time.sleep(0.1)


class _Started(msgspec.Struct, frozen=True):
    process: "subprocess.Popen[str]"
    reports: Path

    def finish(self) -> tuple[int, str, Run | None]:
        """Wait for the run; return its exit code, its last words, and its record."""
        try:
            words, _ = self.process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGINT)
            words, _ = self.process.communicate(timeout=DEADLINE_S)
        folders = [folder for folder in self.reports.iterdir() if (folder / files.NAME).is_file()]
        return self.process.returncode, words[-1500:], files.read(folders[0]) if folders else None


@contextlib.contextmanager
def _bench(gpu: int, model: str, *words: str) -> Iterator[_Started]:
    with tempfile.TemporaryDirectory(prefix="levelfield-trial-") as folder:
        command = [sys.executable, "-c", _LEVELFIELD, "bench", "--launcher", "host", "--gpu", str(gpu)]
        command += ["--models", model, "--backends", "torch", "--scenarios", "latency", "--profile", "smoke"]
        with subprocess.Popen(
            [*command, "--control", "none", "--reports", folder, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
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
        windows=sum(turn.window is not None for turn in turns),
        warnings=tuple(warning.message for warning in run.warnings) if run else (),
        words=words,
        left_processes=left[0],
        left_bytes=left[1],
        released_s=left[2],
    )


def _out_of_memory(gpu: int) -> Iterator[Fault]:
    before = _state(gpu)
    with loads.running(loads.MEMORY, str(LEFT_FREE_BYTES)), _bench(gpu, "bert") as run:
        ended = run.finish()
    done = f"another process held all but {LEFT_FREE_BYTES >> 20} MiB of the GPU's memory"
    yield _found("out of memory", done, ended, _after(gpu, before))


def _killed_worker(gpu: int) -> Iterator[Fault]:
    before = _state(gpu)
    with _bench(gpu, "mlp", "--budget", "30s") as run:
        end = time.monotonic() + DEADLINE_S
        victim = None
        while victim is None and time.monotonic() < end and run.process.poll() is None:
            victim = next((each for each in _workers(run.process.pid) if each in loads.processes_on(gpu)), None)
            time.sleep(0.02)
        if victim is not None:
            os.kill(victim, signal.SIGKILL)
        ended = run.finish()
    done = "the worker was killed (SIGKILL) as soon as it held memory of the GPU" if victim else "no worker was found"
    yield _found("killed worker", done, ended, _after(gpu, before))


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
    before = _state(gpu)
    with loads.running(loads.ENDLESS) as process:
        time.sleep(1)
        listed = process.pid in loads.processes_on(gpu)
        process.kill()
        process.wait(timeout=SETTLE_S)
    left = _after(gpu, before)
    done = f"a process in an endless kernel ({'listed' if listed else 'not listed'} by NVML) was killed (SIGKILL)"
    yield Fault("hung kernel", done, None, (), 0, (), "", *left)


def _two_runs(gpu: int) -> Iterator[Fault]:
    before = _state(gpu)
    with _bench(gpu, "mlp") as one, _bench(gpu, "mlp") as other:
        ended = [one.finish(), other.finish()]
    left = _after(gpu, before)
    for each in ended:
        yield _found("two runs at once", "two runs of one model began at the same time", each, left)


FAULTS: dict[str, Callable[[int], Iterator[Fault]]] = {
    "memory": _out_of_memory,
    "killed": _killed_worker,
    "hung": _hung_kernel,
    "two": _two_runs,
}
