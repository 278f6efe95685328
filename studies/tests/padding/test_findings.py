"""What is said of launches that are made up: variances that are known, and intervals that cover them."""

import numpy as np
import pytest

from studies.padding.findings import find, variance_ratio
from studies.padding.record import Cell, Generation, Launched, Treatment
from suite.schedule.preparation import canary_case

TOGETHER, ROUNDS = 4, 6


def made_up(generations: int, sd: dict[Treatment, float], slope: float = 0.0) -> Cell:
    """Launches whose levels have these standard deviations, in rounds that drift by 5 %."""
    chance = np.random.default_rng(11)

    def generation() -> Generation:
        drift = chance.normal(0, 0.05, ROUNDS)
        rows: list[Launched] = []
        for treatment, spread in sd.items():
            for _ in range(TOGETHER):
                length = int(chance.integers(4096)) if treatment == "random" else 0
                level = chance.normal(0, spread) + slope * length / 4096
                windows = 1e6 * np.exp(level + drift + chance.normal(0, 0.002, ROUNDS))
                rows.append(Launched(treatment, length, tuple(windows.tolist())))
        return Generation(tuple(rows), ("", "a neighbour") + ("",) * (ROUNDS - 2))

    return Cell(canary_case(1), "canary", 1, 1, tuple(generation() for _ in range(generations)))


def test_a_larger_variance_is_found_and_measured() -> None:
    found = find(made_up(50, {"fixed": 0.01, "random": 0.02}))
    assert found.ratio_low < 4 < found.ratio_high
    assert found.ratio_low > 1
    fixed, varied = found.spreads
    assert (fixed.treatment, fixed.launches) == ("fixed", 200)
    assert (varied.treatment, varied.launches) == ("random", 200)
    assert fixed.launch_sd == pytest.approx(0.01, rel=0.15)
    assert varied.launch_sd == pytest.approx(0.02, rel=0.15)
    assert fixed.window_sd == pytest.approx(0.002, rel=0.1)
    assert found.correlation_low < 0 < found.correlation_high
    assert (found.disturbed_rounds, found.rounds) == (50, 300)


def test_a_level_that_follows_the_length_is_seen() -> None:
    found = find(made_up(10, {"fixed": 0.01, "random": 0.01}, slope=0.05))
    assert found.correlation_low > 0.3


@pytest.mark.parametrize(("tails", "least"), [("normal", 0.94), ("heavy", 0.90)])
def test_the_interval_of_equal_variances_covers_one(tails: str, least: float) -> None:
    chance = np.random.default_rng(5)
    shape = (1500, 2, 10, TOGETHER)
    drawn = chance.standard_normal(shape) if tails == "normal" else chance.standard_t(5, shape)
    deviations = drawn - drawn.mean(axis=3, keepdims=True)
    intervals = [variance_ratio(above, below) for above, below in deviations]
    assert np.mean([low < 1 < high for _, low, high in intervals]) >= least
