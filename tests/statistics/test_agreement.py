import math

import numpy as np
import pytest

from levelfield.statistics import agreement
from levelfield.statistics.arrays import InsufficientData
from tests.statistics.rates import check_rate


def test_f1_and_matthews_of_a_confusion_by_hand() -> None:
    # Six right positives, one that was missed, two false alarms, three right negatives.
    truth = [1] * 7 + [0] * 5
    answers = [1] * 6 + [0] + [1] * 2 + [0] * 3
    assert agreement.f1(truth, answers) == pytest.approx(2 * 6 / (7 + 8))
    assert agreement.matthews(truth, answers) == pytest.approx((6 * 3 - 2 * 1) / math.sqrt(7 * 8 * 5 * 4))


def test_correlations_of_scores_by_hand() -> None:
    truth, answers = [0.0, 1.0, 2.0, 5.0], [1.0, 1.0, 4.0, 9.0]
    # Sums of products about the means 2 and 3.75: 21.0 over the roots of 14 and 42.75.
    assert agreement.pearson(truth, answers) == pytest.approx(24.0 / math.sqrt(14 * 42.75))
    # Ranks 1 2 3 4 and 1.5 1.5 3 4.
    assert agreement.spearman(truth, answers) == pytest.approx(4.5 / math.sqrt(5 * 4.5))


@pytest.mark.extended
def test_the_interval_of_a_mean_covers_it() -> None:
    rng = np.random.default_rng(2)
    experiments, missed = 1000, 0
    for _ in range(experiments):
        values = rng.beta(2, 1, 80)
        low, high = agreement.interval(lambda places, values=values: float(values[places].mean()), 80, draws=200)  # type: ignore[misc]
        missed += not low <= 2 / 3 <= high
    check_rate(
        missed, experiments, 0.05, 0.065
    )  # of 80 items, the percentile bootstrap misses a little more than it says


def test_no_interval_is_made_up() -> None:
    for measure, items in ((lambda _: 0.5, 1), (lambda _: 0.5, 9), (lambda _: float("nan"), 9)):
        with pytest.raises(InsufficientData):
            agreement.interval(measure, items)
