import msgspec
import pytest

from levelfield.analysis import accuracy
from levelfield.record.schema import Accuracy, DataSet, MetricName, Run
from levelfield.statistics.proportions import compare, proportion
from tests.judged import ITEMS, judged_run
from tests.known import known


def test_shares_have_exact_intervals() -> None:
    (found,) = accuracy.summarise(judged_run())
    row = next(each for each in found.rows if (each.arm, each.precision) == ("torch", "fp32"))
    expected = proportion(ITEMS - 2, ITEMS)
    assert row.scores[0] == accuracy.Score("top-1", expected.share, expected.low, expected.high)
    assert row.scores[1].value == (ITEMS - 1) / ITEMS


def test_arms_are_held_against_what_most_answered() -> None:
    (found,) = accuracy.summarise(judged_run())
    others = {(row.arm, row.precision): row.others for row in found.rows}
    assert others == {
        ("torch", "fp32"): 0, ("jax", "fp32"): 1, ("onnxruntime", "fp32"): 0, ("torch", "bf16"): None,
        ("jax", "bf16"): None,
    }  # fmt: skip
    (split,) = found.splits
    assert (split.precision, split.arms, split.items) == ("fp32", 3, (102,))


def test_a_precision_is_compared_with_the_same_arm_in_fp32() -> None:
    (found,) = accuracy.summarise(judged_run())
    first = found.losses[0]
    expected = compare(5, 1, ITEMS)
    assert (first.arm, first.precision, first.metric) == ("torch", "bf16", "top-1")
    assert (first.lost, first.gained, first.changed) == (5, 1, 6)
    assert (first.difference, first.low, first.high, first.p) == (
        expected.difference, expected.low, expected.high, expected.p,
    )  # fmt: skip
    assert {each.arm for each in found.losses} == {"torch"}


def test_a_failure_is_shown_as_one() -> None:
    (found,) = accuracy.summarise(judged_run())
    row = found.rows[-1]
    assert (row.scores, row.failure) == ((), "jax does not compute resnet50 in bf16.")


def of_texts(metrics: tuple[MetricName, ...], *given: Accuracy, **fields: object) -> accuracy.Judgement:
    known = DataSet("glue-x", "X", "bert-classifier-2", metrics, "ab" * 32, 9, tuple(range(40)))
    known = msgspec.structs.replace(known, **fields)
    run: Run = msgspec.structs.replace(judged_run(), data_sets=(known,), accuracies=given)
    (found,) = accuracy.summarise(run)
    return found


def test_f1_of_words_is_drawn_again_in_pairs() -> None:
    shares = tuple(place / 39 for place in range(40))
    lower = tuple(max(0.0, share - 0.1) for share in shares)

    def given(precision: str, values: tuple[float, ...]) -> Accuracy:
        return Accuracy(
            "glue-x", "bert-classifier-2", precision, "cpu", 1, "jax", (1,) * 40, shares={"F1 of words": values}
        )

    found = of_texts(("F1 of words",), given("fp32", shares), given("bf16", lower))
    score, loss = found.rows[0].scores[0], found.losses[0]
    assert score.value == pytest.approx(0.5)
    assert 0.35 < known(score.low) < 0.45
    assert 0.55 < known(score.high) < 0.65
    # What the items have in common cancels.
    assert -0.1 <= known(loss.low) <= loss.difference <= known(loss.high) < -0.08
    assert loss.p is None


def test_measures_of_classes_and_of_scores() -> None:
    labels = tuple(place % 2 for place in range(40))
    answers = tuple(1 - label if place % 10 == 0 else label for place, label in enumerate(labels))
    given = Accuracy("glue-x", "bert-classifier-2", "fp32", "cpu", 1, "jax", answers)
    found = of_texts(("F1", "Matthews correlation"), given, labels=labels)
    f1, matthews = found.rows[0].scores
    assert f1.value == pytest.approx(2 * 20 / (20 + 24))
    assert matthews.value == pytest.approx((20 * 16 - 4 * 0) / (20 * 20 * 24 * 16) ** 0.5)
    assert matthews.low is not None

    truth = tuple(float(place) for place in range(40))
    exact = Accuracy("glue-x", "bert-classifier-2", "fp32", "cpu", 1, "jax", scores=truth)
    found = of_texts(("Pearson correlation", "Spearman correlation"), exact, scores=truth)
    assert [each.value for each in found.rows[0].scores] == pytest.approx([1.0, 1.0])
    assert found.rows[0].others is None
    flat = Accuracy("glue-x", "bert-classifier-2", "fp32", "cpu", 1, "jax", scores=(1.0,) * 40)
    assert of_texts(("Pearson correlation",), flat, scores=truth).rows[0].scores[0].value is None


def test_what_a_record_lacks_is_not_made_up() -> None:
    given = Accuracy("glue-x", "bert-classifier-2", "fp32", "cpu", 1, "jax", (1,) * 40)
    (score,) = of_texts(("Spearman correlation",), given).rows[0].scores
    assert score == accuracy.Score("Spearman correlation", None, None, None)
