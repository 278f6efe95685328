"""x"""

import math

import msgspec
import numpy as np
import pytest

from studies.exchange.draws import Runs, expected, lumps, sessions, spread, tally, turns
from suite.compare.types import Gate

DAY_SD, RUN_SD = 0.02, 0.01


GATE = Gate()


def made(days: int, of_a_day: int, cases: int, *, seed: int = 1, day_sd: float = DAY_SD) -> Runs:
    rng = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(days), of_a_day)
    day = rng.normal(0.0, day_sd, (days, cases))[numbers]
    return Runs(tuple(map(int, numbers)), 16 + day + rng.normal(0.0, RUN_SD, (numbers.size, cases)))


def test_spreads_are_found_again() -> None:
    found = [spread(made(6, 6, 10, seed=seed)) for seed in range(20)]
    assert np.mean([each.run_sd for each in found]) == pytest.approx(RUN_SD, rel=0.03)
    assert np.mean([each.session_sd for each in found]) == pytest.approx(DAY_SD, rel=0.1)
    assert spread(made(6, 6, 10, day_sd=0.0)).session_sd == pytest.approx(0.0, abs=0.004)


def test_unequal_days_and_missing_numbers_do_no_harm() -> None:
    runs = made(8, 6, 10)
    kept = np.array([place for place in range(48) if place % 6 < 2 + place // 6 % 4])
    costs = runs.log_costs[kept].copy()
    costs[::7, 3] = math.nan
    found = spread(Runs(tuple(runs.sessions[place] for place in kept), costs))
    assert found.run_sd == pytest.approx(RUN_SD, rel=0.15)
    assert found.session_sd == pytest.approx(DAY_SD, rel=0.35)


def test_lumps_call_changes_and_turns_hardly_do() -> None:
    runs = made(6, 6, 4)
    rng = np.random.default_rng(2)
    apart = tally(runs, lumps(runs, 3, 10, rng), GATE)
    mixed = tally(runs, turns(runs, 3, 300, rng), GATE)
    assert apart is not None
    assert mixed is not None
    assert apart.session_pairs == 15
    assert apart.comparisons == 150
    assert apart.with_change / apart.comparisons > 0.1
    assert mixed.with_change / mixed.comparisons <= 0.03


def test_what_is_expected_of_the_spreads() -> None:
    """Days that scatter by 2 % and runs by 1 %: `tests/compare/test_order_in_time.py` has the same as one step."""
    found = msgspec.structs.replace(spread(made(6, 6, 4)), run_sd=RUN_SD, session_sd=DAY_SD)
    shares = expected(found, 3, GATE, np.random.default_rng(3))
    assert shares is not None
    assert shares[0] == pytest.approx(0.187, abs=0.03)
    assert shares[1] <= GATE.q
    assert expected(msgspec.structs.replace(found, session_sd=None), 3, GATE, np.random.default_rng(3)) is None


def test_turns_are_neighbours_of_one_session() -> None:
    runs = made(3, 5, 1)
    for _, (old, new) in turns(runs, 4, 50, np.random.default_rng(4)):
        for first, second in zip(old, new, strict=True):
            assert abs(first - second) == 1
            assert runs.sessions[first] == runs.sessions[second]
        assert len({*old, *new}) == 8


def test_too_few_runs_give_no_comparison() -> None:
    runs = made(2, 2, 1)
    rng = np.random.default_rng(5)
    assert tally(runs, lumps(runs, 3, 5, rng), GATE) is None
    assert tally(runs, turns(runs, 3, 5, rng), GATE) is None
    assert spread(made(1, 1, 3)).run_sd is None
    assert sessions([], 3600) == ()
