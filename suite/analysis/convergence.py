"""The `convergence` scenario: how long each arm trains, and how many steps, until its test accuracy is the target.

One launch is one seed, so arms are compared seed by seed: their weights, batches and targets are the same, and what the
luck of a seed costs in steps cancels in a ratio. A seed that diverged, or did not reach the target, has no time, and
leaving it out would flatter the arm: with one such seed an arm is not ranked.
"""

from collections.abc import Mapping

import msgspec

from suite.analysis import collect, eligibility, ranks
from suite.analysis.collect import median
from suite.analysis.estimates import level
from suite.analysis.types import ConvergenceBlock, ConvergenceRow, Curve, TargetReached
from suite.record.schema import Arm, Block, Convergence
from suite.statistics.ending import EndedBy
from suite.statistics.student import MIN_LAUNCHES


def analyse(block: Block, known: eligibility.Known, *, margin: float, ended: EndedBy) -> ConvergenceBlock:
    """Summarise and rank a block.

    Parameters
    ----------
    block
        A block of trainings to a target.
    known
        Parity of each arm, for blocks whose own launches did not compare.
    margin
        Relative difference that does not matter.
    ended
        Whether precision was allowed to end the run; intervals are wider then.
    """
    rows = {arm.id: _row(block, arm, known) for arm in block.arms}
    first = next((each for arm in block.arms for each in _trainings(block, arm).values()), None)
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
        arm.id: {index: float(target.elapsed_ns) for index, target in _reached(_trainings(block, arm)).items()}
        for arm in block.arms
    }


def to_target(training: Convergence) -> TargetReached | None:
    """Return the first evaluation at the target or above; None where there is none.

    A record may come from a stranger: what holds no time is none.
    """
    for point in training.points:
        if point.accuracy >= training.target and point.elapsed_ns > 0 and point.step > 0:
            return TargetReached(step=point.step, elapsed_ns=point.elapsed_ns)
    return None


def _trainings(block: Block, arm: Arm) -> dict[int, Convergence]:
    return {
        generation.index: launch.convergence
        for generation, launch in collect.launches(block, arm.id)
        if launch.convergence is not None
    }


def _reached(trainings: Mapping[int, Convergence]) -> dict[int, TargetReached]:
    found = {index: to_target(training) for index, training in trainings.items() if not training.diverged}
    return {index: target for index, target in found.items() if target is not None}


def _row(block: Block, arm: Arm, known: eligibility.Known) -> ConvergenceRow:
    launches = [launch for _, launch in collect.launches(block, arm.id)]
    trainings = _trainings(block, arm)
    reached = _reached(trainings)
    failures = [launch.failure for launch in launches if launch.failure is not None]
    judged = eligibility.judge(
        block,
        arm,
        known,
        measured=len(trainings),
        failures=failures,
        started=bool(launches),
        needed=MIN_LAUNCHES,
    )
    missed = _missed(trainings, reached)
    if missed and judged.standing in {"ranked", "control", "shown"}:
        judged = msgspec.structs.replace(judged, standing="shown" if reached else "failed", reason=missed)
    last = [training.points[-1] for training in trainings.values() if training.points]
    times, steps = (
        [float(each.elapsed_ns) for each in reached.values()],
        [float(each.step) for each in reached.values()],
    )
    return ConvergenceRow(
        **msgspec.structs.asdict(judged),
        version=collect.version(launches),
        launches=len(trainings),
        launches_failed=len(failures),
        seeds_reached=len(reached),
        seeds_diverged=sum(bool(training.diverged) for training in trainings.values()),
        seeds_disturbed=sum(bool(training.disturbed) for training in trainings.values()),
        time_ns=level(times),
        steps=level(steps),
        median_time_ns=median(times),
        median_steps=median(steps),
        step_ns=median([each.elapsed_ns / each.step for each in last if each.step > 0 and each.elapsed_ns > 0]),
        load_ns=median([startup.load_ns for startup in collect.startups(launches)]),
        accuracy=median([point.accuracy for point in last]),
        best_accuracy=max((point.accuracy for each in trainings.values() for point in each.points), default=None),
        peak_bytes=collect.peak_bytes(launches),
        launch_times_ns=tuple(times),
        curves=tuple(
            Curve(seed=training.seed, generation=index, points=training.points, reached=reached.get(index))
            for index, training in trainings.items()
        ),
    )


def _missed(trainings: Mapping[int, Convergence], reached: Mapping[int, TargetReached]) -> str:
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
