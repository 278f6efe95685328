"""The parts of a run's time."""

import math

import msgspec
import pytest

from levelfield.analysis.time_spent import ALONE, COUNTED, Part, TimeSpent, largest, summarise
from levelfield.record.schema import Startup
from tests.known import known
from tests.records_builder import make_run

RUN = make_run(models=["mlp"], scenarios=["latency"], generations=2, rounds=3, disturbed=[1])


def windows_s(*, disturbed: bool) -> float:
    """How long the windows of all arms took in rounds that were disturbed, or were not."""
    return (
        sum(
            turn.window.window_ns
            for block in RUN.blocks
            for generation in block.generations
            for each in generation.rounds
            for turn in each.turns
            if turn.window is not None and turn.arm != block.canary and bool(each.disturbed) is disturbed
        )
        / 1e9
    )


def parts(seconds: dict[str, float]) -> dict[str, float]:
    found = known(summarise(msgspec.structs.replace(RUN, time_spent_s=seconds)))
    assert math.isclose(sum(part.seconds for part in found.parts), found.seconds)
    assert math.isclose(sum(part.share for part in found.parts), 1)
    assert [part.seconds for part in found.parts] == sorted((part.seconds for part in found.parts), reverse=True)
    return {part.what: part.seconds for part in found.parts}


def test_windows_are_divided_into_those_that_count_and_the_others() -> None:
    counted, left_out = windows_s(disturbed=False), windows_s(disturbed=True)
    found = parts({"windows": counted + left_out + 2, "loading": 30.0, "other": 1.0})
    assert found == pytest.approx(
        {
            COUNTED: counted, "windows that do not count": left_out,
            "requests and unrecorded calls before windows": 2.0, "starting and loading workers": 30.0,
            "everything else": 1.0,
        }
    )  # fmt: skip


def test_cold_starts_cost_what_they_take_longer_one_at_a_time() -> None:
    run = make_run(models=["mlp"], backends=["jax", "onnxruntime", "torch"], scenarios=["cold-start"])
    (block,) = run.blocks
    launches = [
        msgspec.structs.replace(launch, startup=Startup(0, 10**9, 0, (seconds - 1) * 10**9, 0))
        for launch, seconds in zip(block.generations[0].launches, (2, 3, 4), strict=True)
    ]
    generation = msgspec.structs.replace(block.generations[0], launches=tuple(launches))
    two = msgspec.structs.replace(block.case, threads=2)
    block = msgspec.structs.replace(block, case=two, generations=(generation,))
    run = msgspec.structs.replace(run, blocks=(block,), time_spent_s={"cold starts": 10.0})
    found = known(summarise(run))
    assert {part.what: part.seconds for part in found.parts} == {ALONE: 4.5, "first launches": 5.5}


def test_windows_cannot_take_longer_than_they_did() -> None:
    """A record from a stranger may claim anything."""
    found = parts({"windows": 0.001, "loading": -5.0})
    assert found[COUNTED] <= 0.001


def test_small_parts_are_one_and_add_up_to_the_whole() -> None:
    parts = (Part("cold starts", 90.0, 0.9), Part("warm-up windows", 9.0, 0.09), Part("preparing", 1.0, 0.01))
    found = largest(TimeSpent(100.0, parts))
    assert found == (*parts[:2], Part("everything else", 1.0, 0.01))
    assert largest(TimeSpent(99.0, parts[:2])) == parts[:2]
