"""Verdicts on upgrades: what each means, and by simulation how often they are wrong."""

import math

import numpy as np
import pytest
import scipy

from levelfield.statistics.arrays import UnusableData
from levelfield.statistics.bracket import (
    LEAST_BOOTS,
    Bracketed,
    Costs,
    Phases,
    bracket,
    judge,
    judged,
    levels,
    smallest_slowdown,
)
from levelfield.statistics.proportions import Proportion
from levelfield.statistics.verdicts import Verdict
from tests.statistics.rates import check_rate
from tests.statistics.upgrades import BAD_BOOTS, STEPS, Noise, Setting, Tally, Trouble, draw, phases, tally

OLD = (10.0, 10.02, 9.98, 10.01, 9.99)
MARGIN, LEVEL = 0.02, 0.01
SPREADS = (0.003, 0.008, 0.02)


def _times(ratio: float) -> tuple[float, ...]:
    return tuple(ratio * cost for cost in OLD)


def _one(before: tuple[float, ...], new: tuple[float, ...], after: tuple[float, ...] = ()) -> Bracketed:
    (found,) = judge([Costs(before, new, after)])
    return found


@pytest.mark.parametrize(
    ("new", "after", "verdict"),
    [
        (1.0, 1.0, Verdict.SAFE),
        (1.03, 1.0, Verdict.SLOWER),
        (0.97, 1.0, Verdict.FASTER),
        (1.03 * 1.05, 1.05, Verdict.DRIFTED),
        (1.0, 0.95, Verdict.DRIFTED),
        (1.0, 1.01, Verdict.SAFE),  # a drift that does not matter
        (1.30, 1.05, Verdict.SLOWER),  # more than twice the drift
    ],
)
def test_verdicts_of_quiet_boots(new: float, after: float, verdict: Verdict) -> None:
    found = _one(OLD, _times(new), _times(after))
    assert found.verdict is verdict
    assert found.ratio is not None
    assert found.drift is not None
    assert found.ratio.value == pytest.approx(new / math.sqrt(after))
    assert found.ratio.low < found.ratio.value < found.ratio.high
    assert found.drift.value == pytest.approx(after)
    assert found.further is None


def test_the_interval_agrees_with_the_verdict() -> None:
    rng = np.random.default_rng(3)
    seen = set()
    for spread in (0.004, 0.01, 0.03):
        for effect in (0.0, 0.03, 0.1):
            boots = [
                [tuple(np.exp(spread * rng.standard_normal(4) + (phase == 1) * effect)) for phase in range(3)]
                for _ in range(6)
            ]
            for each in judge([Costs(*each) for each in boots]):
                assert each.ratio is not None
                seen.add(each.verdict)
                inside = each.ratio.low >= 1 / 1.02 and each.ratio.high <= 1.02
                assert inside if each.verdict is Verdict.SAFE else True
                assert each.ratio.low > 1 if each.verdict is Verdict.SLOWER else True
                assert (each.further is None) or each.verdict is Verdict.UNDECIDED
    assert seen >= {Verdict.SAFE, Verdict.SLOWER, Verdict.UNDECIDED}


@pytest.mark.parametrize(("boots", "spread", "cases"), [(3, 0.01, 1), (5, 0.005, 1), (5, 0.01, 1), (5, 0.01, 5)])
def test_the_smallest_slowdown_is_found_four_times_in_five(boots: int, spread: float, cases: int) -> None:
    effect = smallest_slowdown(boots, spread, cases=cases)
    assert 0.73 < tally(Setting(boots, cases, spread, effect=effect), 2_000, seed=2).slower.share < 0.88


@pytest.mark.parametrize(("boots", "lacking"), [((0, 0, 0), 3), ((3, 3, 2), 1), ((1, 3, 3), 2)])
def test_too_few_boots_decide_nothing_and_cost_nothing(boots: tuple[int, int, int], lacking: int) -> None:
    before, new, after = boots
    few = Costs(OLD[:before], OLD[:new], OLD[:after])
    short, slower = judge([few, Costs(OLD, _times(1.03), OLD)])
    assert short.verdict is Verdict.UNDECIDED
    assert short.ratio is None
    assert short.further == lacking
    assert slower == _one(OLD, _times(1.03), OLD)


