"""Our rule and those of other tools, on streams whose truth is known, and the frozen rules and their records."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest

from levelfield.errors import LevelfieldError
from levelfield.statistics.power import Design, power
from studies.commands import read
from studies.rigor import findings as rigor_findings
from studies.rigor import rivals, rules
from studies.rigor.findings import table_lines
from studies.rigor.record import Answer, Finding, Floats, Rule, Stream, Table, Tally, lay_out
from studies.rigor.rivals import RULES
from studies.rigor.rules import generation_seconds, levels_of, newest, ours
from studies.tests.rigor.streams import CALL_NS, LAUNCH_S, WINDOW_S, Machine, table
from tests.known import known

SHARED = Machine(rounds=0.04, walk=0.02)
"""A shared machine: rounds differ by 4 %, and it drifts by 2 % from generation to generation."""
STILL = Machine(launch=0.0, window=0.005)
DRIFTING = Machine(launch=0.0, window=0.005, walk=0.02)
FROZEN = newest()[1]
FOLDER = Path("reports/trials")
RECORDS = sorted(FOLDER.glob("rigor-*.json"))
COMMITTED = {
    1: "8500257fde60dc76fc7f90343938e96aa468d0d8a0beb130e87b561a93673dbd",
    2: "acf4ce51ff6f660d6f7cd7ab6d77e4a42129396dc480490ce3bea161395a5e61",
    3: "e8df9276ec53a31a17935e1b18ce4b495175a94904e5970dee82419d69c321dc",
}
"""Number of each file to its SHA-256: a file that is changed after a stream was judged by it fails here."""


def rule_of(seen: Table, name: str) -> Rule:
    return next(rule for rule in ours(seen, FROZEN) if rule.name.startswith(name))


def apply(rule: Rule, seen: Table) -> Finding:
    return rigor_findings.apply(rule, seen, FROZEN.effects)


def tally(rule: Rule, seen: Table, effect: float = 0.0) -> Tally:
    return next(each for each in apply(rule, seen).tallies if each.effect == effect)


def share(rule: Rule, seen: Table, effect: float = 0.0) -> float:
    wanted = known(tally(rule, seen, effect).wanted)
    return wanted.share


@pytest.fixture(scope="module")
def long() -> Table:
    return table(SHARED, generations=600)


def test_identical_arms_are_called_different_no_more_often_than_promised(long: Table) -> None:
    still = tally(rule_of(long, "bench, 5 launches"), long)
    assert still.decisions == 6 * 120
    assert known(still.wanted).low <= 0.05
    assert still.clusters == 120


@pytest.mark.parametrize("effect", [0.02, 0.05])
def test_power_is_what_the_variance_says(long: Table, effect: float) -> None:
    found = known(tally(rule_of(long, "bench, 10 launches"), long, effect).wanted)
    # The midmean of five windows averages three of them: its efficiency is about that of four.
    least = power(effect, Design(10, 3, SHARED.launch, SHARED.window), alpha=0.05)
    most = power(effect, Design(10, 5, SHARED.launch, SHARED.window), alpha=0.05)
    assert found.high >= least
    assert found.low <= most


def test_decisions_share_no_launch() -> None:
    seen = table(Machine(), generations=23)
    for name, each in (("bench, 5 launches", 5), ("bench, 10 launches", 10)):
        outcomes = rule_of(seen, name).decide(seen, 1.0)
        assert len(outcomes) == 6 * (23 // each)
        assert generation_seconds(seen) == pytest.approx(np.full((23, 6), 2 * (LAUNCH_S + 5 * WINDOW_S)))
        took = sum(outcome.seconds for outcome in outcomes)
        assert took == pytest.approx((23 // each) * each * 12 * (LAUNCH_S + 5 * WINDOW_S))


def test_an_effect_is_a_factor_on_the_second_arm() -> None:
    seen = table(Machine(), generations=6)
    plain, scaled = levels_of(seen, 2), levels_of(seen, 2, 1.05)
    assert scaled[:, 1] - scaled[:, 0] == pytest.approx(plain[:, 1] - plain[:, 0] + math.log(1.05))


def test_disturbed_rounds_are_left_out_where_there_are_others() -> None:
    quiet = table(Machine(window=0.001), generations=2, rounds=4, arms=2)
    loud = quiet.median_ns.copy()
    loud[0, 1, 0] *= 3.0
    loud[1] *= 3.0
    places = [(0, 1, 0), *((1, number, 0) for number in range(4))]
    seen = table(Machine(window=0.001), generations=2, rounds=4, arms=2, disturbed=places)
    seen.median_ns[:] = loud
    levels = levels_of(seen, 0)
    assert np.exp(levels[0, 0]) == pytest.approx(CALL_NS, rel=0.05)  # without the disturbed round
    assert np.exp(levels[1, 0]) == pytest.approx(3 * CALL_NS, rel=0.05)  # it has no other


def test_a_generation_without_a_undisturbed_round_is_left_out_where_there_are_enough() -> None:
    places = [(3, number, 0) for number in range(4)]
    seen = table(Machine(window=0.001), generations=7, rounds=4, arms=2, disturbed=places)
    seen.median_ns[3] *= 3.0
    assert levels_of(seen, 0).shape == (6, 2)
    assert np.exp(levels_of(seen, 0)) == pytest.approx(CALL_NS, rel=0.05)
    assert levels_of(seen, 0, 1.0, slice(0, 5)).shape == (5, 2), "four calm ones are too few"


DRAW = np.random.default_rng(1)
VALUES = 100 + DRAW.standard_normal(60)
PAIRED, NOISE = np.exp(0.1 * DRAW.standard_normal(20)), np.exp(0.001 * DRAW.standard_normal(20))
SAMPLES, WIDE = np.linspace(1.0, 1.01, 10), np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0])


@pytest.mark.parametrize(
    ("judge", "first", "second", "said"),
    [
        (rivals.judge_by_t_test, VALUES, VALUES + 2, "slower"),
        (rivals.judge_by_t_test, VALUES, VALUES - 2, "faster"),
        (rivals.judge_by_t_test, VALUES, VALUES + 0.01, "inconclusive"),
        (rivals.judge_by_t_test, VALUES, VALUES, "inconclusive"),
        (rivals.judge_by_t_test, np.full(60, 1.0), np.full(60, 1.01), "slower"),
        (rivals.judge_by_ranks, SAMPLES, 1.2 * SAMPLES, "slower"),
        (rivals.judge_by_ranks, 1.2 * SAMPLES, SAMPLES, "faster"),
        (rivals.judge_by_ranks, SAMPLES, 1.09 * SAMPLES, "inconclusive"),  # p is tiny, the ratio is not large enough
        (rivals.judge_by_ranks, WIDE, np.array([1.0, 1.0, 4.0, 5.0, 5.0, 5.0]), "inconclusive"),  # the other way round
        (rivals.judge_pairs, PAIRED, 1.01 * PAIRED * NOISE, "slower"),
        (rivals.judge_pairs, PAIRED, 0.99 * PAIRED * NOISE, "faster"),
        (rivals.judge_pairs, PAIRED, PAIRED, "inconclusive"),
        (partial(rivals.judge_by_threshold, threshold=0.07), np.ones(1), np.array([1.069]), "inconclusive"),
        (partial(rivals.judge_by_threshold, threshold=0.07), np.ones(1), np.array([1.08]), "slower"),
        (partial(rivals.judge_by_threshold, threshold=0.07), np.ones(1), np.array([0.92]), "faster"),
    ],
)
def test_rules_of_other_tools_on_known_numbers(
    judge: Callable[[Floats, Floats], Answer], first: Floats, second: Floats, said: str
) -> None:
    assert judge(first, second) == said


@pytest.mark.parametrize(
    ("rule", "machine", "generations", "least", "most"),
    [
        (rivals.PYPERF, STILL, 400, 0.0, 0.12),
        (rivals.PYPERF, DRIFTING, 400, 0.6, 1.0),  # it takes the processes of a side for independent of the machine
        # All the variance is between processes, and it takes three values of one for three.
        (rivals.PYPERF, Machine(launch=0.02, window=0.001), 400, 0.15, 1.0),
        (rivals.ASV, STILL, 200, 0.0, 0.0),
        (rivals.TORCHBENCH, STILL, 100, 0.0, 0.0),
        (rivals.TORCHBENCH, Machine(walk=0.08), 100, 0.2, 1.0),
        (rivals.MEAN, STILL, 100, 0.0, 0.0),
        (rivals.MEAN, Machine(walk=0.08), 100, 0.2, 1.0),
        (rivals.RANDOMISED_BLOCKS, DRIFTING, 800, 0.0, 0.12),
    ],
)
def test_rules_of_other_tools_alarm_where_the_machine_moves(
    rule: Rule, machine: Machine, generations: int, least: float, most: float
) -> None:
    assert least <= share(rule, table(machine, generations=generations)) <= most


def test_asv_finds_nothing_small() -> None:
    assert [share(rivals.ASV, table(STILL, generations=200), effect) for effect in (0.02, 0.05)] == [0, 0]


def test_samples_are_the_first_calls_of_a_process() -> None:
    seen = table(Machine(), generations=2)
    assert list(rivals.asv_samples(seen, (1, 5))) == list(seen.calls_ns[1][0][5][:5])
    calls = [*seen.calls_ns[1][0][4], *seen.calls_ns[1][1][4]][:10]
    assert rivals.median_of_process(seen, (1, 4)) == pytest.approx(float(np.median(calls)))


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
    seconds = {rule.name.split(":")[0]: apply(rule, seen).seconds for rule in RULES}
    assert seconds["pyperf compare"] == pytest.approx(40 * (LAUNCH_S + 3 * WINDOW_S))
    assert seconds["asv continuous"] == pytest.approx(4 * (LAUNCH_S + WINDOW_S))
    assert seconds["TorchBench"] == pytest.approx(2 * (LAUNCH_S + 2 * WINDOW_S))


def test_a_short_stream_gives_no_decision() -> None:
    finding = apply(rivals.PYPERF, table(Machine(), generations=3))
    assert finding.seconds is None
    assert all(each.wanted is None for each in finding.tallies)


def test_the_rendered_record_has_the_same_table() -> None:
    stream = read(FOLDER / "rigor-2026-11-21.json", Stream)
    assert "\n".join(table_lines(stream.findings)) in (FOLDER / "rigor-2026-11-21.md").read_text()


@pytest.mark.extended
@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_rules_of_other_tools_make_of_a_stream_what_is_published(path: Path) -> None:
    stream = read(path, Stream)
    seen = lay_out(stream.generations)
    published = {each.rule: each for each in stream.findings if not each.ours}
    for rule in RULES:
        finding = rigor_findings.apply(rule, seen, rules.of(stream.rules_sha256).effects)
        assert [msgspec.to_builtins(each.wanted) for each in finding.tallies] == [
            pytest.approx(msgspec.to_builtins(each.wanted)) for each in published[rule.name].tallies
        ]


def test_frozen_rules_are_never_changed_and_records_name_them() -> None:
    assert {rules.of(sha256).number: sha256 for sha256 in COMMITTED.values()} == COMMITTED
    assert len(list(rules.FOLDER.glob("rigor-*.toml"))) == len(COMMITTED)
    named = {path.stem: read(path, Stream).rules_sha256 for path in RECORDS}
    assert {path for path, sha256 in named.items() if sha256 not in COMMITTED.values()} == {"rigor-2026-11-21"}
    assert rules.of("").number == 1, "older than the files: the first"
    with pytest.raises(LevelfieldError, match="not in rules"):
        rules.of("0" * 64)
