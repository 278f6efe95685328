"""The stream taken for real: canaries in this interpreter, which need only NumPy."""

import itertools
import time

import pytest

from levelfield.schedule.outcomes import utc_now
from levelfield.schedule.preparation import canary_case
from levelfield.schedule.resources import RunResources
from studies.rigor.measure import Clock, measure, summarise
from studies.rigor.record import KEPT_CALLS, Setup, Stream, lay_out
from tests.canaries import plan, site, workers

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def place() -> RunResources:
    return site(plan("latency"))


def begun(*, canary: bool = True) -> Stream:
    return Stream(
        schema=Stream.SCHEMA,
        started=utc_now(),
        updated=utc_now(),
        tool_version="0",
        setup=Setup(canary_case(1), "canary", 4, 3, 5_000_000, 2, 11, canary=canary),
        machine={},
        images=(),
        artifacts=(),
    )


def test_every_arm_takes_a_turn_in_every_round_and_nothing_is_left(place: RunResources) -> None:
    kept: list[Stream] = []
    done = measure(begun(), place, 2, kept.append, seconds=300)
    assert not workers()
    assert kept[-1] == done
    assert [len(each.generations) for each in kept] == [1, 2]
    table = lay_out(done.generations)
    assert table.median_ns.shape == (2, 3, 4)
    assert table.canary_ns is not None
    assert (table.launch_s > 0).all()
    orders = []
    for generation in done.generations:
        pairs = [pair for row in generation.rounds for pair in row.pairs]
        orders += [[window.arm for window in pair.windows] for pair in pairs]
        assert all({2 * pair.lane, 2 * pair.lane + 1} == {one.arm for one in pair.windows} for pair in pairs)
        assert all(pair.outside.elapsed_ns > 0 for pair in pairs)
        turns = [one for pair in pairs for one in pair.windows] + [
            row.canary for row in generation.rounds if row.canary
        ]
        assert len(turns) == 3 * 5
        spans = sorted((turn.start_ns, turn.start_ns + turn.wall_ns) for turn in turns)
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans)), "one after the other"
        assert all(turn.calls >= 2 and turn.p10_ns <= turn.median_ns <= turn.p90_ns for turn in turns)
    assert len(set(map(tuple, orders))) > 2  # the two of a pair change places


def test_the_order_follows_from_the_seed(place: RunResources) -> None:
    def orders(stream: Stream) -> list[list[int]]:
        done = measure(stream, place, 1, lambda _: None, seconds=300)
        return [[w.arm for pair in row.pairs for w in pair.windows] for row in done.generations[0].rounds]

    assert orders(begun()) == orders(begun())


def test_a_stream_goes_on_after_a_canary_died(place: RunResources) -> None:
    def keep(now: Stream) -> None:
        if len(now.generations) == 1 and not now.lost:
            (canary,) = workers()
            canary.kill()

    done = measure(begun(), place, 2, keep, seconds=300)
    assert [generation.index for generation in done.generations] == [0, 2]
    assert ["generation 1" in each for each in done.lost] == [True]
    assert not workers()


def test_no_generation_begins_that_the_time_does_not_cover(place: RunResources) -> None:
    kept: list[Stream] = []
    began = time.monotonic()
    done = measure(begun(canary=False), place, 1000, kept.append, seconds=3)
    took = time.monotonic() - began
    assert 0 < len(done.generations) < 1000
    assert took < 3 + 2 * took / len(done.generations)
    assert measure(begun(), place, 5, kept.append, seconds=0).generations == ()


def test_a_window_is_kept_as_its_summary_and_first_calls() -> None:
    window = summarise(3, 10, 20, list(range(1, 102)))
    assert (window.calls, window.median_ns, window.mean_ns, window.p10_ns, window.p90_ns) == (101, 51, 51, 11, 91)
    assert window.calls_ns == tuple(range(1, KEPT_CALLS + 1))


def test_a_clock_goes_on_where_the_stream_began() -> None:
    hour_ago = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))
    assert Clock(hour_ago).now_ns() == pytest.approx(3600e9, abs=2e9)
