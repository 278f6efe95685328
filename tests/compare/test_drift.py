"""Numerical drift: the same bits, rounding, or something else; and what a failure is."""

from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield.compare.comparison import compare_runs
from levelfield.compare.drift import KNOWN_ERRORS
from levelfield.compare.types import Drift, Movement, Verdict
from levelfield.record.schema import Accuracy, DataSet, Failure, Parity, Run
from levelfield.zoo import parity as zoo_parity
from tests.compare.runs import one, only, reduced, row, run, with_machine, with_parity
from tests.records_builder import with_launches

OUTPUT = np.random.default_rng(1).standard_normal((4, 1000))


def parity_of(output: np.ndarray, **changes: object) -> Parity:
    return msgspec.structs.replace(
        Parity(
            equal=True, relative_error=3e-7, centred_error=4e-7, max_abs_error=1e-6, tolerance=1e-5, inputs=4,
            projection=zoo_parity.project(output), output_sha256=str(hash(output.tobytes())),
        ),
        **changes,
    )  # fmt: skip


def drift(old: Parity | None, new: Parity | None, *, elsewhere: bool = False) -> Drift:
    def given(record: Run, parity: Parity | None) -> Run:
        return with_launches(record, lambda launch: msgspec.structs.replace(launch, parity=parity))

    before, after = given(run("a", backends=["jax"]), old), given(run("b", backends=["jax"]), new)
    if elsewhere:
        after = with_machine(after, cpu={"model": "another"})
    found: Drift = only(compare_runs([reduced(before)], [reduced(after)]).drifts)
    return found


def moved(share: float) -> np.ndarray:
    """The output, moved by this share of its length in a random direction."""
    direction = np.random.default_rng(2).standard_normal(OUTPUT.shape)
    found: np.ndarray = OUTPUT + direction * share * np.linalg.norm(OUTPUT) / np.linalg.norm(direction)
    return found


def test_the_same_bits_are_the_same() -> None:
    found = drift(parity_of(OUTPUT), parity_of(OUTPUT))
    assert (found.movement, found.outcome, found.distance) == (Movement.IDENTICAL, "fine", 0.0)


@pytest.mark.parametrize("share", [1e-7, 5e-7, 1.2e-6])
def test_rounding_is_no_failure_and_its_size_is_reported(share: float) -> None:
    found = drift(parity_of(OUTPUT), parity_of(moved(share)))
    assert (found.movement, found.outcome) == (Movement.WITHIN, "fine")
    assert found.distance == pytest.approx(share, rel=0.3)
    assert found.limit == pytest.approx(2 * KNOWN_ERRORS["fp32"])


@pytest.mark.parametrize("share", [4e-6, 1e-3])
def test_more_than_rounding_is_worse_even_where_it_is_equal(share: float) -> None:
    found = drift(parity_of(OUTPUT), parity_of(moved(share), relative_error=share))
    assert (found.movement, found.outcome) == (Movement.BEYOND, "worse")
    assert found.distance == pytest.approx(share, rel=0.3)


def test_old_answers_that_round_more_allow_more() -> None:
    found = drift(parity_of(OUTPUT, relative_error=4e-6), parity_of(moved(4e-6)))
    assert found.movement is Movement.WITHIN
    assert found.limit == pytest.approx(8e-6)


def test_other_processors_round_otherwise() -> None:
    found = drift(parity_of(OUTPUT), parity_of(moved(1e-3)), elsewhere=True)
    assert (found.movement, found.outcome) == (Movement.BEYOND, "undecided")


UNEQUAL = {"equal": False, "relative_error": 5e-4, "reason": "The relative error is 5.0e-04."}


@pytest.mark.parametrize("elsewhere", [False, True])
def test_an_answer_that_became_unequal_is_a_failure_anywhere(elsewhere: bool) -> None:
    found = drift(parity_of(OUTPUT), parity_of(moved(5e-4), **UNEQUAL), elsewhere=elsewhere)
    assert (found.movement, found.outcome) == (Movement.BECAME_UNEQUAL, "worse")
    assert (found.reason, found.old_error, found.new_error) == ("The relative error is 5.0e-04", 3e-7, 5e-4)


