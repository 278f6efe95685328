"""The rule of classes: its order, its bounds, and by simulation how often it is wrong."""

import numpy as np
import pytest

from studies.regressions.rule import MARGIN, PROCESSES, Class, classify, order


def _classes(ratio: float, *, spread: float, drift: float, draws: int = 400) -> list[Class]:
    """Class pairs of processes whose medians scatter, on a machine whose speed wanders from pair to pair."""
    draw = np.random.default_rng(27188)
    found = []
    for _ in range(draws):
        machine = 1e5 * np.exp(np.cumsum(draw.normal(0, drift, PROCESSES)))
        old, new = (machine * np.exp(draw.normal(0, spread, PROCESSES)) for _ in range(2))
        found.append(classify(list(old), list(ratio * new)).name)
    return found


def test_a_change_is_found_whatever_the_machine_does() -> None:
    found = _classes(1.07, spread=0.02, drift=0.05)
    assert found.count(Class.SLOWER) > 390
    assert _classes(1 / 1.07, spread=0.02, drift=0.05).count(Class.FASTER) > 390


def test_nothing_is_called_unchanged_where_nothing_changed() -> None:
    found = _classes(1.0, spread=0.01, drift=0.05)
    assert found.count(Class.UNCHANGED) > 380
    assert not {Class.SLOWER, Class.FASTER} & set(found)


@pytest.mark.parametrize("ratio", [1 + MARGIN, 1 / (1 + MARGIN)])
def test_at_the_margin_a_class_is_wrong_in_one_percent_at_most(ratio: float) -> None:
    found = _classes(ratio, spread=0.02, drift=0.0, draws=3000)
    wrong = len(found) - found.count(Class.UNDECIDED)
    assert wrong < 0.018 * len(found), "both tails of a 99 % interval, with three standard errors of the draw"


def test_noise_is_no_class() -> None:
    found = _classes(1.0, spread=0.2, drift=0.0)
    assert found.count(Class.UNDECIDED) > 390


def test_the_order_is_balanced_and_follows_from_the_seed() -> None:
    turns = order(PROCESSES, 7)
    assert turns == order(PROCESSES, 7)
    assert any(turns != order(PROCESSES, seed) for seed in range(8, 12))
    assert turns.count("old") == turns.count("new") == PROCESSES
    for start in range(0, len(turns), 4):
        assert turns[start : start + 2] == turns[start + 2 : start + 4][::-1]
    assert all(set(turns[start : start + 2]) == {"old", "new"} for start in range(0, len(turns), 2))
