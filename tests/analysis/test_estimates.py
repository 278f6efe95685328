"""From launches to estimates: with an interval where launches are enough for one, and without otherwise."""

import math

import numpy as np
import pytest

from levelfield.analysis import estimates
from levelfield.analysis.types import Estimate
from levelfield.statistics.student import MIN_LAUNCHES, EndedBy
from tests.known import known

VALUES = [10.0, 11.0, 9.0, 10.5, 9.5]


def test_a_level_has_an_interval_from_enough_launches_on() -> None:
    found = known(estimates.level(VALUES))
    assert known(found.low) < found.value < known(found.high)
    assert estimates.level(VALUES[: MIN_LAUNCHES - 1]) == Estimate(math.exp(np.log(VALUES[:4]).mean()))
    assert estimates.level([]) is None
    assert estimates.level([1.0, 0.0]) is None


def test_a_ratio_is_of_the_generations_that_both_have() -> None:
    found = known(estimates.ratio({0: 2.0, 1: 4.0, 7: 1.0}, {0: 1.0, 1: 2.0, 8: 1.0}, ended=EndedBy.PLAN))
    assert found.value == pytest.approx(2.0)
    assert found.low is None
    assert estimates.ratio({0: 1.0}, {1: 1.0}, ended=EndedBy.PLAN) is None


def test_a_matrix_has_a_row_for_each_generation_and_nan_where_there_is_no_launch() -> None:
    found = estimates.matrix({"a": {0: 1.0, 2: math.e}, "b": {2: 1.0}})
    np.testing.assert_allclose(found, [[0.0, np.nan], [1.0, 0.0]])
    assert estimates.matrix({"a": {0: 1.0}}, [0, 1]).shape == (2, 1)
