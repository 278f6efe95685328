"""The schedule of one generation, and the pieces it is made of."""

import statistics
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.records.schema import Launch, Window
from suite.rounds import SupervisorClock, injected_ns, order
from tests import canaries
from tests.records_builder import make_noise

pytestmark = pytest.mark.alone


def window(*samples_ns: int) -> Window:
    return Window((), samples_ns, sum(samples_ns), 0, 0, 0, 0, 0, 0)


@given(st.lists(st.text(max_size=5), unique=True, max_size=8), st.integers(0, 2**63), st.integers(0, 100))
def test_an_order_is_everybody_once_and_follows_from_the_seed(names: list[str], seed: int, index: int) -> None:
    taken = order(names, seed, index)
    assert sorted(taken) == sorted(names)
    assert taken == order(list(reversed(names)), seed, index)


def test_every_arm_takes_every_place_about_as_often() -> None:
    places = Counter((name, place) for seed in range(600) for place, name in enumerate(order("abc", seed, seed % 5)))
    assert len(places) == 9
    assert all(140 < count < 260 for count in places.values())  # 200 expected, standard deviation 11.5


def test_the_supervisors_share() -> None:
    clock = SupervisorClock()
    assert clock.share == 0.0
    noise = make_noise(100_000_000)
    clock.add(noise)
    clock.add(noise)
    assert clock.share == pytest.approx(noise.supervisor_ns / noise.elapsed_ns)


@pytest.mark.parametrize(
    ("inject", "ns"), [("", 0), ("5%", 10_000), ("100%", 200_000), ("0.001", 1_000_000), ("0", 0), ("0%", 0)]
)
def test_an_injected_slowdown(inject: str, ns: int) -> None:
    warm = Launch(arm="a", started="", warmup=(window(9, 9, 9), window(100_000, 200_000, 300_000)))
    assert injected_ns(inject, warm) == ns
    assert injected_ns(inject, Launch(arm="a", started="")) == 0


def test_a_slowed_twin_is_slower_by_so_much(reports: Path) -> None:
    """The whole way: two canaries side by side, one made twice as slow."""
    first, second = canaries.ARMS
    slowed = msgspec.structs.replace(second, inject="100%")
    run = canaries.Harness(canaries.plan("latency", arms=(first, slowed)), reports).measure()
    ratios = []
    for generation in run.blocks[0].generations:
        for each in generation.rounds:
            medians = {turn.arm: statistics.median(turn.window.samples_ns) for turn in each.turns if turn.window}
            ratios.append(medians[slowed.id] / medians[first.id])
    assert ratios
    # A median of four to eight rounds on a machine with other things to do: between 1.4 and 3 is "about twice".
    assert 1.4 < statistics.median(ratios) < 3.0
