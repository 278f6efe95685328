"""Rounds judged again by the signals that a stream keeps."""

import msgspec

from studies.rigor.disturbance import judge_again
from studies.rigor.record import Generation, Outside
from studies.tests.rigor.streams import Machine, stream

CPUS = 2


def with_pair(outside: Outside, disturbed: str = "") -> tuple[Generation, ...]:
    """A stream of one generation, whose first pair of turns has these signals."""
    (one,) = stream(Machine(), generations=1, rounds=2).generations
    pair = msgspec.structs.replace(one.rounds[0].pairs[0], outside=outside, disturbed=disturbed)
    first = msgspec.structs.replace(one.rounds[0], pairs=(pair, *one.rounds[0].pairs[1:]))
    return (msgspec.structs.replace(one, rounds=(first, *one.rounds[1:])),)


def reasons(generations: tuple[Generation, ...]) -> list[str]:
    return [pair.disturbed for one in generations for row in one.rounds for pair in row.pairs]


def test_signals_decide_and_not_what_the_record_says() -> None:
    calm = Outside(500_000_000, 0, 1_000_000, 0, None, 100_000)
    stolen = msgspec.structs.replace(calm, steal_ns=200_000_000)
    first, *others = reasons(judge_again(with_pair(stolen), CPUS, 0))
    assert first
    assert not any(others)
    assert not any(reasons(judge_again(with_pair(calm, "steal was 40 %"), CPUS, 0)))


def test_a_reason_without_a_signal_in_the_record_stands() -> None:
    calm = Outside(500_000_000, 0, 1_000_000, 0, None, 100_000)
    assert reasons(judge_again(with_pair(calm, "pages were swapped"), CPUS, 0))[0] == "pages were swapped"


def test_idle_workers_may_compute_for_as_long_as_turns_settled() -> None:
    spun = Outside(500_000_000, 0, 1_000_000, 70_000_000, None, 100_000)
    assert reasons(judge_again(with_pair(spun), CPUS, 0))[0]
    assert not reasons(judge_again(with_pair(spun), CPUS, 40_000_000))[0]