@pytest.mark.parametrize("cost", [0.0, -1.0, math.inf])
def test_costs_are_above_zero(cost: float) -> None:
    with pytest.raises(UnusableData):
        _one(OLD, (*OLD, cost), OLD)


def _boots(mean: float, spread: float, count: int) -> tuple[float, ...]:
    """Boots with just this mean and standard deviation, log scale."""
    shape = np.linspace(-1.0, 1.0, count)
    return tuple(np.exp(mean + spread * shape / shape.std(ddof=1)))


@pytest.mark.parametrize("way_back", [True, False])
@pytest.mark.parametrize("spread", [0.008, 0.02])
@pytest.mark.parametrize("effect", [0.0, 0.008])
def test_further_boots_are_the_fewest_that_decide_if_nothing_else_changes(
    effect: float, spread: float, way_back: bool
) -> None:
    def verdict(more: int) -> Bracketed:
        old = _boots(0.0, spread, 3 + (more if way_back else 0))
        return _one(old, _boots(effect, spread, 3 + more), old if way_back else ())

    found = verdict(0)
    assert found.verdict is Verdict.UNDECIDED
    if found.further is None:
        assert not way_back
        assert all(verdict(more).verdict is Verdict.UNDECIDED for more in (5, 50, 200))
    else:
        assert verdict(found.further).verdict is not Verdict.UNDECIDED
        assert verdict(found.further - 1).verdict is Verdict.UNDECIDED


def test_judge_is_what_the_simulations_count() -> None:
    rng = np.random.default_rng(4)
    setting = Setting(boots=4, cases=6, spread=0.01, effect=0.04, changed=2, trouble=Trouble.STEP_ANYWHERE, size=0.02)
    noise = draw(rng, 30, 6, 4, Noise.NORMAL)
    made = phases(noise, setting, np.random.default_rng(1))
    compared = bracket(made)
    counted = judged(compared, levels(compared, margin=MARGIN, level=LEVEL), margin=MARGIN, level=LEVEL).verdict
    assert len(set(counted.flat)) > 3
    # The same boots, one by one, with the means and variances of each phase.
    for upgrade in range(30):
        means, deviations = made.means[:, upgrade], np.sqrt(made.variances[:, upgrade])
        shape = np.array([-1.0, 1.0, -1.0, 1.0]) * math.sqrt(3 / 4)
        cases = [
            Costs(*(tuple(np.exp(means[phase, case] + deviations[phase, case] * shape)) for phase in range(3)))
            for case in range(6)
        ]
        assert [each.verdict for each in judge(cases)] == counted[upgrade].tolist()


def _rate_is_at_most(found: Proportion, rate: float) -> None:
    """Refuse a count that would come up in less than one of a thousand simulations, were this the rate."""
    assert found.successes <= scipy.stats.binom.ppf(0.999, found.trials, rate), found


