"""Twenty randomised blocks of A and B, each summarised by its median, and Wilcoxon's signed-rank test on the pairs.

Each block launches both programs anew and measures them right after one another, in random order.

References
----------
F. Wilcoxon (1945). Individual comparisons by ranking methods. Biometrics Bulletin 1, 80–83.
"""

import numpy as np
from scipy.stats import wilcoxon

from suite.trials.rigor.rivals.draws import Place, interleaved, seconds
from suite.trials.rigor.table import Floats, Outcome, Rule, Said, Table

BLOCKS = 20
WINDOWS = 3
ALPHA = 0.05


def judge(first: Floats, second: Floats) -> Said:
    """Compare paired medians."""
    logs = np.log(second / first)
    if not logs.any() or float(wilcoxon(logs).pvalue) > ALPHA:
        return "inconclusive"
    return "slower" if float(np.median(logs)) > 0 else "faster"


def _medians(table: Table, places: list[Place]) -> Floats:
    """Return a launch's median over its first windows."""
    return np.array([np.median(table.median_ns[g, :WINDOWS, arm]) for g, arm in places])


def _decide(table: Table, factor: float) -> list[Outcome]:
    return [
        Outcome(
            judge(_medians(table, draw.first), factor * _medians(table, draw.second)),
            draw.cluster,
            seconds(table, draw, WINDOWS),
        )
        for draw in interleaved(table, BLOCKS)
    ]


RULE = Rule(
    "20 randomised AB blocks, medians, Wilcoxon",
    f"{BLOCKS} launches of both in turn, {WINDOWS} windows each",
    "textbook; our own first look used it",
    _decide,
)