def test_one_old_launch_that_was_unequal_hides_no_answer_that_moved() -> None:
    seen = [0]

    def spoil(parity: Parity) -> Parity:
        seen[0] += 1
        equal = seen[0] != 3
        return msgspec.structs.replace(parity_of(OUTPUT), equal=equal, reason="" if equal else "It is off.")

    old = reduced(with_parity(run("a"), "jax", spoil))
    new = reduced(with_parity(run("b"), "jax", lambda _: parity_of(moved(1e-3))))
    assert {each.movement for each in compare_runs([old], [new]).drifts if each.new_arm == "jax"} == {Movement.BEYOND}


def test_one_unequal_launch_is_enough() -> None:
    record = with_parity(run("b"), "jax", lambda parity: parity)
    seen = [0]

    def spoil(parity: Parity) -> Parity:
        seen[0] += 1
        return msgspec.structs.replace(parity, equal=False, output_sha256="other") if seen[0] == 3 else parity

    found = compare_runs([reduced(run("a"))], [reduced(with_parity(record, "jax", spoil))])
    assert {drift.new_arm: drift.movement for drift in found.drifts} == {
        "jax": Movement.BECAME_UNEQUAL,
        "onnxruntime": Movement.IDENTICAL,
    }
    assert found.exit_code == 1


def test_unequal_on_both_sides_and_equal_again() -> None:
    assert drift(parity_of(OUTPUT, **UNEQUAL), parity_of(OUTPUT, **UNEQUAL)).movement is Movement.UNEQUAL
    again = drift(parity_of(OUTPUT, **UNEQUAL), parity_of(moved(5e-4)))
    assert (again.movement, again.outcome) == (Movement.BECAME_EQUAL, "fine")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (None, parity_of(OUTPUT), "the old side did not compare"),
        (parity_of(OUTPUT), parity_of(moved(1e-7), inputs=8), "another number of inputs"),
        (parity_of(OUTPUT, projection=(0.0,) * 64), parity_of(moved(1e-7)), "zero everywhere"),
        (parity_of(OUTPUT), parity_of(OUTPUT, projection=(1e308,) * 64, output_sha256="x"), "no numbers of an output"),
    ],
)
def test_what_cannot_be_told_is_said_to_be_so(old: Parity | None, new: Parity | None, says: str) -> None:
    found = drift(old, new)
    assert (found.movement, found.outcome) == (Movement.UNKNOWN, "undecided")
    assert says in found.reason


def test_answers_to_other_inputs_are_not_compared() -> None:
    after = with_launches(run("b"), lambda launch: msgspec.structs.replace(launch, inputs_sha256="f" * 64))
    after = with_parity(after, "jax", lambda parity: msgspec.structs.replace(parity, output_sha256="x"))
    found = {drift.new_arm: drift for drift in compare_runs([reduced(run("a"))], [reduced(after)]).drifts}
    assert found["jax"].movement is Movement.UNKNOWN
    assert "the inputs are not the same" in found["jax"].reason


def test_answers_to_a_data_set_that_got_worse_are_no_success() -> None:
    def judged(name: str, right: int, **change: Any) -> Run:
        answered = Accuracy(
            "imagenet", "mlp", "fp32", "cpu", 1, "jax", right={"top-1": (1,) * right + (0,) * (40 - right)}
        )
        items = DataSet("imagenet", "ImageNet", "mlp", ("top-1",), "0" * 64, 50, tuple(range(40)))
        accuracies = (msgspec.structs.replace(answered, **change),)
        return msgspec.structs.replace(run(name), data_sets=(items,), accuracies=accuracies)

    old = judged("old", 38)
    assert row(one(old, judged("new", 36)), "jax").outcome == "undecided"
    for new, says in (
        (judged("new", 20), "20 of 40 items of imagenet are right, and 38 were"),
        (judged("new", 38, failure=Failure("measure", "crashed", "It ended.")), "its answers to imagenet failed"),
    ):
        found = one(old, new)
        assert (found.exit_code, row(found, "jax").verdict, row(found, "jax").reason) == (1, Verdict.UNEQUAL, says)
        assert row(found, "onnxruntime").outcome == "undecided"
