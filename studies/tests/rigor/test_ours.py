"""Our rule on streams whose truth is known: alarms at most as often as promised, power as computed."""

import math

import numpy as np
import pytest

from levelfield.statistics.power import Design, power
from studies.rigor import findings as rigor_findings
from studies.rigor import rules as rigor_rules
from studies.rigor.record import Finding, Rule, Table, Tally
from studies.rigor.rules import generation_seconds, levels_of, ours
from studies.tests.rigor.streams import CALL_NS, LAUNCH_S, WINDOW_S, Machine, table

SHARED = Machine(rounds=0.04, walk=0.02)
"""A shared machine: rounds differ by 4 %, and it drifts by 2 % from generation to generation."""


FROZEN = rigor_rules.newest()[1]
EFFECTS = FROZEN.effects


def rule_of(seen: Table, name: str) -> Rule:
    return next(rule for rule in ours(seen, FROZEN) if rule.name.startswith(name))


def apply(rule: Rule, seen: Table) -> Finding:
    return rigor_findings.apply(rule, seen, EFFECTS)


def tally(finding: Finding, effect: float) -> Tally:
    return next(each for each in finding.tallies if each.effect == effect)


@pytest.fixture(scope="module")
def long() -> Table:
    return table(SHARED, generations=600)


def test_identical_arms_are_called_different_no_more_often_than_promised(long: Table) -> None:
    still = tally(apply(rule_of(long, "bench, 5 launches"), long), 0.0)
    assert still.decisions == 6 * 120
    assert still.wanted is not None
    assert still.wanted.low <= 0.05
    assert still.clusters == 120


@pytest.mark.parametrize("effect", [0.02, 0.05])
def test_power_is_what_the_variance_says(long: Table, effect: float) -> None:
    found = tally(apply(rule_of(long, "bench, 10 launches"), long), effect).wanted
    assert found is not None
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


def test_a_pair_costs_its_launches_and_windows() -> None:
    seen = table(Machine(), generations=3)
    assert generation_seconds(seen) == pytest.approx(np.full((3, 6), 2 * (LAUNCH_S + 5 * WINDOW_S)))
