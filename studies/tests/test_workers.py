"""Workers that a trial keeps alive itself: canaries, launched for real."""

from typing import Any

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.machine.signals import Signals
from levelfield.schedule.outcomes import end_workers
from levelfield.schedule.resources import RunResources
from levelfield.worker.messages import Measure
from studies.workers import launch, launch_canary, process_ids, take_turn
from tests.canaries import plan, site, workers

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def place() -> RunResources:
    return site(plan("latency"))


def test_a_turn_is_a_window_with_what_happened_meanwhile(place: RunResources) -> None:
    (canary,) = launch_canary(place)
    try:
        with Signals(place.cpus) as signals:
            pids = process_ids([canary])
            turn = take_turn(canary, Measure(window_ns=5_000_000, min_calls=3), signals, pids)
            assert min(turn.settling.waited_ns, turn.noise.elapsed_ns, len(turn.window.samples_ns) - 2) > 0
            assert turn.wall_ns >= turn.window.window_ns >= 5_000_000
    finally:
        end_workers([canary])
    assert not workers()


def test_a_wrong_answer_leaves_no_worker_behind(place: RunResources) -> None:
    honest = place.artifacts.reference

    class Lying:
        root = place.artifacts.root

        def __getattr__(self, name: str) -> object:
            return getattr(place.artifacts, name)

        def reference(self, model: str, count: int, **how: Any) -> object:
            return honest(model, count, **how) * 1.01

    chosen = plan("latency").blocks[0]
    with pytest.raises(LevelfieldError, match="not equal to the reference"):
        launch(msgspec.structs.replace(place, artifacts=Lying(), compared={}), chosen.case, chosen.arms)
    assert not workers()
