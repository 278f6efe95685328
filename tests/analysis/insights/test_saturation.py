"""From which batch on a larger one gains nothing."""

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.analysis.insights import saturation
from levelfield.analysis.types import ArmWait, Estimate
from levelfield.record.schema import Run, Turn
from levelfield.report import insights, units
from tests.analysis.changed import derived
from tests.records_builder import LEVELS_MS, make_run, with_turns


def test_a_batch_that_gains_nothing_saturates() -> None:
    (found,) = derived(make_run(models=("resnet50",), noise_scale=0.0)).saturation
    assert (found.batches, found.case.id) == ((1, 8), "resnet50/throughput/fp32/b8/t2/cpu")
    arms = {arm.arm: arm for arm in found.arms}
    assert LEVELS_MS["resnet50", 8][4] > 8 * LEVELS_MS["resnet50", 1][4], "JAX is slower an item with the larger batch"
    assert arms["jax"].saturates_at == 1
    assert arms["jax"].gain == pytest.approx(1.0)
    assert arms["torch"].saturates_at is None
    assert arms["torch"].gain == pytest.approx(47 / (281 / 8), rel=0.001)


@pytest.mark.parametrize(
    ("spans", "reached", "allowed"),
    [
        ({1: (90, 89, 91), 8: (100, 99, 101)}, 8, (8,)),
        ({1: (97, 96.5, 97.5), 8: (100, 99, 101)}, 1, (1,)),
        ({1: (90, 86, 94.1), 8: (100, 99, 101)}, 8, (1, 8)),
        ({1: (50, 45, 55), 4: (93, 91, 96), 8: (98, 95, 99), 32: (100, 99, 101)}, 8, (4, 8, 32)),
        ({1: (100, 99, 101), 8: (90, 89, 91)}, 1, (1,)),
        ({1: (100, None, None), 8: (90, 89, 91)}, 1, ()),
    ],
)
def test_what_the_intervals_allow_holds_what_was_found(
    spans: dict[int, tuple[float, float | None, float | None]], reached: int, allowed: tuple[int, ...]
) -> None:
    arm = saturation.reached("jax", "jax", {batch: Estimate(*span) for batch, span in spans.items()})
    assert arm.saturates_at == (None if reached == max(spans) else reached)
    assert arm.allowed == allowed
    assert reached in allowed or not allowed


def waiting_run(shares: dict[str, float], *, model: str = "resnet50") -> Run:
    """A record in which each arm waited so much of its windows."""
    run = make_run(
        models=(model,), backends=tuple(shares), scenarios=("data-pipeline",), noise_scale=0.0, generations=5, rounds=2
    )

    def waited(turn: Turn) -> Turn:
        window = turn.window
        if window is None or turn.arm not in shares:
            return turn
        waited_ns = int(shares[turn.arm] * window.window_ns)
        return msgspec.structs.replace(turn, window=msgspec.structs.replace(window, waited_ns=waited_ns))

    return with_turns(run, waited)


def arms(run: Run) -> dict[str, ArmWait]:
    (found,) = analyse(run).insights.waiting
    return {arm.arm: arm for arm in found.arms}


def waiting_text(run: Run) -> str:
    (section,) = [each for each in insights.sections(analyse(run).insights) if each.title == "Waiting for data"]
    return " ".join(section.parts[0].listed).replace(units.NBSP, " ")


def test_shares_and_what_would_be_gained() -> None:
    found = arms(waiting_run({"torch": 0.75, "jax": 0.01}))
    assert found["torch"].share.value == pytest.approx(0.75, abs=1e-6)
    assert found["torch"].step_items_per_s == pytest.approx(4 * found["torch"].items_per_s, rel=1e-5)
    assert found["torch"].items_per_s == pytest.approx(8 / 281e-3, rel=1e-3)
    assert found["jax"].share.value == pytest.approx(0.01, abs=1e-6)


def test_who_is_starved_is_reported_so() -> None:
    text = waiting_text(waiting_run({"torch": 0.75, "jax": 0.2, "onnxruntime": 0.0}))
    assert "torch 75 % (75–75 %): 28.5 items/s, and up to 114 (4 times) if data came as fast as they are used" in text
    assert "jax 20 % (20–20 %): " in text
    assert "onnxruntime 0.0 % (" in text
    assert "The pipeline, not the model, sets the pace of torch: " in text


def test_where_data_come_fast_enough_it_says_what_little_is_to_be_gained() -> None:
    text = waiting_text(waiting_run({"torch": 0.02, "jax": 0.01}))
    assert "Data come fast enough: a faster pipeline would gain less than 2.0 %." in text


def test_windows_that_waited_for_nothing_or_longer_than_they_lasted_say_nothing() -> None:
    assert analyse(make_run(models=("resnet50",), scenarios=("data-pipeline",))).insights.waiting == ()
    assert analyse(waiting_run({"torch": 1.5})).insights.waiting == ()
    assert analyse(waiting_run({"torch": -0.5})).insights.waiting == ()
