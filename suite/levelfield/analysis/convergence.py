"""The `convergence` scenario: how long each arm trains, and how many steps, until its test accuracy is the target.

One launch is one seed, so arms are compared seed by seed: their weights, batches and targets are the same, and the
steps that a seed costs by chance cancel in a ratio. A seed that diverged, or did not reach the target, has no time, and
leaving it out would flatter the arm: with one such seed an arm is not ranked.
"""

from collections.abc import Mapping

import msgspec

from levelfield.analysis import collect, ranks
from levelfield.analysis.collect import median
from levelfield.analysis.estimates import level
from levelfield.analysis.types import ConvergenceBlock, ConvergenceRow, Curve
from levelfield.record.schema import Block, Convergence, Evaluation
from levelfield.statistics.student import MIN_LAUNCHES, EndedBy


def analyse(block: Block, known: ranks.Known, *, margin: float, ended: EndedBy) -> ConvergenceBlock:
    """Summarise and rank a block."""
    arms = collect.arms(block)
    rows = {each.arm.id: _row(block, each, known) for each in arms}
    first = next((each for arm in arms for each in _trainings(arm).values()), None)
    return ConvergenceBlock(
        case=block.case,
        **ranks.assign(rows, times_ns(block), margin=margin, ended=ended),
        generations=len(block.generations),
        network=first.network if first is not None else "",
        target=first.target if first is not None else None,
        limit=first.limit if first is not None else None,
    )


def times_ns(block: Block) -> dict[str, dict[int, float]]:
    """Return how long every arm trained to the target, by generation; seeds that never reached it are left out."""
    return {
        each.arm.id: {index: float(target.elapsed_ns) for index, target in _reached(_trainings(each)).items()}
        for each in collect.arms(block)
    }


def to_target(training: Convergence) -> Evaluation | None:
    """Return the first evaluation at the target or above; None where there is none.

    An untrusted record may hold evaluations without a time, which are skipped.
    """
    reached = (
        each for each in training.points if each.accuracy >= training.target and each.elapsed_ns > 0 and each.step > 0
    )
    return next(reached, None)


def _trainings(summary: collect.ArmSummary) -> dict[int, Convergence]:
    return {
        each.generation: each.launch.convergence for each in summary.launches if each.launch.convergence is not None
    }


def _reached(trainings: Mapping[int, Convergence]) -> dict[int, Evaluation]:
    found = {index: to_target(training) for index, training in trainings.items() if not training.diverged}
    return {index: target for index, target in found.items() if target is not None}


def _row(block: Block, summary: collect.ArmSummary, known: ranks.Known) -> ConvergenceRow:
    trainings = _trainings(summary)
    reached = _reached(trainings)
    common = ranks.arm_row(block, summary, known, measured=len(trainings), needed=MIN_LAUNCHES)
    missed = _missed(trainings, reached)
    if missed and common.standing in {"ranked", "control", "shown"}:
        common = msgspec.structs.replace(common, standing="shown" if reached else "failed", reason=missed)
    last = [training.points[-1] for training in trainings.values() if training.points]
    times = [float(each.elapsed_ns) for each in reached.values()]
    steps = [float(each.step) for each in reached.values()]
    return ConvergenceRow(
        **msgspec.structs.asdict(common),
        version=collect.version(summary.workers),
        launches=len(trainings),
        seeds_reached=len(reached),
        seeds_diverged=sum(bool(training.diverged) for training in trainings.values()),
        seeds_disturbed=sum(bool(training.disturbed) for training in trainings.values()),
        time_ns=level(times),
        steps=level(steps),
        median_time_ns=median(times),
        median_steps=median(steps),
        step_ns=median([each.elapsed_ns / each.step for each in last if each.step > 0 and each.elapsed_ns > 0]),
        load_ns=median([startup.load_ns for startup in collect.startups(summary.workers)]),
        accuracy=median([point.accuracy for point in last]),
        best_accuracy=max((point.accuracy for each in trainings.values() for point in each.points), default=None),
        peak_bytes=collect.peak_bytes(summary.workers),
        launch_times_ns=tuple(times),
        curves=tuple(Curve(training.points, reached.get(index)) for index, training in trainings.items()),
    )


def _missed(trainings: Mapping[int, Convergence], reached: Mapping[int, Evaluation]) -> str:
    """Return why seeds have no time; empty where all have one."""
    missed = [training for index, training in trainings.items() if index not in reached]
    diverged = [training for training in missed if training.diverged]
    slow = [training for training in missed if not training.diverged]
    parts = []
    if diverged:
        parts.append(f"{len(diverged)} of {len(trainings)} seeds diverged: {diverged[-1].diverged.rstrip('. ')}")
    if slow:
        best = max((point.accuracy for training in slow for point in training.points), default=0.0)
        parts.append(
            f"{len(slow)} of {len(trainings)} seeds did not reach {100 * slow[0].target:g} % within {slow[0].limit} "
            f"steps (the best of them {100 * best:.1f} %)"
        )
    return "; ".join(parts)
