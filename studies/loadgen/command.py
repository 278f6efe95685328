"""What MLPerf LoadGen costs for each query: tests inside the worker and windows of bare calls take turns.

`nox -s loadgen` calls it. It needs a quiet machine; its record is committed with the reports.
"""

import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from studies import commands
from studies.loadgen.findings import analyse, markdown
from studies.loadgen.record import Cell, Kind, Trial, Turn
from studies.record import begin
from studies.workers import known_ns, process_ids, warmed_up
from suite.analysis.loadgen import PERCENTILES
from suite.cli.options import NAMES
from suite.errors import LevelfieldError
from suite.fieldtools import loadgen as logs
from suite.launchers.worker import Worker
from suite.machine.idle_wait import wait_until_idle
from suite.machine.signals import Signals, difference
from suite.record.schema import Absent, Block
from suite.schedule.launches import paths_of
from suite.schedule.loadgen import FEWEST_QUERIES, SLACK_S, UNNAMED, WARM_NS
from suite.schedule.outcomes import Outcome
from suite.schedule.resources import RunResources
from suite.schedule.rounds import Pace
from suite.worker.messages import Drive, Driven, Measure, Measured
from suite.zoo import models as zoo

PACE = Pace(0, 100_000_000, 4, 0)
"""Of warming up."""
TURNS: tuple[Kind, ...] = ("bare", "LoadGen") * 3
"""Of each arm in a launch, in random order."""
MOST_CALLS = 200_000


def run(
    keep: commands.Keep[Trial],
    listener: commands.Terminal,
    *,
    models: tuple[str, ...],
    backends: tuple[str, ...],
    launches: int,
    seconds: float,
    launcher: str,
    seed: int,
) -> Trial:
    """Measure every model.

    Parameters
    ----------
    keep : callable
        Writes the record, after every model.
    listener : commands.Terminal
        Display of the progress.
    models, backends : tuple of str
        What to measure.
    launches : int
        Of each arm.
    seconds : float
        Of each turn.
    launcher : str
        Where to run workers.
    seed : int
        Of the schedule.

    Returns
    -------
    Trial
        Without findings.

    Raises
    ------
    LevelfieldError
        No engine answers, an image cannot be made, or an arm cannot be measured.
    """
    selected = commands.selection(models, backends, scenarios=("loadgen-single-stream",))
    with commands.prepared(selected, listener, launcher) as (plan, resources):
        trial = begin(Trial, resources, seed=seed, launcher=launcher)
        for block in plan.blocks:
            listener.say(f"{block.case.model}: {launches} launches")
            cell = measure(resources, block, launches=launches, seconds=seconds, seed=seed)
            trial = trial.updated(cells=(*trial.cells, cell))
            keep(trial)
    return trial


def measure(resources: RunResources, block: Block, *, launches: int, seconds: float, seed: int) -> Cell:
    """Launch all arms of a block so many times, and let windows and tests take turns in each launch.

    Parameters
    ----------
    resources : RunResources
        Images and artifacts, LoadGen's library among them.
    block : Block
        The case and its arms.
    launches : int
        Of every arm.
    seconds : float
        Of a turn at the least.
    seed : int
        Of the order.

    Returns
    -------
    Cell

    Raises
    ------
    LevelfieldError
        An arm cannot be measured, or does not compute what it should.
    """
    order = random.Random(f"{seed}/{block.case.id}")  # noqa: S311 (a schedule)
    turns: list[Turn] = []
    versions: set[str] = set()
    with Signals(resources.cpus) as signals:
        for number in range(launches):
            with warmed_up(resources, block.case, block.arms, PACE) as outcomes:
                for turn, version in _turns(resources, outcomes, signals, order, number, seconds):
                    turns.append(turn)
                    versions.add(version)
    return Cell(
        case=block.case,
        arms=tuple(arm.id for arm in block.arms),
        seconds=seconds,
        version=", ".join(sorted(versions - {""})),
        turns=tuple(turns),
    )


