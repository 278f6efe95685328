"""Bounds on a record: one beyond them is refused, since it would take hours to analyse.

A run refuses what would lead there when a worker reports it (`launchers.credible`).
"""

from levelfield.errors import LevelfieldError
from levelfield.record.files import DAMAGED, MAX_VALUES
from levelfield.record.page import MAX_BYTES
from levelfield.record.schema import Block, Run

MAX_BLOCKS = 2_000
MAX_ARMS = 64
"""Arms of a block: each is compared with every other."""
MAX_RESULTS = 20_000
"""Blocks times arms."""
MAX_WINDOWS = 300_000
MAX_ROUNDS = 2_000
"""Rounds of one generation: the test for a steady state compares the windows of a launch with one another."""
MAX_ROUND_ARMS = 5_000_000
"""Generations × distinct rounds × arms of a block: how large the array of its windows is."""
LONGEST_S = 366 * 86_400.0
"""Longest duration that an option accepts: a year."""
SEED_BITS = 63
"""Size of a seed: it fits into the record's integers."""
MAX_FACTS = 1_000_000
"""Distributions, libraries, settings and facts of the machine together: a launch has some forty, and a `full` run has
some three thousand launches in one precision."""

MAX_LAUNCH_FACTS = 10_000
"""Of these, of one launch."""
MAX_NAME, MAX_REPORTED_NAME = 500, 450
"""Characters of a name in a run's summary, and of one that a worker reports, to which a summary adds a word."""
MAX_WINDOW_CALLS = 1_000_000
"""Timed calls of one window, and calls before it: what a worker is asked for at the most."""
SAMPLES_KEPT = 1_000
"""Most samples of a window that the record keeps. An even share of so many has the median of all within a twenty-fifth
of the spread of the calls, far less than windows of one launch differ; a run of ten backends stays below 10 MB."""
REPORTED = {"bytes": MAX_BYTES // 5 * 2, "values": MAX_VALUES // 5 * 2, "facts": MAX_FACTS // 5 * 2}
"""What workers may report before each arm is held to its share of as much again: a fifth is left for all else."""
MAX_SIZES, MAX_DIMENSIONS = 24, 1_024
"""Combinations of sizes of a user's own file, and dimensions that were given sizes."""
MAX_ANSWERS = 3_000_000
"""To all data sets, by all arms: all of ImageNet's validation set by seven arms in three precisions is a million."""


def check(run: Run, name: str) -> None:
    """Refuse a record that is larger than any run.

    Raises LevelfieldError: a limit is exceeded; the message says which.
    """
    _most(len(run.blocks), MAX_BLOCKS, "cases", name)
    _most(sum(len(block.arms) for block in run.blocks), MAX_RESULTS, "results", name)
    _most(max((len(block.arms) for block in run.blocks), default=0), MAX_ARMS, "arms of one case", name)
    _most(sum(map(_windows, run.blocks)), MAX_WINDOWS, "windows", name)
    for block in run.blocks:
        _most(max((len(each.rounds) for each in block.generations), default=0), MAX_ROUNDS, "rounds", name)
        rounds = {round_.index for generation in block.generations for round_ in generation.rounds}
        arms = {turn.arm for each in block.generations for round_ in each.rounds for turn in round_.turns}
        _most(len(block.generations) * len(rounds) * max(len(arms), len(block.arms)), MAX_ROUND_ARMS, "places", name)
    if (own := run.settings.own) is not None:
        _most(len(own.sized), MAX_SIZES, "combinations of sizes", name)
        _most(max(len(each.dimensions) for each in own.sized), MAX_DIMENSIONS, "sizes of dimensions", name)
    facts = sum(sum(map(len, each.values())) + len(each) for each in (run.machine,))
    facts += len(run.warnings) + len(run.artifacts)
    facts += sum(len(image.distributions) + len(image.plugins) + len(image.layers) + 1 for image in run.images)
    launches = [
        len(launch.libraries) + len(launch.settings) + len(launch.environment)
        for block in run.blocks
        for generation in block.generations
        for launch in generation.launches
    ]
    _most(max(launches, default=0), MAX_LAUNCH_FACTS, "facts of one launch", name)
    _most(facts + sum(launches), MAX_FACTS, "facts", name)
    _most(sum(len(each.answers) + len(each.scores) for each in run.accuracies), MAX_ANSWERS, "answers", name)
    _most(len(run.accuracies), MAX_RESULTS, "arms that answered", name)


def _windows(block: Block) -> int:
    """Count a generation and a launch as one, too: those that failed have none, and millions take minutes."""
    return sum(1 + sum(1 + len(launch.warmup) for launch in each.launches) for each in block.generations) + sum(
        len(round_.turns) for each in block.generations for round_ in each.rounds
    )


def _most(count: int, most: int, what: str, name: str) -> None:
    if count > most:
        raise LevelfieldError(f"{name} holds {count:,} {what}, and a run has no more than {most:,}.", fix=DAMAGED)
