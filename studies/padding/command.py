"""What random padding of the environment does to the variance between launches.

`nox -s padding` calls it. It needs a quiet machine for some minutes; its record is committed with the reports.
"""

import random
import statistics
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from studies import commands
from studies.padding.findings import analyse, markdown
from studies.padding.record import Cell, Generation, Launched, Trial
from studies.record import begin
from studies.workers import process_ids, take_turn, warmed_up
from suite.cli.options import NAMES
from suite.machine.disturbance import disturbed
from suite.machine.signals import Signals
from suite.record.bounds import SEED_BITS
from suite.record.schema import Arm, Case
from suite.schedule import padding
from suite.schedule.outcomes import Outcome
from suite.schedule.resources import RunResources
from suite.schedule.rounds import WARM_CALLS, WARM_NS, Pace
from suite.worker.messages import Measure

MODELS = ("mlp", "resnet50")
LAUNCHES = 40
TOGETHER = 4
"""Launches of either treatment in a generation: they share the drift of its rounds, which is then taken off."""
PACES = {"mlp": Pace(8, 30_000_000, 20, 0)}
PACE = Pace(6, 150_000_000, 4, 0)
"""Of other models."""


def run(
    keep: commands.Keep[Trial],
    listener: commands.Terminal,
    *,
    models: tuple[str, ...],
    backend: str,
    launches: int,
    threads: int | None,
    launcher: str,
    seed: int,
) -> Trial:
    """Measure the generations of all models by turns, so that a change of the machine meets all of them.

    Parameters
    ----------
    keep : callable
        Writes the record, after every generation.
    listener : commands.Terminal
        Display of the progress.
    models : tuple of str
        What to measure.
    backend : str
        The arm.
    launches : int
        With either treatment, of each model.
    threads : int or None
        Of the arm; None: one for every core.
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
        No engine answers, an image cannot be made, or the arm cannot be measured.
    """
    selected = commands.selection(models, [backend], threads)
    with commands.prepared(selected, listener, launcher) as (plan, resources), Signals(resources.cpus) as signals:
        trial = begin(Trial, resources, seed=seed, launcher=launcher)
        paces = [PACES.get(block.case.model, PACE) for block in plan.blocks]
        cells = [
            Cell(block.case, block.arms[0].id, pace.window_ns, pace.min_calls)
            for block, pace in zip(plan.blocks, paces, strict=True)
        ]
        count = -(-launches // TOGETHER)
        for index in range(count):
            for i, (block, pace) in enumerate(zip(plan.blocks, paces, strict=True)):
                listener.say(f"{block.case.model}: generation {index + 1} of {count}")
                order = f"{seed}/{block.case.id}/{index}"
                taken = generation(resources, block.case, block.arms[0], pace, signals, order)
                cells[i] = msgspec.structs.replace(cells[i], generations=(*cells[i].generations, taken))
            trial = trial.updated(cells=tuple(cells))
            keep(trial)
    return trial


def generation(resources: RunResources, case: Case, arm: Arm, pace: Pace, signals: Signals, seed: str) -> Generation:
    """Launch an arm `TOGETHER` times with either treatment, and let all launches take turns in random order.

    Parameters
    ----------
    resources : RunResources
        Images and artifacts.
    case, arm : Case and Arm
        What is launched.
    pace : Pace
        Rounds, and length of windows.
    signals : Signals
        Of the machine, open.
    seed : str
        Of the lengths, of the order of launches and of the order of turns.

    Returns
    -------
    Generation

    Raises
    ------
    LevelfieldError
        The arm cannot be measured, or does not compute what it should.
    """
    chance = random.Random(seed)  # noqa: S311 (a schedule)
    arms = [msgspec.structs.replace(arm, ordinal=number) for number in range(1, 2 * TOGETHER + 1)]
    chance.shuffle(arms)
    lengths = padding.draw(chance.sample(arms, TOGETHER), chance.getrandbits(SEED_BITS))
    windows_ns: dict[str, list[float]] = {each.id: [] for each in arms}
    with warmed_up(resources, case, arms, pace, padding_bytes=lengths) as outcomes:
        reasons = [_round(outcomes, pace, signals, chance, windows_ns) for _ in range(pace.rounds)]
    rows = [
        Launched(
            "random" if each.arm.id in lengths else "fixed",
            each.launch.environment_padding_bytes or 0,
            tuple(windows_ns[each.arm.id]),
        )
        for each in outcomes
    ]
    return Generation(tuple(sorted(rows, key=lambda row: row.treatment)), tuple(reasons))


def _round(
    outcomes: list[Outcome], pace: Pace, signals: Signals, chance: random.Random, windows_ns: dict[str, list[float]]
) -> str:
    """Take one window of each launch; return why the round was disturbed."""
    request = Measure(pace.window_ns, pace.min_calls, rewarm_calls=WARM_CALLS, rewarm_ns=WARM_NS)
    pids, seen = process_ids(outcomes), []
    for outcome in chance.sample(outcomes, len(outcomes)):
        turn = take_turn(outcome, request, signals, pids)
        windows_ns[outcome.arm.id].append(statistics.median(turn.measured.samples_ns))
        seen.append(turn.noise)
    return disturbed(seen, len(signals.cpus))


@click.command(context_settings=commands.SETTINGS)
@click.option("--models", type=NAMES, default=MODELS, help="Only these, separated by commas.")
@click.option("--backend", default="onnxruntime", show_default=True, help="The arm that is launched again and again.")
@click.option(
    "--launches", type=click.IntRange(2 * TOGETHER), default=LAUNCHES, show_default=True, help="In either treatment."
)
@click.option("--threads", type=click.IntRange(1), default=None, help="Default: one for every core.")
@commands.launcher_option
@commands.seed_option
@commands.out_option
@commands.analyse_option
def main(out: Path | None, only: Path | None, **requested: Any) -> None:  # noqa: ANN401
    """Launch one arm with padding fixed at 0 bytes and with random padding, by turns, and compare the variances."""
    commands.conduct(Trial, partial(run, **requested), analyse, markdown, out=out, only=only, indent=-1)
