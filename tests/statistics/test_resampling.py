import numpy as np
import numpy.typing as npt
import pytest

from levelfield.statistics import resampling
from levelfield.statistics.arrays import InsufficientData
from tests.statistics.rates import check_rate


@pytest.mark.extended
def test_the_interval_of_a_mean_covers_it() -> None:
    rng = np.random.default_rng(2)
    experiments, missed = 1000, 0
    for _ in range(experiments):
        values = rng.beta(2, 1, 80)
        low, high = resampling.interval(lambda places, values=values: float(values[places].mean()), 80, draws=200)  # type: ignore[misc]
        missed += not low <= 2 / 3 <= high
    check_rate(
        missed, experiments, 0.05, 0.065
    )  # of 80 items, the percentile bootstrap misses a little more than it says


def test_pairs_cancel_what_items_have_in_common() -> None:
    rng = np.random.default_rng(3)
    first = rng.normal(0, 10, 100)
    second = first - 1 + rng.normal(0, 0.1, 100)
    low, high = resampling.interval(lambda places: float((second[places] - first[places]).mean()), 100)
    assert -1.1 < low < high < -0.9


def test_the_same_items_give_the_same_interval() -> None:
    values = np.arange(10.0)

    def mean(places: npt.NDArray[np.intp]) -> float:
        return float(values[places].mean())

    assert resampling.interval(mean, 10) == resampling.interval(mean, 10)


def test_no_interval_is_made_up() -> None:
    for measure, items in ((lambda _: 0.5, 1), (lambda _: 0.5, 9), (lambda _: float("nan"), 9)):
        with pytest.raises(InsufficientData):
            resampling.interval(measure, items)
