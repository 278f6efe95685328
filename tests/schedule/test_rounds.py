"""The schedule of one generation, and the pieces it is made of."""

import itertools
import statistics
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.record.bounds import SAMPLES_KEPT
from levelfield.record.schema import Launch, Window
from levelfield.schedule.launches import bring_up
from levelfield.schedule.outcomes import end_workers
from levelfield.schedule.rounds import INJECTION_CALLS, Pace, injected_ns, keep_evenly, order, warm_up
from tests import canaries


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


@pytest.mark.parametrize(
    ("inject", "ns"), [("", 0), ("5%", 10_000), ("100%", 200_000), ("0.001", 1_000_000), ("0", 0), ("0%", 0)]
)
def test_an_injected_slowdown(inject: str, ns: int) -> None:
    warm = Launch(arm="a", started="", warmup=(window(9, 9, 9), window(100_000, 200_000, 300_000)))
    assert injected_ns(inject, warm) == ns
    assert injected_ns(inject, Launch(arm="a", started="")) == 0


@given(st.integers(1, 5 * SAMPLES_KEPT))
def test_of_many_calls_an_even_share_is_kept_and_all_are_counted(calls: int) -> None:
    kept = keep_evenly(window(*range(calls)))
    assert (len(kept.samples_ns), kept.calls) == (min(calls, SAMPLES_KEPT), calls)
    steps = {after - before for before, after in itertools.pairwise(kept.samples_ns)}
    assert not steps or max(steps) - min(steps) <= 1
    assert statistics.median(kept.samples_ns) == pytest.approx((calls - 1) / 2, abs=calls / SAMPLES_KEPT)


def test_a_slow_models_verification_is_its_warm_up() -> None:
    """A real worker whose verification was long enough is asked for nothing more; for one that was not, windows are."""
    made = canaries.plan("latency")
    (outcome,) = bring_up(canaries.site(made), made.blocks[0].case, canaries.ARMS[:1])
    asked = Pace(rounds=2, window_ns=1_000_000, min_calls=1, repeats=1)
    try:
        assert outcome.answered is not None
        outcome.answered = window(800_000, 700_000)
        warm_up(outcome, asked)
        assert outcome.launch.warmup == (outcome.answered,)
        for answered, injecting in ((window(300_000, 600_000), False), (window(10_000_000), True), (None, False)):
            outcome.answered = answered
            warm_up(outcome, asked, injecting=injecting)
            assert outcome.launch.warmup
            assert outcome.answered not in outcome.launch.warmup
            if injecting:
                base = outcome.launch.warmup[-1]
                assert len(base.samples_ns) >= INJECTION_CALLS
                assert injected_ns("100%", outcome.launch) == round(statistics.median(base.samples_ns))
        outcome.case = msgspec.structs.replace(outcome.case, device="cuda")
        outcome.answered = window(2_000_000_000, 300_000)
        warm_up(outcome, asked)
        assert outcome.answered not in outcome.launch.warmup, "a GPU's first call makes CUDA ready"
        outcome.answered = window(2_000_000_000, 1_000_000)
        warm_up(outcome, asked)
        assert outcome.launch.warmup == (outcome.answered,)
    finally:
        end_workers([outcome])
