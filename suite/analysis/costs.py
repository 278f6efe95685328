"""What an arm's answer costs, one value a launch: what two arms of one run are compared by."""

from collections.abc import Callable

from suite.analysis import convergence, timed
from suite.analysis.whole import total_ns
from suite.records.schema import Absent, Block, Launch

Costs = dict[str, dict[int, float]]
"""Arm to generation to cost: nanoseconds, or bytes where memory is asked."""


def of(block: Block) -> Costs:
    """Return every arm's cost in every generation: of a call, an item, a training, a cold start, or peak memory.

    Generations in which an arm has none are left out.
    """
    match block.case.scenario:
        case "latency" | "throughput" | "training" | "data-pipeline" | "latency-device" | "throughput-device":
            return timed.compared(block)
        case "convergence":
            return convergence.times_ns(block)
        case "cold-start":
            return _by_generation(block, _cold_ns)
        case "memory":
            return _by_generation(block, _peak_bytes)


def _by_generation(block: Block, cost: Callable[[Launch], float | None]) -> Costs:
    found: Costs = {arm.id: {} for arm in block.arms}
    for generation in block.generations:
        for launch in generation.launches:
            value = cost(launch)
            if launch.arm in found and value is not None and value > 0:
                found[launch.arm][generation.index] = value
    return found


def _cold_ns(launch: Launch) -> float | None:
    return float(total_ns(launch.startup)) if launch.startup is not None and launch.failure is None else None


def _peak_bytes(launch: Launch) -> float | None:
    if launch.memory is None or isinstance(launch.memory.peak_rss_bytes, Absent):
        return None
    return float(launch.memory.peak_rss_bytes)


def generation_seconds(block: Block) -> float:
    """Return about how long one more generation of a block would take; zero where it has none yet.

    It counts what the record holds: coming up, warming up, and the turns.
    """
    if not block.generations:
        return 0.0
    spent_ns = 0
    for generation in block.generations:
        for launch in generation.launches:
            if launch.startup is not None and launch.arm != block.canary:
                spent_ns += total_ns(launch.startup) + launch.startup.weights_ns
                spent_ns += sum(window.window_ns for window in launch.warmup)
            if launch.convergence is not None and launch.convergence.points:
                spent_ns += launch.convergence.points[-1].elapsed_ns
        for turn in (turn for each in generation.rounds for turn in each.turns):
            if turn.window is not None:
                spent_ns += turn.window.window_ns + sum(turn.window.rewarm_ns)
    return spent_ns / 1e9 / len(block.generations)
