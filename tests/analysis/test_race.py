"""The race of a block: who leaves, who goes on, and when nothing is left to find out."""

from collections.abc import Mapping

import msgspec

from suite.analysis import analyse
from suite.analysis.race import LEAD_PRECISION, Race, races
from suite.record.schema import Failure, Left, Run
from tests.records_builder import make_run

BEHIND = {"jax": 3.0, "tensorflow": 4.0}


def raced(**changed: object) -> Run:
    run = make_run(models=("resnet50",), scenarios=("latency",), slower=BEHIND, **changed)  # type: ignore[arg-type]
    return msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, races=True))


def race(run: Run) -> Race:
    (found,) = races(run).values()
    return found


def with_left(run: Run, left: Mapping[str, int]) -> Run:
    """Return a record in which arms left after so many generations."""
    (block,) = run.blocks
    kept = tuple(
        msgspec.structs.replace(
            generation,
            launches=tuple(each for each in generation.launches if number < left.get(each.arm, 99)),
            rounds=tuple(
                msgspec.structs.replace(
                    each, turns=tuple(turn for turn in each.turns if number < left.get(turn.arm, 99))
                )
                for each in generation.rounds
            ),
        )
        for number, generation in enumerate(block.generations)
    )
    gone = tuple(Left(arm, launches, ("openvino", "onnxruntime")) for arm, launches in left.items())
    return msgspec.structs.replace(run, blocks=(msgspec.structs.replace(block, generations=kept, left=gone),))


def test_arms_far_behind_leave_and_say_behind_whom() -> None:
    found = race(raced())
    gone = {left.arm: left for left in found.leaving}
    assert set(BEHIND) <= set(gone)
    assert all(left.launches == 5 and len(left.behind) >= 2 for left in gone.values())
    assert {"openvino", "onnxruntime"} <= set(found.arms)
    assert set(found.arms).isdisjoint(gone)


def test_too_few_launches_end_nothing() -> None:
    found = race(raced(generations=4))
    assert not found.leaving
    assert not found.settled
    assert found.half_width is None


def test_generations_that_may_not_count_in_the_end_make_nobody_leave() -> None:
    run = raced(generations=6)
    (block,) = run.blocks
    busy = tuple(
        msgspec.structs.replace(
            each, rounds=tuple(msgspec.structs.replace(round_, disturbed="busy") for round_ in each.rounds)
        )
        for each in block.generations[:2]
    )
    block = msgspec.structs.replace(block, generations=(*busy, *block.generations[2:]))
    assert race(run).leaving
    assert not race(msgspec.structs.replace(run, blocks=(block,))).leaving


def test_a_control_leaves_with_the_arm_that_it_repeats() -> None:
    found = race(raced(control="jax"))
    assert next(left for left in found.leaving if left.arm == "jax#2") == Left("jax#2", 5, ())


def test_a_race_is_over_when_every_lead_is_precise() -> None:
    few, many = (race(raced(generations=count)) for count in (5, 40))
    assert few.half_width is not None
    assert many.half_width is not None
    assert many.half_width < few.half_width
    assert not few.settled
    assert many.settled
    assert many.half_width <= LEAD_PRECISION
    assert race(raced(generations=6, noise_scale=0.01)).settled


def test_what_will_never_be_ranked_is_not_launched_again() -> None:
    broken = Failure(kind="unsupported", stage="load", message="no")
    found = race(raced(failures={("torch", "resnet50"): broken}, unequal=[("openvino", "resnet50")]))
    assert {"torch", "openvino"}.isdisjoint(found.arms)
    assert {"torch", "openvino"}.isdisjoint(left.arm for left in found.leaving)


def test_who_left_keeps_its_rank_and_the_record_says_when() -> None:
    run = with_left(raced(generations=12), {"jax": 5, "tensorflow": 5})
    (block,) = analyse(run).timed
    rows = {row.arm: row for row in block.rows}
    assert rows["jax"].left == Left("jax", 5, ("openvino", "onnxruntime"))
    assert rows["jax"].launches == 5
    assert rows["openvino"].launches == 12
    assert rows["openvino"].left is None
    assert rows["jax"].rank is not None
    assert rows["jax"].ratio is not None
    assert rows["jax"].verdict == "slower"
    assert not race(run).leaving or {"jax", "tensorflow"}.isdisjoint(left.arm for left in race(run).leaving)