def _turns(
    resources: RunResources,
    outcomes: Sequence[Outcome],
    signals: Signals,
    order: random.Random,
    launch: int,
    seconds: float,
) -> Iterator[tuple[Turn, str]]:
    pids = {arm: pid for arm, pid in process_ids(outcomes).items() if pid}
    pending = [(outcome, kind) for outcome in outcomes for kind in TURNS]
    order.shuffle(pending)
    for outcome, kind in pending:
        wait_until_idle(pids)
        before = signals.snapshot(pids)
        if kind == "bare":
            calls, each_ns, median_ns, p90_ns, version = _bare(outcome, seconds)
        else:
            calls, each_ns, median_ns, p90_ns, version = _driven(resources, outcome, seconds)
        noise = difference(before, signals.snapshot(pids), outcome.arm.id)
        yield (
            Turn(
                launch=launch,
                arm=outcome.arm.id,
                kind=kind,
                calls=calls,
                each_ns=each_ns,
                median_ns=median_ns,
                p90_ns=p90_ns,
                elapsed_ns=noise.elapsed_ns,
                others_ns=known_ns(noise.others_ns),
            ),
            version,
        )


def _bare(outcome: Outcome, seconds: float) -> tuple[int, float, float, float, str]:
    request = Measure(
        window_ns=round(1e9 * seconds),
        min_calls=FEWEST_QUERIES["SingleStream"],
        max_calls=MOST_CALLS,
        rewarm_ns=WARM_NS,
        rewarm_calls=1,
    )
    measured = _worker_of(outcome).ask(request, Measured, SLACK_S + 20 * seconds)
    calls = sorted(measured.samples_ns)
    each_ns = measured.window_ns / len(calls)
    return len(calls), each_ns, statistics.median(calls), float(calls[int(0.9 * len(calls))]), ""


def _driven(resources: RunResources, outcome: Outcome, seconds: float) -> tuple[int, float, float, float, str]:
    if resources.loadgen is None:
        raise LevelfieldError("LoadGen was not prepared.", fix="Ask for a scenario of LoadGen.")
    call_ns = statistics.median(outcome.launch.warmup[-1].samples_ns)
    request = Drive(
        library=f"{paths_of(resources, outcome).artifacts}/{resources.loadgen.folder}",
        scenario="SingleStream",
        model=zoo.get(outcome.case.model).mlperf or UNNAMED,
        settings={
            "min_duration_ms": round(1e3 * seconds),
            "min_query_count": FEWEST_QUERIES["SingleStream"],
            "single_stream_expected_latency_ns": call_ns,
        },
        rewarm_ns=WARM_NS,
        rewarm_calls=1,
    )
    found = logs.parse(_worker_of(outcome).ask(request, Driven, SLACK_S + 20 * seconds).detail)
    if isinstance(found.per_second, Absent):
        raise LevelfieldError(f"LoadGen reports no rate of {outcome.arm.id}: {found.per_second.reason}.")
    median_ns, p90_ns = (float(found.percentiles_ns[name]) for name in ("50.00", PERCENTILES["SingleStream"]))
    return found.queries, 1e9 / found.per_second, median_ns, p90_ns, found.version


def _worker_of(outcome: Outcome) -> Worker:
    if outcome.worker is None:
        raise LevelfieldError(f"{outcome.arm.id} is not there any more.")
    return outcome.worker


@click.command(context_settings=commands.SETTINGS)
@click.option("--models", type=NAMES, default=("mlp", "resnet50", "bert"), help="Only these, separated by commas.")
@click.option("--backends", type=NAMES, default=("onnxruntime", "torch"), help="Only these, separated by commas.")
@click.option("--launches", type=click.IntRange(1), default=8, show_default=True, help="Of every arm.")
@click.option("--seconds", type=click.FloatRange(0.05), default=2.0, show_default=True, help="Of every turn.")
@commands.launcher_option
@commands.seed_option
@commands.out_option
@commands.analyse_option
def main(out: Path | None, only: Path | None, **requested: Any) -> None:  # noqa: ANN401
    """Measure what LoadGen adds to every query, and its 90th percentile over that of bare calls."""
    commands.conduct(Trial, partial(run, **requested), analyse, markdown, out=out, only=only, indent=-1)
    sys.exit(0)
