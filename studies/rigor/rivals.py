"""Rules of other tools, from their published descriptions, each with the schedule it is published with.

Every rule is given what it would have met on this machine: a tool that measures A to the end and then B gets A's
windows from earlier generations and B's from the ones right after them, so its two sides are never further apart than
they have to be.

- `pyperf compare_to`: 20 processes give three values each (means of a loop) after a warm-up; then those of the other
  one do. The values of all processes are pooled, as if they were independent, and two means are called different when
  Student's t-test with pooled variance says so at 95 %.
- `asv continuous`: two processes (`rounds`) of each commit give up to five samples each; a sample lasts at least 10 ms,
  so that one call of a model of 20 ms is one. All samples of a commit are pooled; without `--interleave-rounds` one
  commit is measured to the end before the other. A result is called better or worse when the samples differ
  (Mann–Whitney U, p < 0.002) and the medians by a factor of more than 1.1.
- Fixed thresholds on one process: TorchBench's 7 % of a median, and 5 % of a run's mean.
- Twenty randomised blocks of A and B, which launch both programs anew and measure them right after one another, each
  summarised by its median; Wilcoxon's signed-rank test on the pairs.

References
----------
V. Stinner. pyperf: `Runner` (defaults `--processes=20 --values=3 --warmups=1`) and `compare_to` ("Student's two-sample,
two-tailed t-test with alpha=0.95"), https://pyperf.readthedocs.io/
M. Droettboom, P. Virtanen et al. Airspeed velocity: timing attributes `rounds`, `repeat`, `sample_time`; `asv
continuous --factor` (1.1); `is_different` (threshold 0.002), https://asv.readthedocs.io/
H. B. Mann, D. R. Whitney (1947). On a test of whether one of two random variables is stochastically larger than the
other. Annals of Mathematical Statistics 18, 50–60.
Y. Hao et al. (2023). TorchBench: benchmarking PyTorch with high API surface coverage. arXiv:2304.14226, section on
continuous integration (a change of the execution time of more than 7 % is reported).
F. Wilcoxon (1945). Individual comparisons by ranking methods. Biometrics Bulletin 1, 80–83.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.stats import mannwhitneyu, ttest_ind, wilcoxon

from studies.rigor.record import Answer, Floats, Outcome, Rule, Table

ALPHA = 0.05
PYPERF_PROCESSES, PYPERF_VALUES = 20, 3
ASV_PROCESSES, ASV_SAMPLES = 2, 5
ASV_SAMPLE_NS = 10_000_000
ASV_P, ASV_FACTOR = 0.002, 1.1
TORCHBENCH_CALLS = 10
BLOCKS, BLOCK_WINDOWS = 20, 3

Place: TypeAlias = tuple[int, int]
"""Generation and arm: one launch."""


class Draw(NamedTuple):
    """The launches of one decision."""

    first: list[Place]
    second: list[Place]
    cluster: int


def one_after_the_other(table: Table, launches: int) -> Iterator[Draw]:
    """Yield disjoint sets of launches in which all of the first side come before all of the second.

    Each side takes as few generations as hold its launches (all arms are the same program, so each of them is one more
    launch); what is left over of them goes to further decisions, if it is enough for one.
    """
    stretch = -(-launches // table.arms)
    for cluster in range(table.generations // (2 * stretch)):
        start = cluster * 2 * stretch
        first, second = (
            [(g, arm) for g in range(begin, begin + stretch) for arm in range(table.arms)]
            for begin in (start, start + stretch)
        )
        for number in range(len(first) // launches):
            chosen = slice(number * launches, (number + 1) * launches)
            yield Draw(first[chosen], second[chosen], cluster)


def interleaved(table: Table, blocks: int) -> Iterator[Draw]:
    """Yield disjoint sets of blocks; a block is one launch of either side, measured in turn."""
    stretch = -(-blocks // table.lanes)
    for cluster in range(table.generations // stretch):
        start = cluster * stretch
        pairs = [(g, lane) for g in range(start, start + stretch) for lane in range(table.lanes)]
        for number in range(len(pairs) // blocks):
            chosen = pairs[number * blocks : (number + 1) * blocks]
            yield Draw([(g, 2 * lane) for g, lane in chosen], [(g, 2 * lane + 1) for g, lane in chosen], cluster)


def _rule(
    name: str,
    schedule: str,
    source: str,
    draws: Callable[[Table], Iterator[Draw]],
    values: Callable[[Table, Place], Floats],
    judge: Callable[[Floats, Floats], Answer],
    windows: Callable[[Table], int],
) -> Rule:
    """Return the rule that judges the values of all launches of a side, of which it takes the first `windows`."""

    def decide(table: Table, factor: float) -> list[Outcome]:
        outcomes = []
        for draw in draws(table):
            first, second = (np.concatenate([values(table, place) for place in side]) for side in draw[:2])
            seconds = sum(table.seconds(g, arm, windows(table)) for g, arm in chain(draw.first, draw.second))
            outcomes.append(Outcome(judge(first, factor * second), draw.cluster, seconds))
        return outcomes

    return Rule(name, schedule, source, decide)


def judge_by_t_test(first: Floats, second: Floats) -> Answer:
    """Compare the means of two rows of values."""
    if first.mean() == second.mean():
        return "inconclusive"
    constant = np.ptp(first) == 0 and np.ptp(second) == 0
    if not constant and float(ttest_ind(first, second, equal_var=True).pvalue) > ALPHA:
        return "inconclusive"
    return "slower" if second.mean() > first.mean() else "faster"


def judge_by_ranks(first: Floats, second: Floats) -> Answer:
    """Compare the medians of two rows of samples where ranks differ, too."""
    ratio = float(np.median(second) / np.median(first))
    if 1 / ASV_FACTOR <= ratio <= ASV_FACTOR:
        return "inconclusive"
    if float(mannwhitneyu(first, second, alternative="two-sided").pvalue) >= ASV_P:
        return "inconclusive"
    return "slower" if ratio > 1 else "faster"


def judge_by_threshold(first: Floats, second: Floats, threshold: float) -> Answer:
    """Compare two numbers."""
    change = float(second[0] / first[0]) - 1
    if abs(change) <= threshold:
        return "inconclusive"
    return "slower" if change > 0 else "faster"


def judge_pairs(first: Floats, second: Floats) -> Answer:
    """Compare paired medians."""
    logs = np.log(second / first)
    if not logs.any() or float(wilcoxon(logs).pvalue) > ALPHA:
        return "inconclusive"
    return "slower" if float(np.median(logs)) > 0 else "faster"


def _short(table: Table) -> bool:
    return float(table.median_ns.mean()) < ASV_SAMPLE_NS


def asv_samples(table: Table, place: Place) -> Floats:
    """Return the first samples of a launch: single calls, or, of calls below 10 ms, the means of windows."""
    g, arm = place
    if _short(table):
        return table.mean_ns[g, :ASV_SAMPLES, arm]
    return np.array(table.calls_ns[g][0][arm][:ASV_SAMPLES], dtype=np.float64)


def median_of_process(table: Table, place: Place) -> Floats:
    """Return the median of a launch's first calls, over as many windows as they take."""
    g, arm = place
    calls = list(chain.from_iterable(one[arm] for one in table.calls_ns[g]))
    return np.array([np.median(calls[:TORCHBENCH_CALLS])])


