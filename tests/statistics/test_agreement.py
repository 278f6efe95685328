import math

import pytest

from levelfield.statistics import agreement


def test_f1_and_matthews_of_a_confusion_by_hand() -> None:
    # Six right positives, one that was missed, two false alarms, three right negatives.
    truth = [1] * 7 + [0] * 5
    answers = [1] * 6 + [0] + [1] * 2 + [0] * 3
    assert agreement.f1(truth, answers) == pytest.approx(2 * 6 / (7 + 8))
    assert agreement.matthews(truth, answers) == pytest.approx((6 * 3 - 2 * 1) / math.sqrt(7 * 8 * 5 * 4))


def test_answers_that_are_all_the_same_say_nothing() -> None:
    assert agreement.matthews([0, 1, 1], [1, 1, 1]) == 0
    assert agreement.f1([0, 0], [0, 0]) == 0
    assert math.isnan(agreement.pearson([1, 2, 3], [2, 2, 2]))


def test_correlations_of_scores_by_hand() -> None:
    truth, answers = [0.0, 1.0, 2.0, 5.0], [1.0, 1.0, 4.0, 9.0]
    # Sums of products about the means 2 and 3.75: 21.0 over the roots of 14 and 42.75.
    assert agreement.pearson(truth, answers) == pytest.approx(24.0 / math.sqrt(14 * 42.75))
    # Ranks 1 2 3 4 and 1.5 1.5 3 4.
    assert agreement.spearman(truth, answers) == pytest.approx(4.5 / math.sqrt(5 * 4.5))
