"""The `convergence` scenario: how long each arm trains, and how many steps, until its test accuracy is the target.

One launch is one seed, so arms are compared seed by seed: their weights, batches and targets are the same, and what the
luck of a seed costs in steps cancels in a ratio. A seed that diverged, or did not reach the target, has no time, and
leaving it out would flatter the arm: with one such seed an arm is not ranked.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from suite.analysis import eligibility, ranks
from suite.analysis.estimates import level
from suite.analysis.types import ConvergenceBlock, ConvergenceRow, Curve, TargetReached
from suite.record.schema import Absent, Arm, Block, Convergence, Launch
from suite.statistics.student import MIN_LAUNCHES


def analyse(block: Block, known: eligibility.Known, *, margin: float, sequential: bool) -> ConvergenceBlock:
    """Summarise and rank a block.

    Parameters
    ----------
    block
        A block of trainings to a target.
    known
        Parity of each arm, for blocks whose own launches did not compare.
    margin
        Relative difference that does not matter.
    sequential
        Whether precision was allowed to end the run; intervals are wider then.
    """
    rows = {arm.id: _row(block, arm, known) for arm in block.arms}
    found = times_ns(block)
    best, also_first = ranks.assign(rows, found, margin=margin, sequential=sequential)
    first = next((each for arm in block.arms for each in _trainings(block, arm).values()), None)
    return ConvergenceBlock(
        case=block.case,
        rows=tuple(sorted(rows.values(), key=ranks.order)),
        best=best,
        also_first=also_first,
        unranked_reason="" if best else ranks.why_nobody(rows.values()),
        generations=len(block.generations),
        network=first.network if first is not None else "",
        target=first.target if first is not None else None,
        limit=first.limit if first is not None else None,
    )


def times_ns(block: Block) -> dict[str, dict[int, float]]:
    """Return how long every arm trained to the target, by generation; seeds that never reached it are left out."""
    return {
        arm.id: {index: float(there.elapsed_ns) for index, there in _reached(_trainings(block, arm)).items()}
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


def _launches(block: Block, arm: Arm) -> list[tuple[int, Launch]]:
    return [
        (generation.index, launch)
        for generation in block.generations
        for launch in generation.launches
        if launch.arm == arm.id
    ]


def _trainings(block: Block, arm: Arm) -> dict[int, Convergence]:
    return {index: launch.convergence for index, launch in _launches(block, arm) if launch.convergence is not None}


def _reached(trainings: Mapping[int, Convergence]) -> dict[int, TargetReached]:
    found = {index: to_target(training) for index, training in trainings.items() if not training.diverged}
    return {index: there for index, there in found.items() if there is not None}


def _row(block: Block, arm: Arm, known: eligibility.Known) -> ConvergenceRow:
    launches = [launch for _, launch in _launches(block, arm)]
    trainings = _trainings(block, arm)
    reached = _reached(trainings)
    failures = [launch.failure for launch in launches if launch.failure is not None]
    parity = eligibility.parity_of(block, arm, known)
    stands, reason = eligibility.assess(
        measured=len(trainings), parity=parity, failures=failures, needed=MIN_LAUNCHES, started=bool(launches)
    )
    missed = _missed(trainings, reached)
    if missed and stands in {"ranked", "shown"}:
        stands, reason = ("shown" if reached else "failed"), missed
    elif stands == "ranked" and ranks.original(arm, block) is not None:
        stands, reason = "control", "the same arm a second time, to see what no difference looks like"
    last = [training.points[-1] for training in trainings.values() if training.points]
    steps = [point.elapsed_ns / point.step for point in last if point.step > 0 and point.elapsed_ns > 0]
    loads = [launch.startup.load_ns for launch in launches if launch.startup is not None and launch.failure is None]
    return ConvergenceRow(
        arm=arm.id,
        backend=arm.backend,
        version=next((launch.framework_version for launch in launches if launch.framework_version), ""),
        standing=stands,
        reason=reason,
        launches=len(trainings),
        launches_failed=len(failures),
        seeds_reached=len(reached),
        seeds_diverged=sum(bool(training.diverged) for training in trainings.values()),
        seeds_disturbed=sum(bool(training.disturbed) for training in trainings.values()),
        time_ns=level([float(there.elapsed_ns) for there in reached.values()]),
        steps=level([float(there.step) for there in reached.values()]),
        median_time_ns=_median([float(there.elapsed_ns) for there in reached.values()]),
        median_steps=_median([float(there.step) for there in reached.values()]),
        step_ns=_median(steps),
        load_ns=_median([float(load) for load in loads]),
        accuracy=_median([point.accuracy for point in last]),
        best_accuracy=max((point.accuracy for each in trainings.values() for point in each.points), default=None),
        peak_bytes=_peak_bytes(launches),
        launch_times_ns=tuple(float(there.elapsed_ns) for there in reached.values()),
        curves=tuple(_curve(index, training, reached.get(index)) for index, training in trainings.items()),
        parity=parity,
        failure=failures[-1] if failures else None,
    )


def _curve(index: int, training: Convergence, reached: TargetReached | None) -> Curve:
    return Curve(seed=training.seed, generation=index, points=training.points, reached=reached)


def _missed(trainings: Mapping[int, Convergence], reached: Mapping[int, TargetReached]) -> str:
    """Say why seeds have no time; empty where all have one."""
    missed = [training for index, training in trainings.items() if index not in reached]
    if not missed:
        return ""
    diverged = [training for training in missed if training.diverged]
    parts = []
    if diverged:
        parts.append(f"{len(diverged)} of {len(trainings)} seeds diverged: {diverged[-1].diverged.rstrip('. ')}")
    slow = [training for training in missed if not training.diverged]
    if slow:
        best = max((point.accuracy for training in slow for point in training.points), default=0.0)
        parts.append(
            f"{len(slow)} of {len(trainings)} seeds did not reach {100 * slow[0].target:g} % within {slow[0].limit} "
            f"steps (the best of them {100 * best:.1f} %)"
        )
    return "; ".join(parts)


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def _peak_bytes(launches: Sequence[Launch]) -> float | None:
    told = [launch.memory.peak_rss_bytes for launch in launches if launch.memory is not None]
    return _median([float(peak) for peak in told if not isinstance(peak, Absent)])
