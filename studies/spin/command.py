"""Whether the threads of one arm, which spin after its last call, reach the next arm's timed calls.

`nox -s spin` calls it. It needs a quiet machine for some minutes; its record is committed with the reports.
"""

import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from studies import commands
from studies.record import begin
from studies.spin.findings import analyse, markdown
from studies.spin.record import KEPT_CALLS, Cell, Rule, Trial, Window
from studies.workers import known_ns, process_ids, take_turn, warmed_up
from suite.cli.options import NAMES
from suite.machine.signals import Signals
from suite.record.schema import Block
from suite.schedule.outcomes import Outcome
from suite.schedule.resources import RunResources
from suite.schedule.rounds import REWARM_NS, WARM_CALLS, WARM_NS, Pace
from suite.worker.messages import Measure

PACES = {"mlp": Pace(0, 30_000_000, 20, 0)}
PACE = Pace(0, 150_000_000, 4, 0)
"""Of other models."""
_FIXED: Rule = "fixed 40 ms"
_RULES: tuple[Rule, ...] = (_FIXED, _FIXED, "until still", "until still", "until still, no warm call")
"""Rules of five rounds in a row, in random order."""
_WARM: dict[Rule, tuple[int, int]] = {
    _FIXED: (1, REWARM_NS),
    "until still": (WARM_CALLS, WARM_NS),
    "until still, no warm call": (0, 0),
}
"""Unrecorded calls at the least, and how long they take at the least."""


def run(
    keep: commands.Keep[Trial],
    listener: commands.Terminal,
    *,
    models: tuple[str, ...],
    backends: tuple[str, ...],
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
    seconds : float
        Of each model.
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
    with commands.prepared(commands.selection(models, backends), listener, launcher) as (plan, resources):
        trial = begin(Trial, resources, seed=seed, launcher=launcher, warm_calls=WARM_CALLS, warm_ns=WARM_NS)
        for block in plan.blocks:
            listener.say(f"{block.case.model}: {seconds:.0f} seconds")
            pace = PACES.get(block.case.model, PACE)
            cell = measure(resources, block, pace, seconds=seconds, seed=seed)
            trial = trial.updated(cells=(*trial.cells, cell))
            keep(trial)
    return trial


def measure(resources: RunResources, block: Block, pace: Pace, *, seconds: float, seed: int) -> Cell:
    """Let all arms of a block and the canary take turns in random order until the time is spent.

    Parameters
    ----------
    resources : RunResources
        Images and artifacts.
    block : Block
        The case, and the arms beside the canary.
    pace : Pace
        Of the windows.
    seconds : float
        Time to measure; a group of rounds that has begun is finished.
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
    with (
        warmed_up(resources, block.case, block.arms, pace, canary=True) as outcomes,
        Signals(resources.cpus) as signals,
    ):
        order = random.Random(f"{seed}/{block.case.id}")  # noqa: S311 (a schedule)
        return Cell(
            case=block.case,
            arms=tuple(outcome.arm.id for outcome in outcomes),
            window_ns=pace.window_ns,
            min_calls=pace.min_calls,
            windows=tuple(_windows(outcomes, pace, signals, order, seconds)),
        )


def _windows(
    living: Sequence[Outcome], pace: Pace, signals: Signals, order: random.Random, seconds: float
) -> Iterator[Window]:
    """Take rounds until the time is spent; the first window of all has none before it and is left out."""
    end = time.monotonic() + seconds
    pids = process_ids(living)
    arms, before = list(living), ""
    while time.monotonic() < end:
        for rule in order.sample(_RULES, len(_RULES)):
            order.shuffle(arms)
            for outcome in arms:
                taken = _window(outcome, pace, rule, signals, pids, before)
                if before:
                    yield taken
                before = outcome.arm.id


def _window(outcome: Outcome, pace: Pace, rule: Rule, signals: Signals, pids: dict[str, int], before: str) -> Window:
    warm_calls, warm_ns = _WARM[rule]
    request = Measure(window_ns=pace.window_ns, min_calls=pace.min_calls, rewarm_calls=warm_calls, rewarm_ns=warm_ns)
    measured, noise, settling, _, _ = take_turn(outcome, request, signals, pids, wait=rule != _FIXED)
    return Window(
        rule=rule,
        arm=outcome.arm.id,
        before=before,
        waited_ns=settling.waited_ns,
        busy=settling.busy,
        warm_calls=len(measured.rewarm_ns),
        warm_ns=sum(measured.rewarm_ns),
        calls=len(measured.samples_ns),
        later_ns=statistics.median(measured.samples_ns[1:]),
        first_ns=measured.samples_ns[:KEPT_CALLS],
        idle_workers_ns=known_ns(noise.idle_workers_ns),
        others_ns=known_ns(noise.others_ns),
        elapsed_ns=noise.elapsed_ns,
    )


@click.command(context_settings=commands.SETTINGS)
@click.option("--models", type=NAMES, default=("resnet50", "mlp"), help="Only these, separated by commas.")
@click.option(
    "--backends",
    type=NAMES,
    default=("onnxruntime", "openvino", "torch"),
    help="Arms beside the canary; onnxruntime among them.",
)
@click.option("--seconds", type=click.FloatRange(1), default=150, show_default=True, help="Time for each model.")
@commands.launcher_option
@commands.seed_option
@commands.out_option
@commands.analyse_option
def main(out: Path | None, only: Path | None, **requested: Any) -> None:  # noqa: ANN401
    """Measure how often a window's first call is slow, by the arm before it, with the old rule and the new one."""
    trial = commands.conduct(Trial, partial(run, **requested), analyse, markdown, out=out, only=only, indent=-1)
    sys.exit(0 if all(each.holds for each in trial.verdicts if each.rule == "until still") else 1)
