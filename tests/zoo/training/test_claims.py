"""What a training says that it was computed in is held against its errors, both ways."""

import math

import pytest

from levelfield.record.measured import Computed
from levelfield.zoo import models, weights
from levelfield.zoo.honesty import Finding
from levelfield.zoo.training import claims, parity, trajectory
from levelfield.zoo.training.recipe import Errors

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
    finding = claims.judge("fp32", in_bf16, KNOWN, None, equal=False)
    assert not finding.holds
    assert finding.computed_in in {"bf16", "fp16"}
    assert "asked to train in fp32" in finding.reason
    reported = claims.judge("fp32", IN_FP32, KNOWN, Computed({"bf16": 17}, SOURCE), equal=True)
    assert (reported.holds, reported.computed_in) == (False, "bf16"), "what the framework says counts too"


@pytest.mark.parametrize("claimed", ["bf16", "fp16"])
def test_a_training_in_fp32_that_claims_less_is_found(claimed: str) -> None:
    for said in (None, Computed({claimed: 17}, SOURCE)):
        finding = claims.judge(claimed, IN_FP32, KNOWN, said, equal=True)
        assert (finding.holds, finding.computed_in) == (False, "fp32")
        assert f"asked to train in {claimed} and computed in fp32" in finding.reason


def test_a_claim_that_holds(in_bf16: Errors) -> None:
    assert claims.judge("bf16", in_bf16, KNOWN, None, equal=True).computed_in == "bf16"
    assert claims.judge("fp32", IN_FP32, KNOWN, None, equal=True) == Finding("fp32", holds=True)
    emulated = claims.judge("bf16", in_bf16, KNOWN, Computed({"fp32": 16, "bf16": 1}, SOURCE), equal=True)
    assert emulated.holds
    assert emulated.emulated == "16 of 17 products are in fp32 by a test"
    other = claims.judge("bf16", in_bf16, KNOWN, Computed({"int8": 17}, SOURCE), equal=True)
    assert (other.holds, other.computed_in) == (False, "int8")


def test_a_wrong_training_in_fp32_is_not_called_dishonest_for_its_optimizer() -> None:
    """A mistake between the two, nearer to fp32; and errors that cannot be placed."""
    finding = claims.judge("fp32", Errors(losses=3e-6, gradients=1e-7, weights=1e-4), KNOWN, None, equal=False)
    assert finding.holds
    assert claims.judge("fp32", NOTHING, KNOWN, None, equal=False).holds
    assert math.isnan(claims.position(NOTHING, KNOWN["fp32"], KNOWN["bf16"]))
