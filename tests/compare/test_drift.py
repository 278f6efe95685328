"""Numerical drift: the same bits, rounding, or something else; and what a failure is."""

from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield.analysis.summary import Reduced
from levelfield.compare.comparison import compare_runs
from levelfield.compare.drift import KNOWN_ERRORS
from levelfield.compare.types import Drift, Movement, Verdict
from levelfield.record.schema import Accuracy, DataSet, Failure, Generation, Parity, Run
from levelfield.zoo import parity as zoo_parity
from tests.compare.runs import one, only, reduced, row, run, with_machine, with_parity
from tests.records_builder import with_generations, with_launches

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
        (judged("new", 20), "its top-1 on imagenet is 0.5, and was 0.95"),
        (judged("new", 38, failure=Failure("measure", "crashed", "It ended.")), "its answers to imagenet failed"),
    ):
        found = one(old, new)
        assert (found.exit_code, row(found, "jax").verdict, row(found, "jax").reason) == (1, Verdict.MOVED, says)
        assert row(found, "onnxruntime").outcome == "undecided"


ITEMS = 200
SCORES = tuple(float(item % 5) for item in range(ITEMS))
CLASSES = tuple(item % 2 for item in range(ITEMS))


def answering(name: str, metric: str, *, items: int = ITEMS, **answers: Any) -> Run:
    truth: dict[str, Any] = {"scores": SCORES} if "scores" in answers else {"labels": CLASSES[:items]}
    known = DataSet("set", "Set", "mlp", (metric,), "0" * 64, 1000, tuple(range(items)), **truth)  # type: ignore[arg-type]
    given = (Accuracy("set", "mlp", "fp32", "cpu", 1, "jax", **answers),) if answers else ()
    return msgspec.structs.replace(run(name), data_sets=(known,), accuracies=given)


@pytest.mark.parametrize(
    ("metric", "before", "after"),
    [
        ("F1 of words", {"shares": {"F1 of words": (0.9,) * ITEMS}}, {"shares": {"F1 of words": (0.0,) * ITEMS}}),
        ("Pearson correlation", {"scores": SCORES}, {"scores": tuple(float(each * 7 % 11) for each in range(ITEMS))}),
        ("Pearson correlation", {"scores": SCORES}, {"scores": (1.0,) * ITEMS}),
        ("Matthews correlation", {"answers": CLASSES}, {"answers": (1,) * ITEMS}),
        ("accuracy", {"right": {"accuracy": (1,) * ITEMS}}, {"right": {"accuracy": CLASSES}}),
    ],
)
def test_answers_that_collapse_are_worse_by_every_measure(
    metric: str, before: dict[str, Any], after: dict[str, Any]
) -> None:
    whole = [answering(name, metric, **before) for name in ("old", "again")]
    assert row(compare_runs([reduced(whole[0])], [reduced(whole[1])]), "jax").outcome == "undecided"
    for new in ([answering("new", metric, **after)], [whole[1], answering("new", metric, **after)]):
        found = compare_runs([reduced(whole[0])], [reduced(each) for each in new])
        assert found.exit_code == 1
        assert f"its {metric} on set is " in found.answer
        assert "slower" not in found.answer


def test_answers_to_other_items_or_none_are_no_success() -> None:
    right = {"accuracy": (1,) * ITEMS}
    old = [reduced(answering(f"old-{number}", "accuracy", right=right)) for number in range(3)]
    changes: dict[str, dict[str, Any]] = {
        "other": {"items": 150, "right": {"accuracy": (1,) * 150}}, "none": {}, "same": {"right": right},
    }  # fmt: skip
    for name, change in changes.items():
        new = [reduced(answering(f"{name}-{number}", "accuracy", **change)) for number in range(3)]
        found = compare_runs(old, new)
        expected = (0, "fine") if name == "same" else (3, "undecided")
        assert (found.exit_code, row(found, "jax").outcome) == expected, name
        assert row(found, "onnxruntime").outcome == "fine"


def test_the_worst_of_some_old_answers_excuses_none() -> None:
    def side(name: str, *right: int) -> list[Any]:
        return [
            reduced(answering(f"{name}-{at}", "accuracy", right={"accuracy": (1,) * many + (0,) * (ITEMS - many)}))
            for at, many in enumerate(right)
        ]

    new = side("new", 60, 60, 60)
    assert [compare_runs(side("old", *old), new).exit_code for old in ((190, 190, 60), (60, 190, 190))] == [1, 1]


def test_answers_of_the_control_are_the_arms_own() -> None:
    old, plain = run("old", backends=["jax"], control="jax"), run("new", backends=["jax"], control="jax")
    assert one(old, plain).exit_code == 3
    wrong = with_parity(
        plain, "jax#2", lambda each: msgspec.structs.replace(each, equal=False, output_sha256="x", reason="far off")
    )
    found = one(old, wrong)
    assert (found.exit_code, only(found.drifts).movement) == (1, Movement.BECAME_UNEQUAL)
    assert (row(found, "jax").verdict, row(found, "jax").reason) == (Verdict.UNEQUAL, "jax#2: far off")
    crashed = Failure("measure", "crashed", "It died.")
    dying = with_launches(plain, lambda each: msgspec.structs.replace(each, failure=crashed), "jax#2")
    assert (one(old, dying).exit_code, row(one(old, dying), "jax").verdict) == (1, Verdict.FAILED)


def test_an_old_side_that_moved_itself_makes_no_new_answer_identical() -> None:
    """As where the old stack is measured after the new one, and answers as that did."""

    def answered(name: str, far: float) -> Reduced:
        return reduced(with_parity(run(name, backends=["jax"]), "jax", lambda _: parity_of(moved(far))))

    old, new = [answered("a", 0.0), answered("b", 8e-6)], answered("c", 8e-6)
    assert only(compare_runs(old, [new]).drifts).movement is Movement.BEYOND
    assert only(compare_runs(old[1:], [new]).drifts).movement is Movement.IDENTICAL


@pytest.mark.parametrize("last", [2, 11])
def test_an_output_that_moved_is_found_in_whichever_launch(last: int) -> None:
    def launches(name: str, share: float) -> Run:
        def change(generation: Generation) -> Generation:
            far = share if generation.index == last else 1e-8 * generation.index
            made = parity_of(moved(far), output_sha256=f"{name} {generation.index}")
            given = (msgspec.structs.replace(each, parity=made) for each in generation.launches)
            return msgspec.structs.replace(generation, launches=tuple(given))

        return with_generations(run(name, backends=["jax"], generations=12), change)

    found = [one(launches("old", 1e-8), launches("new", share)).drifts for share in (1e-8, 8e-6)]
    assert [only(each).movement for each in found] == [Movement.WITHIN, Movement.BEYOND]