PYPERF = _rule(
    "pyperf compare: pooled t-test, A to the end, then B",
    f"{PYPERF_PROCESSES} processes × {PYPERF_VALUES} values of A, then of B",
    "pyperf's documentation",
    partial(one_after_the_other, launches=PYPERF_PROCESSES),
    lambda table, place: table.mean_ns[place[0], :PYPERF_VALUES, place[1]],
    judge_by_t_test,
    lambda _: PYPERF_VALUES,
)
ASV = _rule(
    "asv continuous: Mann–Whitney p < .002 and ratio > 1.1",
    f"{ASV_PROCESSES} processes × {ASV_SAMPLES} samples of A, then of B",
    "asv's documentation",
    partial(one_after_the_other, launches=ASV_PROCESSES),
    asv_samples,
    judge_by_ranks,
    lambda table: ASV_SAMPLES if _short(table) else 1,
)
TORCHBENCH = _rule(
    "TorchBench: 7 % on one process's median",
    f"one process of A with {TORCHBENCH_CALLS} calls, then one of B",
    "TorchBench's paper",
    partial(one_after_the_other, launches=1),
    median_of_process,
    partial(judge_by_threshold, threshold=0.07),
    lambda table: min(2, table.rounds),
)
MEAN = _rule(
    "a fixed 5 % on one run's mean",
    "one process of A with all its windows, then one of B",
    "common practice in continuous integration",
    partial(one_after_the_other, launches=1),
    lambda table, place: np.array([table.mean_ns[place[0], :, place[1]].mean()]),
    partial(judge_by_threshold, threshold=0.05),
    lambda table: table.rounds,
)
RANDOMISED_BLOCKS = _rule(
    "20 randomised AB blocks, medians, Wilcoxon",
    f"{BLOCKS} launches of both in turn, {BLOCK_WINDOWS} windows each",
    "textbook; our own first look used it",
    partial(interleaved, blocks=BLOCKS),
    lambda table, place: np.array([np.median(table.median_ns[place[0], :BLOCK_WINDOWS, place[1]])]),
    judge_pairs,
    lambda _: BLOCK_WINDOWS,
)
RULES = (PYPERF, ASV, TORCHBENCH, MEAN, RANDOMISED_BLOCKS)
