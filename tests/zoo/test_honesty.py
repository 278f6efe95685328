"""Two witnesses to a precision: what a framework says of itself, and the size of its error."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.record.measured import Computed
from levelfield.zoo import models, weights
from levelfield.zoo.honesty import LIKE, Finding, judge, judge_training, position
from levelfield.zoo.training import parity, trajectory
from levelfield.zoo.training.recipe import Errors

BF16 = {"bf16": 3e-3}


def said(**products: int) -> Computed:
    return Computed(products, "its graph")


def test_fp32_is_dishonest_by_its_own_word_however_small_its_error() -> None:
    found = judge("fp32", 5e-7, {}, said(bf16=50, fp32=4))
    assert not found.holds
    assert found.computed_in == "bf16"
    assert found.reason == "It was asked for fp32, and 50 of 54 products are in bf16 by its graph."


def test_a_wrong_answer_is_not_taken_for_a_lower_precision() -> None:
    assert judge("fp32", 5e-5, BF16, None).holds, "a wrong epsilon: its tolerance says that it is wrong"
    assert judge("fp32", 0.5, BF16, None).holds


def test_bf16_between_products_in_fp32_is_emulated() -> None:
    found = judge("bf16", 5e-3, BF16, said(fp32=7))
    assert found.holds
    assert found.computed_in == "bf16"
    assert found.emulated == "7 of 7 products are in fp32 by its graph"


@given(st.floats(1e-9, 1), st.floats(1e-6, 1e-1), st.sampled_from(["bf16", "int8", "fp16", "tf32"]))
def test_a_claim_of_a_lower_precision_holds_from_a_tenth_of_its_yardstick_on(
    error: float, yardstick: float, claimed: str
) -> None:
    assert judge(claimed, error, {claimed: yardstick}, None).holds == (error >= yardstick / LIKE)


MLP = models.get("mlp")
KNOWN = parity.sensitivities("mlp")
IN_FP32 = Errors(losses=1e-7, gradients=2e-7, weights=9e-6)
NOTHING = Errors(losses=math.inf, gradients=math.inf, weights=math.inf)
SOURCE = "a test"


@pytest.fixture(scope="module")
def in_bf16() -> Errors:
    """What the reference's own errors are where its products are in bf16."""
    made = weights.make(MLP)
    return parity.compare(trajectory.run(MLP, made, significand=8), trajectory.run(MLP, made))


def test_a_training_in_bf16_that_claims_fp32_is_found(in_bf16: Errors) -> None:
    finding = judge_training("fp32", in_bf16, KNOWN, None, equal=False)
    assert not finding.holds
    assert finding.computed_in in {"bf16", "fp16"}
    assert "asked to train in fp32" in finding.reason
    reported = judge_training("fp32", IN_FP32, KNOWN, Computed({"bf16": 17}, SOURCE), equal=True)
    assert (reported.holds, reported.computed_in) == (False, "bf16"), "what the framework says counts too"


def test_a_claim_that_holds(in_bf16: Errors) -> None:
    assert judge_training("bf16", in_bf16, KNOWN, None, equal=True).computed_in == "bf16"
    assert judge_training("fp32", IN_FP32, KNOWN, None, equal=True) == Finding("fp32", holds=True)
    emulated = judge_training("bf16", in_bf16, KNOWN, Computed({"fp32": 16, "bf16": 1}, SOURCE), equal=True)
    assert emulated.holds
    assert emulated.emulated == "16 of 17 products are in fp32 by a test"
    other = judge_training("bf16", in_bf16, KNOWN, Computed({"int8": 17}, SOURCE), equal=True)
    assert (other.holds, other.computed_in) == (False, "int8")


def test_a_wrong_training_in_fp32_is_not_called_dishonest_for_its_optimizer() -> None:
    """A mistake between the two, nearer to fp32; and errors that cannot be placed."""
    finding = judge_training("fp32", Errors(losses=3e-6, gradients=1e-7, weights=1e-4), KNOWN, None, equal=False)
    assert finding.holds
    assert judge_training("fp32", NOTHING, KNOWN, None, equal=False).holds
    assert math.isnan(position(NOTHING, KNOWN["fp32"], KNOWN["bf16"]))
