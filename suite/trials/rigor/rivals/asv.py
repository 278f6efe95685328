"""`asv continuous`: Mann–Whitney U below 0.002, and a ratio above 1.1.

Two processes (`rounds`) of each commit give up to five samples each; a sample lasts at least 10 ms, so that one call of
a model of 20 ms is one. All samples of a commit are pooled; without `--interleave-rounds` one commit is measured to the
end before the other. A result is called better or worse when the samples differ (p < 0.002) and the medians by a factor
of more than 1.1.

References
----------
M. Droettboom, P. Virtanen et al. Airspeed velocity: timing attributes `rounds`, `repeat`, `sample_time`; `asv
continuous --factor` (1.1); `is_different` (threshold 0.002), https://asv.readthedocs.io/
H. B. Mann, D. R. Whitney (1947). On a test of whether one of two random variables is stochastically larger than the
other. Annals of Mathematical Statistics 18, 50–60.
"""

import numpy as np
from scipy.stats import mannwhitneyu

from suite.trials.rigor.rivals.draws import Place, one_after_the_other, seconds
from suite.trials.rigor.table import Floats, Outcome, Rule, Said, Table

PROCESSES = 2
SAMPLES = 5
SAMPLE_NS = 10_000_000
THRESHOLD = 0.002
FACTOR = 1.1


def judge(first: Floats, second: Floats) -> Said:
    """Compare two rows of samples."""
    ratio = float(np.median(second) / np.median(first))
    if 1 / FACTOR <= ratio <= FACTOR:
        return "inconclusive"
    if float(mannwhitneyu(first, second, alternative="two-sided").pvalue) >= THRESHOLD:
        return "inconclusive"
    return "slower" if ratio > 1 else "faster"


def _short(table: Table) -> bool:
    return float(table.median_ns.mean()) < SAMPLE_NS


def samples(table: Table, places: list[Place]) -> Floats:
    """Return the first samples of each launch: single calls, or, of calls below 10 ms, the means of windows."""
    rows = [
        table.mean_ns[g, :SAMPLES, arm]
        if _short(table)
        else np.array(table.calls_ns[g][0][arm][:SAMPLES], dtype=np.float64)
        for g, arm in places
    ]
    return np.concatenate(rows)


def _decide(table: Table, factor: float) -> list[Outcome]:
    windows = SAMPLES if _short(table) else 1
    return [
        Outcome(
            judge(samples(table, draw.first), factor * samples(table, draw.second)),
            draw.cluster,
            seconds(table, draw, windows),
        )
        for draw in one_after_the_other(table, PROCESSES)
    ]


RULE = Rule(
    "asv continuous: Mann–Whitney p < .002 and ratio > 1.1",
    f"{PROCESSES} processes × {SAMPLES} samples of A, then of B",
    "asv's documentation",
    _decide,
)
