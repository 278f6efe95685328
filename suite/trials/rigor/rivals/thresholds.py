"""Fixed thresholds on one process: TorchBench's 7 % of a median, and 5 % of a run's mean.

References
----------
Y. Hao et al. (2023). TorchBench: benchmarking PyTorch with high API surface coverage. arXiv:2304.14226, section on
continuous integration (a change of the execution time of more than 7 % is reported).
"""

from collections.abc import Callable

import numpy as np

from suite.trials.rigor.rivals.draws import Place, one_after_the_other, seconds
from suite.trials.rigor.table import Outcome, Rule, Said, Table

CALLS = 10


def judge(first: float, second: float, threshold: float) -> Said:
    """Compare two numbers."""
    change = second / first - 1
    if abs(change) <= threshold:
        return "inconclusive"
    return "slower" if change > 0 else "faster"


def median_of_process(table: Table, place: Place) -> float:
    """Return the median of a launch's first calls, over as many windows as they take."""
    generation, arm = place
    calls: list[int] = []
    for one in table.calls_ns[generation]:
        calls += one[arm]
        if len(calls) >= CALLS:
            break
    return float(np.median(calls[:CALLS]))


def mean_of_run(table: Table, place: Place) -> float:
    generation, arm = place
    return float(table.mean_ns[generation, :, arm].mean())


def _rule(
    value: Callable[[Table, Place], float], windows: Callable[[Table], int], threshold: float
) -> Callable[[Table, float], list[Outcome]]:
    def decide(table: Table, factor: float) -> list[Outcome]:
        return [
            Outcome(
                judge(value(table, draw.first[0]), factor * value(table, draw.second[0]), threshold),
                draw.cluster,
                seconds(table, draw, windows(table)),
            )
            for draw in one_after_the_other(table, 1)
        ]

    return decide


TORCHBENCH = Rule(
    "TorchBench: 7 % on one process's median",
    f"one process of A with {CALLS} calls, then one of B",
    "TorchBench's paper",
    _rule(median_of_process, lambda table: min(2, table.rounds), 0.07),
)
MEAN = Rule(
    "a fixed 5 % on one run's mean",
    "one process of A with all its windows, then one of B",
    "common practice in continuous integration",
    _rule(mean_of_run, lambda table: table.rounds, 0.05),
)
