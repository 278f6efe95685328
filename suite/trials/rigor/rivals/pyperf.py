"""`pyperf compare_to`: a two-sample t-test on the values of all processes together.

A benchmark is run in 20 processes, each of which gives three values (means of a loop) after a warm-up; then the other
one is. The values of all processes are pooled, as if they were independent, and two means are called different when
Student's t-test with pooled variance says so at 95 %.

References
----------
V. Stinner. pyperf: `Runner` (defaults `--processes=20 --values=3 --warmups=1`) and `compare_to` ("Student's two-sample,
two-tailed t-test with alpha=0.95"), https://pyperf.readthedocs.io/
"""

import numpy as np
from scipy.stats import ttest_ind

from suite.trials.rigor.rivals.draws import Place, one_after_the_other, seconds
from suite.trials.rigor.table import Floats, Outcome, Rule, Said, Table

PROCESSES = 20
VALUES = 3
ALPHA = 0.05


def judge(first: Floats, second: Floats) -> Said:
    """Compare two rows of values."""
    if first.mean() == second.mean():
        return "inconclusive"
    constant = np.ptp(first) == 0 and np.ptp(second) == 0
    if not constant and float(ttest_ind(first, second, equal_var=True).pvalue) > ALPHA:
        return "inconclusive"
    return "slower" if second.mean() > first.mean() else "faster"


def _values(table: Table, places: list[Place]) -> Floats:
    return np.concatenate([table.mean_ns[g, :VALUES, arm] for g, arm in places])


def _decide(table: Table, factor: float) -> list[Outcome]:
    return [
        Outcome(
            judge(_values(table, draw.first), factor * _values(table, draw.second)),
            draw.cluster,
            seconds(table, draw, VALUES),
        )
        for draw in one_after_the_other(table, PROCESSES)
    ]


RULE = Rule(
    "pyperf compare: pooled t-test, A to the end, then B",
    f"{PROCESSES} processes × {VALUES} values of A, then of B",
    "pyperf's documentation",
    _decide,
)
