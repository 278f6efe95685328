"""Waiting for data, from made-up windows that waited: shares, what would be gained, and the advice that follows."""

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.analysis.types import ArmWait
from levelfield.record.schema import Round, Run, Turn, Window
from levelfield.report import insights, units
from tests.records_builder import make_run


def waiting_run(shares: dict[str, float], *, model: str = "resnet50") -> Run:
    """A record in which each arm waited so much of its windows."""
    run = make_run(
        models=(model,), backends=tuple(shares), scenarios=("data-pipeline",), noise_scale=0.0, generations=5, rounds=2
    )

    def waited(turn: Turn) -> Turn:
        window: Window | None = turn.window
        if window is None or turn.arm not in shares:
            return turn
        return msgspec.structs.replace(
            turn, window=msgspec.structs.replace(window, waited_ns=int(shares[turn.arm] * window.window_ns))
        )

    def all_of(each: Round) -> Round:
        return msgspec.structs.replace(each, turns=tuple(map(waited, each.turns)))

    blocks = tuple(
        msgspec.structs.replace(
            block,
            generations=tuple(
                msgspec.structs.replace(generation, rounds=tuple(map(all_of, generation.rounds)))
                for generation in block.generations
            ),
        )
        for block in run.blocks
    )
    return msgspec.structs.replace(run, blocks=blocks)


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


def test_between_the_two_no_pace_is_set() -> None:
    assert "More workers or cheaper decoding gain at most the factor above." in waiting_text(
        waiting_run({"torch": 0.2})
    )


def test_windows_that_waited_for_nothing_or_longer_than_they_lasted_say_nothing() -> None:
    assert analyse(make_run(models=("resnet50",), scenarios=("data-pipeline",))).insights.waiting == ()
    assert analyse(waiting_run({"torch": 1.5})).insights.waiting == ()
    assert analyse(waiting_run({"torch": -0.5})).insights.waiting == ()
