"""Two witnesses to a precision: what a framework says of itself, and the size of its error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.record.measured import Computed
from levelfield.zoo.honesty import LIKE, judge

BF16 = {"bf16": 3e-3}


def said(**products: int) -> Computed:
    return Computed(products, "its graph")


def test_fp32_is_dishonest_by_its_own_word_however_small_its_error() -> None:
    found = judge("fp32", 5e-7, {}, said(bf16=50, fp32=4))
    assert not found.holds
    assert found.computed_in == "bf16"
    assert found.reason == "It was asked for fp32, and 50 of 54 products are in bf16 by its graph."


def test_fp32_is_dishonest_by_the_size_of_its_error_where_nothing_is_said() -> None:
    found = judge("fp32", 4.1e-3, {"bf16": 3e-3, "tf32": 4e-4}, None)
    assert not found.holds
    assert found.computed_in == "bf16"
    assert "4.1e-03 is of the size that bf16 makes" in found.reason


def test_a_wrong_answer_is_not_taken_for_a_lower_precision() -> None:
    assert judge("fp32", 5e-5, BF16, None).holds, "a wrong epsilon: its tolerance says that it is wrong"
    assert judge("fp32", 0.5, BF16, None).holds


@pytest.mark.parametrize("computed", [None, said(fp32=7), said(bf16=7)])
def test_bf16_without_its_error_was_computed_in_fp32(computed: Computed | None) -> None:
    found = judge("bf16", 4e-7, BF16, computed)
    assert not found.holds
    assert found.computed_in == "fp32"
    assert found.reason.startswith("It was asked for bf16 and computed in fp32")


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
