"""Rules of other tools: what they say about known numbers, and how they fail where drift is."""

import numpy as np
import pytest

from studies.rigor import rivals
from studies.rigor.findings import apply
from studies.rigor.record import Rule, Table, Tally
from studies.rigor.rivals import RULES
from studies.rigor.rules import newest
from studies.tests.rigor.streams import LAUNCH_S, WINDOW_S, Machine, table

STILL = Machine(launch=0.0, window=0.005)
DRIFTING = Machine(launch=0.0, window=0.005, walk=0.02)

EFFECTS = newest()[1].effects


def still(rule: Rule, seen: Table) -> Tally:
    return apply(rule, seen, EFFECTS).tallies[0]


def share(rule: Rule, seen: Table) -> float:
    wanted = still(rule, seen).wanted
    assert wanted is not None
    return wanted.share


def test_pyperf_compares_means_with_a_pooled_t_test() -> None:
    draw = np.random.default_rng(1)
    values = 100 + draw.standard_normal(60)
    assert rivals.judge_by_t_test(values, values + 2) == "slower"
    assert rivals.judge_by_t_test(values, values - 2) == "faster"
    assert rivals.judge_by_t_test(values, values + 0.01) == "inconclusive"
    assert rivals.judge_by_t_test(values, values) == "inconclusive"
    assert rivals.judge_by_t_test(np.full(60, 1.0), np.full(60, 1.01)) == "slower"


def test_pyperf_takes_the_processes_of_one_side_for_independent_of_the_machine() -> None:
    assert share(rivals.PYPERF, table(STILL, generations=400)) <= 0.12
    assert share(rivals.PYPERF, table(DRIFTING, generations=400)) >= 0.6


def test_pyperf_takes_values_of_a_process_for_processes() -> None:
    launches = Machine(launch=0.02, window=0.001)  # all the variance is between processes: three values are one
    assert share(rivals.PYPERF, table(launches, generations=400)) >= 0.15


def test_asv_wants_both_a_small_p_and_a_large_ratio() -> None:
    first = np.linspace(1.0, 1.01, 10)
    assert rivals.judge_by_ranks(first, 1.2 * first) == "slower"
    assert rivals.judge_by_ranks(1.2 * first, first) == "faster"
    assert rivals.judge_by_ranks(first, 1.09 * first) == "inconclusive"  # p is tiny, the ratio is not large enough
    wide = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0])
    assert (
        rivals.judge_by_ranks(wide, np.array([1.0, 1.0, 4.0, 5.0, 5.0, 5.0])) == "inconclusive"
    )  # and the other way round


def test_asv_finds_nothing_small() -> None:
    seen = table(STILL, generations=200)
    tallies = {each.effect: each for each in apply(rivals.ASV, seen, EFFECTS).tallies}
    for effect in (0.0, 0.02, 0.05):
        wanted = tallies[effect].wanted
        assert wanted is not None
        assert wanted.successes == 0


def test_asv_samples_are_calls_where_a_call_is_long() -> None:
    seen = table(Machine(), generations=2)
    places = [(0, 3), (1, 5)]
    wanted = [*seen.calls_ns[0][0][3][:5], *seen.calls_ns[1][0][5][:5]]
    assert [call for place in places for call in rivals.asv_samples(seen, place)] == wanted


@pytest.mark.parametrize(("change", "said"), [(1.069, "inconclusive"), (1.08, "slower"), (0.92, "faster")])
def test_a_threshold_is_a_threshold(change: float, said: str) -> None:
    assert rivals.judge_by_threshold(np.array([1.0]), np.array([change]), 0.07) == said


def test_a_process_is_summarised_by_its_first_ten_calls() -> None:
    seen = table(Machine(), generations=2)
    windows = seen.calls_ns[1]
    calls = [*windows[0][4], *windows[1][4]][:10]
    assert rivals.median_of_process(seen, (1, 4)) == pytest.approx(float(np.median(calls)))


def test_thresholds_alarm_when_the_machine_moves() -> None:
    moving = Machine(walk=0.08)
    for rule in (rivals.TORCHBENCH, rivals.MEAN):
        assert share(rule, table(STILL, generations=100)) == 0
        assert share(rule, table(moving, generations=100)) >= 0.2


def test_wilcoxon_looks_at_pairs() -> None:
    draw = np.random.default_rng(2)
    first = np.exp(0.1 * draw.standard_normal(20))
    noise = np.exp(0.001 * draw.standard_normal(20))
    assert rivals.judge_pairs(first, 1.01 * first * noise) == "slower"
    assert rivals.judge_pairs(first, 0.99 * first * noise) == "faster"
    assert rivals.judge_pairs(first, first) == "inconclusive"


def test_interleaved_blocks_do_not_mind_drift() -> None:
    assert share(rivals.RANDOMISED_BLOCKS, table(DRIFTING, generations=800)) <= 0.12


def test_the_first_side_is_measured_to_the_end_before_the_second() -> None:
    seen = table(Machine(), generations=10)
    for launches in (1, 2, 20):
        used: set[rivals.Place] = set()
        found = list(rivals.one_after_the_other(seen, launches))
        assert found
        for draw in found:
            assert len(draw.first) == len(draw.second) == launches
            assert max(g for g, _ in draw.first) < min(g for g, _ in draw.second)
            places = {*draw.first, *draw.second}
            assert not places & used
            used |= places


def test_clusters_share_no_generation() -> None:
    seen = table(Machine(), generations=17)
    for found in (rivals.one_after_the_other(seen, 2), rivals.interleaved(seen, 20)):
        owners: dict[int, int] = {}
        for draw in found:
            for g, _ in (*draw.first, *draw.second):
                assert owners.setdefault(g, draw.cluster) == draw.cluster


def test_blocks_pair_arms_that_were_measured_together() -> None:
    seen = table(Machine(), generations=8)
    found = list(rivals.interleaved(seen, 20))
    assert len(found) == 2
    for draw in found:
        assert [(g, arm + 1) for g, arm in draw.first] == draw.second


def test_time_is_what_launches_and_their_windows_took() -> None:
    seen = table(Machine(), generations=8)
    seconds = {rule.name.split(":")[0]: apply(rule, seen, EFFECTS).seconds for rule in RULES}
    assert seconds["pyperf compare"] == pytest.approx(40 * (LAUNCH_S + 3 * WINDOW_S))
    assert seconds["asv continuous"] == pytest.approx(4 * (LAUNCH_S + WINDOW_S))
    assert seconds["TorchBench"] == pytest.approx(2 * (LAUNCH_S + 2 * WINDOW_S))


def test_a_short_stream_gives_no_decision() -> None:
    finding = apply(rivals.PYPERF, table(Machine(), generations=3), EFFECTS)
    assert finding.seconds is None
    assert all(each.wanted is None for each in finding.tallies)
