"""Two processes of one CPU each train the MLP in JAX; both ways to average gradients take turns in the same processes.

`python -m studies.gradient_mean` starts them several times, in the environment of the locked JAX image.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import ClassVar

import click
import msgspec
import numpy as np

from studies import commands, record
from suite.backends.replica import LOOPBACK
from suite.errors import LevelfieldError
from suite.images import catalogue, environments
from suite.launchers.environment import worker_environment
from suite.machine.fingerprint import fingerprint
from suite.plan import arms, interpreters
from suite.schedule.outcomes import utc_now
from suite.statistics.student import mean_of
from suite.version import __version__
from suite.worker.team import free_ports
from suite.zoo.mlp.spec import WIDTHS

PROCESS = Path(__file__).parent / "process.py"
PROCESSES, BATCH = 2, 1000
ROUNDS, STEPS = 10, 20
TIMEOUT_S = 300.0
EACH, TOGETHER = "by the partitioner", "together"


class Launch(msgspec.Struct, frozen=True):
    """One launch of both processes, as the first of them timed it."""

    step_ns: dict[str, tuple[float, ...]]
    """By way: the mean step of each window."""
    losses: dict[str, float]
    reduced: dict[str, int]
    """Arrays that the compiled step sums over all processes: gloo is handed each by itself."""
    version: str

    @property
    def ratio(self) -> float:
        """Each tensor by itself over all together, medians of their windows."""
        return float(np.median(self.step_ns[EACH]) / np.median(self.step_ns[TOGETHER]))


class Record(record.MachineRecord, frozen=True, kw_only=True):
    """The whole record."""

    TRIAL: ClassVar = "gradient-mean"

    finished: str
    processes: int
    widths: tuple[int, ...]
    batch: int
    launches: tuple[Launch, ...]


def launch(python: Path, cpus: list[int], folder: Path) -> Launch:
    """Start both processes, and return what the first one timed.

    Parameters
    ----------
    python
        Of the environment that holds JAX.
    cpus
        One for each process.
    folder
        Their home.

    Raises
    ------
    LevelfieldError
        One of them failed, or they compute different losses.
    """
    (port,) = free_ports(LOOPBACK, 1)
    options = {
        "processes": PROCESSES,
        "port": port,
        "widths": WIDTHS,
        "batch": BATCH,
        "rounds": ROUNDS,
        "steps": STEPS,
    }
    variables = worker_environment(threads=1, cpus=cpus) | dict.fromkeys(("HOME", "TMPDIR"), str(folder))
    started = [
        subprocess.Popen(
            [str(python), "-I", str(PROCESS), json.dumps(options | {"rank": rank, "cpus": [cpus[rank]]})],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=variables,
        )
        for rank in range(PROCESSES)
    ]
    try:
        printed = [process.communicate(timeout=TIMEOUT_S) for process in started]
    except subprocess.TimeoutExpired as error:
        raise LevelfieldError(f"The processes did not end in {TIMEOUT_S:.0f} s.") from error
    finally:
        for process in started:
            process.kill()
            process.wait()
    for process, (_, said) in zip(started, printed, strict=True):
        if process.returncode:
            raise LevelfieldError(f"A process failed: {' '.join(said.split())[-300:]}")
    found = msgspec.json.decode(printed[0][0].splitlines()[-1], type=Launch)
    if not np.isclose(found.losses[EACH], found.losses[TOGETHER], rtol=1e-5):
        raise LevelfieldError(f"The two ways compute different losses: {found.losses}.")
    return found


def markdown(made: Record) -> str:
    """Return the findings as a table."""
    ratio = mean_of(np.log([each.ratio for each in made.launches]))
    half = ratio.half_width(0.95)
    first = made.launches[0]
    rows = "".join(
        f"| {name} | {first.reduced[name]} | "
        f"{np.median([np.median(each.step_ns[name]) for each in made.launches]) / 1e6:.2f} ms |\n"
        for name in (EACH, TOGETHER)
    )
    return (
        f"# The mean of gradients in JAX {first.version} on a CPU\n\n"
        f"An MLP of widths {', '.join(map(str, made.widths))}, batch {made.batch}, in {made.processes} processes of "
        f"one CPU each; {len(made.launches)} launches, in which both ways take turns.\n\n"
        "| gradients are averaged | arrays summed over processes | step, median |\n|---|---|---|\n"
        f"{rows}\n"
        "Left to the partitioner, which averages each tensor by itself, a step takes "
        f"{np.exp(ratio.value):.1f} times as long "
        f"({np.exp(ratio.value - half):.1f}–{np.exp(ratio.value + half):.1f}, 95 %, over launches).\n"
    )


@click.command(context_settings=commands.SETTINGS)
@click.option("--launches", type=click.IntRange(3, 50), default=7, show_default=True, help="How often both start.")
@commands.out_option
def main(launches: int, out: Path | None) -> None:
    """Measure what averaging gradients tensor by tensor costs in JAX: some minutes on a quiet machine."""
    started = utc_now()
    out = out or commands.default_path("gradient-mean")
    with commands.terminal() as listener, tempfile.TemporaryDirectory(prefix="lf-") as folder:
        pythons = tuple(filter(environments.has_python, catalogue.PYTHONS))
        (arm,), _ = interpreters.fitting((arms.parse("jax"),), pythons)
        python = environments.make(arm.image, arm.variant, arm.version, progress=listener.say).python
        cpus = sorted(os.sched_getaffinity(0))[:PROCESSES]
        found = Record(
            schema=Record.SCHEMA,
            started=started,
            finished="",
            tool_version=__version__,
            machine=fingerprint(tuple(cpus)),
            processes=PROCESSES,
            widths=WIDTHS,
            batch=BATCH,
            launches=tuple(launch(python, cpus, Path(folder)) for _ in range(launches)),
        )
        found = msgspec.structs.replace(found, finished=utc_now())
        record.write(found, out, markdown(found))
        listener.show(markdown(found), out)