def _tallies(upgrades: int, **fields: object) -> list[Tally]:
    return [
        tally(Setting(spread=spread, **fields), upgrades, seed=number)  # type: ignore[arg-type]
        for number, spread in enumerate(SPREADS)
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize("boots", [3, 5])
@pytest.mark.parametrize(("cases", "upgrades"), [(1, 10_000), (40, 1_000)])
def test_an_honest_machine_is_called_slower_or_drifted_in_one_percent_of_upgrades(
    cases: int, upgrades: int, boots: int, noise: Noise
) -> None:
    for found in _tallies(upgrades, boots=boots, cases=cases, noise=noise):
        _rate_is_at_most(found.slower_or_drifted, LEVEL)
        if cases == 1 and found.setting.spread == max(SPREADS):  # the test for drift alone has 3/4 of the level
            check_rate(found.slower_or_drifted.successes, upgrades, 0.75 * LEVEL, LEVEL)


@pytest.mark.parametrize(("boots", "about"), [(2, 0.135), (3, 0.036), (5, 0.022)])
def test_boots_in_two_modes_are_called_different_as_often_as_is_said(boots: int, about: float) -> None:
    """The figures of the module's docstring and of docs/upgrade.md; nearly all of them are *drifted*."""
    rng = np.random.default_rng(boots)
    upgrades = 20_000
    logs = 0.003 * rng.standard_normal((3, boots, upgrades, 1)) + math.log(1.05) * rng.integers(
        2, size=(3, boots, upgrades, 1)
    )
    compared = bracket(Phases(logs.mean(axis=1), logs.var(axis=1, ddof=1), np.full((3, upgrades, 1), float(boots))))
    verdicts = judged(compared, levels(compared, margin=MARGIN, level=LEVEL), margin=MARGIN, level=LEVEL).verdict
    slower, faster, drifted = ((verdicts == each).mean() for each in (Verdict.SLOWER, Verdict.FASTER, Verdict.DRIFTED))
    assert slower + faster + drifted == pytest.approx(about, rel=0.1)
    if boots >= LEAST_BOOTS:
        assert max(slower, faster) < 0.005
        assert drifted > 0.8 * about


@pytest.mark.sampled(1)
@pytest.mark.parametrize("new_spread", [1 / 3, 3.0])
@pytest.mark.parametrize("boots", [3, 5])
def test_a_new_stack_that_only_scatters_otherwise_is_not_called_slower(boots: int, new_spread: float) -> None:
    for found in _tallies(20_000, boots=boots, new_spread=new_spread):
        _rate_is_at_most(found.slower, LEVEL)
        _rate_is_at_most(found.drifted, LEVEL)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("trouble", [*STEPS, Trouble.RAMP, *BAD_BOOTS])
@pytest.mark.parametrize("size", [0.02, -0.05, 0.3])
@pytest.mark.parametrize("boots", [3, 5])
def test_what_the_machine_does_is_not_called_the_upgrades(boots: int, size: float, trouble: Trouble) -> None:
    for found in _tallies(4_000, boots=boots, trouble=trouble, size=size):
        _rate_is_at_most(found.slower, LEVEL)
        _rate_is_at_most(found.faster, LEVEL)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("trouble", BAD_BOOTS)
def test_one_bad_boot_of_many_cases_makes_no_verdict(trouble: Trouble) -> None:
    for found in _tallies(500, boots=3, cases=40, trouble=trouble, size=0.2):
        _rate_is_at_most(found.slower_or_drifted, LEVEL)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("trouble", [*STEPS, Trouble.RAMP])
@pytest.mark.parametrize("size", [0.05, -0.05])
@pytest.mark.parametrize("boots", [3, 5])
def test_a_slowdown_beside_a_larger_lasting_drift_is_not_called_the_upgrades(
    boots: int, size: float, trouble: Trouble
) -> None:
    for found in _tallies(10_000, boots=boots, trouble=trouble, size=size, effect=0.03):
        rate = 0.002 if found.setting.spread > 0.01 else 0.0002
        if trouble is not Trouble.STEP_ANYWHERE:  # among the boots of before or after, it moves them by less than it is
            _rate_is_at_most(found.slower, rate)
        _rate_is_at_most(found.faster, LEVEL)


def test_power_rises_with_boots_and_falls_with_spread_and_cases() -> None:
    def power(boots: int, spread: float, cases: int = 1) -> float:
        return tally(Setting(boots, cases, spread, effect=0.03), 2_000, seed=6).slower.share

    assert power(3, 0.006) > 0.85
    assert power(5, 0.01) > 0.86
    assert 0.6 < power(5, 0.012) < 0.85
    assert power(3, 0.01) < 0.5 < power(5, 0.01, cases=1)
    assert power(5, 0.01, cases=20) < power(5, 0.01) - 0.2
