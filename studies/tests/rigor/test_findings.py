"""What every rule makes of a stream, counted; and where the stream's variance lies."""

from itertools import product

import msgspec
import numpy as np
import pytest

from levelfield.errors import LevelfieldError
from studies.rigor.findings import count, find, variance
from studies.rigor.record import Answer, Outcome, lay_out
from studies.rigor.rules import newest
from studies.tests.rigor.streams import Machine, stream


def outcomes(*said: tuple[Answer, int]) -> list[Outcome]:
    return [Outcome(each, cluster, 1.0) for each, cluster in said]


def test_alarms_are_differences_either_way_and_finds_are_slower_ones() -> None:
    said = outcomes(("slower", 0), ("faster", 0), ("same", 1), ("inconclusive", 2))
    still, moved = count(0.0, said), count(0.02, said)
    assert [each.wanted.successes for each in (still, moved) if each.wanted] == [2, 1]
    assert still.decisions == 4
    assert still.clusters == 3


def test_groups_that_agree_are_worth_one_observation_each() -> None:
    found = count(0.0, outcomes(*((("slower" if cluster == 0 else "same"), cluster) for cluster in (0, 1) * 50)))
    assert found.wanted is not None
    assert found.wanted.high - found.wanted.low < 0.25
    assert found.clustered_low == pytest.approx(0.0126, abs=1e-4)  # one of two, Clopper and Pearson 1934
    assert found.clustered_high == pytest.approx(0.9874, abs=1e-4)
    nothing = count(0.0, outcomes(("same", 0), ("same", 1), ("same", 2)))
    assert nothing.clustered_low == 0.0
    assert nothing.clustered_high == pytest.approx(1 - 0.025 ** (1 / 3))


def test_every_rule_answers_for_every_effect() -> None:
    rules = newest()[1]
    findings = find(lay_out(stream(Machine(), generations=12).generations), rules)
    assert {finding.ours for finding in findings} == {True, False}
    for finding in findings:
        assert tuple(each.effect for each in finding.tallies) == rules.effects
        for each in finding.tallies:
            assert (each.wanted is None) == (each.decisions == 0)
    short = next(finding for finding in findings if finding.rule == "bench, 5 launches")
    assert short.tallies[0].decisions == 2 * 2
    assert short.seconds == pytest.approx(5 * 2 * (0.5 + 4 * 0.25))


def test_the_variance_is_split_as_it_was_made() -> None:
    found = variance(lay_out(stream(Machine(launch=0.01, window=0.02, rounds=0.05), generations=60).generations))
    assert found is not None
    assert found.all_arms.launch_sd == pytest.approx(0.01, rel=0.3)
    assert found.pair_launch_sd == pytest.approx(0.01, rel=0.4)
    assert found.pair_window_sd == pytest.approx(0.02, rel=0.1)
    assert found.all_arms.round_sd == pytest.approx(0.05, rel=0.2)
    assert variance(lay_out(stream(Machine(), generations=1).generations)) is None


def test_windows_are_laid_out_by_their_arm_not_their_order() -> None:
    one = stream(Machine(), generations=3)
    seen = lay_out(one.generations)
    assert seen.median_ns.shape == (3, 4, 4)
    for (g, generation), r in product(enumerate(one.generations), range(4)):
        for window in (window for pair in generation.rounds[r].pairs for window in pair.windows):
            assert seen.median_ns[g, r, window.arm] == window.median_ns
    assert seen.launch_s == pytest.approx(np.full(3, 0.5))


def test_a_damaged_stream_is_refused() -> None:
    whole = stream(Machine(), generations=2).generations
    with pytest.raises(LevelfieldError, match="no complete generation"):
        lay_out([])
    shorter = msgspec.structs.replace(whole[1], rounds=whole[1].rounds[:-1])
    with pytest.raises(LevelfieldError, match="different shape"):
        lay_out([whole[0], shorter])
    twice = msgspec.structs.replace(whole[1].rounds[0].pairs[0], lane=1, windows=whole[1].rounds[0].pairs[1].windows)
    rounds = (msgspec.structs.replace(whole[1].rounds[0], pairs=(twice, twice)), *whole[1].rounds[1:])
    with pytest.raises(LevelfieldError, match="missing"):
        lay_out([whole[0], msgspec.structs.replace(whole[1], rounds=rounds)])
