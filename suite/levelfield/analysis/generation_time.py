"""What one more generation of a block would cost in time."""

from levelfield.analysis.whole_launch import total_ns
from levelfield.record.schema import Block


def generation_seconds(block: Block) -> float:
    """Return about how long one more generation of a block would take; zero where it has none yet.

    It counts what the record holds: start-up, warm-up, and the turns. A turn lasts as long as the supervisor measured,
    with the unrecorded calls before its window: these are not added up, since a page does not carry all of them.
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
                spent_ns += turn.noise.elapsed_ns if turn.noise is not None else turn.window.window_ns
                spent_ns += sum(wait.waited_ns for wait in (turn.settling, turn.settled) if wait is not None)
    return spent_ns / 1e9 / len(block.generations)
