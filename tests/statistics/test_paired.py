"""Two arms in the boots of two stacks: what is said of them, and by simulation how often it is wrong."""

import math

import numpy as np
import pytest
import scipy

from suite.statistics import bracket
from suite.statistics.bracketing import Verdict as Bracketed
from suite.statistics.errors import UnusableData
from suite.statistics.paired import Paired, Ratios, judge_pairs
from suite.statistics.verdicts import Verdict

LEVEL, MARGIN = 0.01, 0.02
OLD = (1.0, 1.002, 0.998, 1.001, 0.999, 1.0)


def _one(old: tuple[float, ...], new: tuple[float, ...], phases: int = 2) -> Paired:
    (found,) = judge_pairs([Ratios(old, new)], margin=MARGIN, level=LEVEL, phases=phases)
    return found


def _times(factor: float, ratios: tuple[float, ...] = OLD) -> tuple[float, ...]:
    return tuple(factor * ratio for ratio in ratios)


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (1.0, 1.0, Verdict.SAME),
        (1.05, 1.05, Verdict.SLOWER),
        (0.95, 0.95, Verdict.FASTER),
        (1.0, 1.1, Verdict.SLOWER),  # on average; the interaction says where
        (1.1, 1 / 1.1, Verdict.SAME),
    ],
)
def test_verdicts_of_quiet_boots(old: float, new: float, verdict: Verdict) -> None:
    found = _one(_times(old), _times(new))
    assert found.verdict is verdict
    assert found.ratio == pytest.approx(math.sqrt(old * new))
    assert found.low is not None
    assert found.high is not None
    assert found.low < math.sqrt(old * new) < found.high


def test_both_stacks_weigh_the_same_however_many_boots_each_has() -> None:
    found = _one(_times(1.1, OLD * 3), _times(1.2, OLD[:3]))
    assert found.ratio == pytest.approx(math.sqrt(1.1 * 1.2), rel=0.002)


def test_a_ratio_that_drifts_widens_the_interval() -> None:
    quiet, drifting = _one(OLD, OLD), _one((*_times(0.95, OLD[:3]), *_times(1.05, OLD[:3])), OLD)
    assert quiet.verdict is Verdict.SAME
    assert drifting.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(("old", "new", "lacking"), [(1, 5, 2), (6, 0, 3), (0, 0, 3)])
def test_too_few_boots_decide_nothing_and_cost_nothing(old: int, new: int, lacking: int) -> None:
    short, full = judge_pairs(
        [Ratios(OLD[:old], OLD[:new]), Ratios(_times(1.05), _times(1.05))], margin=MARGIN, level=LEVEL
    )
    assert (short.verdict, short.ratio, short.further) == (Verdict.INCONCLUSIVE, None, lacking)
    assert full == _one(_times(1.05), _times(1.05))


@pytest.mark.parametrize("phases", [1, 2])
def test_further_boots_are_the_fewest_that_decide_if_nothing_else_changes(phases: int) -> None:
    def found(more: int) -> Paired:
        def boots(count: int) -> tuple[float, ...]:
            logs = scipy.stats.zscore(np.arange(count), ddof=1) * 0.02 + math.log(1.03)
            return tuple(np.exp(logs))

        return _one(boots(3 * phases + phases * more), boots(3 + more), phases)

    further = found(0).further
    assert further is not None
    assert found(further - 1).verdict is Verdict.INCONCLUSIVE
    assert found(further).verdict is not Verdict.INCONCLUSIVE


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.inf])
def test_ratios_are_above_zero(ratio: float) -> None:
    with pytest.raises(UnusableData):
        _one((ratio, 1.0), OLD)


def test_margins_are_shares() -> None:
    with pytest.raises(ValueError, match="margin"):
        judge_pairs([], margin=2, level=LEVEL)


def _upgrade(
    rng: np.random.Generator, *, boots: int, cases: int, arms: float = 0.0, interaction: float = 0.0, new: float = 1.0
) -> tuple[list[Ratios], list[bracket.Costs]]:
    """Draw the ratios of an upgrade; a boot's state is large, wanders from boot to boot, and is common to both arms."""
    shared = np.cumsum(rng.normal(0, 0.05, (3 * boots, 1)), axis=0)
    costs = shared[:, None] + rng.normal(0, 0.007, (3 * boots, 2, cases))
    on_new = np.arange(3 * boots) // boots == 1
    costs[on_new] += (new - 1) * rng.normal(0, 0.007, (boots, 2, cases))
    costs[:, 1] += math.log1p(arms) + math.log1p(interaction) * on_new[:, None]
    ratios = np.exp(costs[:, 1] - costs[:, 0]).T
    pairs = [Ratios(tuple(each[~on_new]), tuple(each[on_new])) for each in ratios]
    return pairs, [bracket.Costs(*(tuple(each[phase * boots :][:boots]) for phase in range(3))) for each in ratios]


def _rate_is_at_most(wrong: int, trials: int, rate: float) -> None:
    """Refuse a count that would come up in less than one of a thousand simulations, were this the rate."""
    assert wrong <= scipy.stats.binom.ppf(0.999, trials, rate), (wrong, trials)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("boots", "cases", "new"), [(3, 1, 1.0), (3, 5, 1.0), (5, 3, 1.0), (5, 1, 4.0)])
def test_equal_arms_are_called_different_in_one_percent_of_upgrades(boots: int, cases: int, new: float) -> None:
    rng = np.random.default_rng(boots * 10 + cases)
    trials = 1500
    wrong = 0
    for _ in range(trials):
        pairs, _unused = _upgrade(rng, boots=boots, cases=cases, new=new)
        found = {each.verdict for each in judge_pairs(pairs, margin=MARGIN, level=LEVEL)}
        wrong += bool(found & {Verdict.SLOWER, Verdict.FASTER})
    _rate_is_at_most(wrong, trials, LEVEL)


def test_arms_on_the_edge_of_the_margin_are_called_the_same_in_one_percent() -> None:
    rng = np.random.default_rng(3)
    found = [
        judge_pairs(_upgrade(rng, boots=5, cases=1, arms=MARGIN)[0], margin=MARGIN, level=LEVEL)[0].verdict
        for _ in range(1500)
    ]
    _rate_is_at_most(found.count(Verdict.SAME), len(found), LEVEL)


def test_effects_are_found_under_a_boot_level_that_wanders() -> None:
    """A level that wanders by 5 % from boot to boot hides an effect of 3 % in the costs, and not in their ratios."""
    rng = np.random.default_rng(5)
    arms, together, equal, alone = 0, 0, 0, 0
    trials = 300
    for _ in range(trials):
        pairs, _unused = _upgrade(rng, boots=5, cases=1, arms=0.03)
        arms += judge_pairs(pairs, margin=MARGIN, level=LEVEL)[0].verdict is Verdict.SLOWER
        _pairs, costs = _upgrade(rng, boots=5, cases=1, arms=0.03, interaction=0.05)
        together += bracket.judge(costs, margin=MARGIN, level=LEVEL)[0].verdict is Bracketed.SLOWER
        _pairs, costs = _upgrade(rng, boots=5, cases=1, arms=0.03)
        found = bracket.judge(costs, margin=MARGIN, level=LEVEL)[0].verdict
        equal += found in (Bracketed.SLOWER, Bracketed.FASTER)
        alone += found is Bracketed.SAFE
    assert arms > 0.9 * trials
    assert together > 0.8 * trials
    _rate_is_at_most(equal, trials, LEVEL)
