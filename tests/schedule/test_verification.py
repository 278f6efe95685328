"""What a worker says of its outputs is compared, never believed."""

import hashlib
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.backends.info import PRECISIONS
from suite.record.schema import Absent, Arm, Case, Computed
from suite.schedule.verification import (
    VERIFY_INPUTS,
    compare_outputs,
    judge_training,
    known_computed,
    remember_computed,
    verify_count,
)
from suite.worker.messages import Trained, Verified
from suite.zoo import honesty
from suite.zoo.training import update
from suite.zoo.training.trajectory import Trajectory
from tests.canaries import plan, site

REFERENCE = np.linspace(-1.0, 1.0, 12).reshape(4, 3)


def said(output: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> Verified:
    return Verified(output.shape, output.astype("<f4").tobytes())


def test_the_same_answer_is_equal() -> None:
    parity = compare_outputs(said(REFERENCE), REFERENCE, "fp32")
    assert parity.equal
    assert parity.inputs == 4
    assert isinstance(parity.relative_error, float)
    assert 0 < parity.relative_error < 1e-7
    assert isinstance(parity.centred_error, float)
    assert isinstance(parity.max_abs_error, float)
    assert len(parity.projection) == 64
    assert parity.output_sha256 == hashlib.sha256(REFERENCE.astype("<f4").tobytes()).hexdigest()


@pytest.mark.parametrize(
    "output",
    [REFERENCE * 1.001, REFERENCE + 1e-3, REFERENCE[::-1], REFERENCE.mean(axis=0, keepdims=True) + 0 * REFERENCE],
)
def test_another_answer_is_not(output: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> None:
    parity = compare_outputs(said(output), REFERENCE, "fp32")
    assert not parity.equal
    assert parity.reason
    assert isinstance(parity.relative_error, float)
    assert len(parity.projection) == 64


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_an_answer_that_is_no_number(bad: float) -> None:
    output = REFERENCE.copy()
    output[1, 1] = bad
    parity = compare_outputs(said(output), REFERENCE, "fp32")
    assert not parity.equal
    for error in (parity.relative_error, parity.centred_error, parity.max_abs_error):
        assert isinstance(error, Absent)
        assert error.reason
    assert parity.projection == ()


@pytest.mark.parametrize(
    "verified",
    [
        Verified((4, 3), b""),
        Verified((), b""),
        Verified((0,), b""),
        Verified((4, 3), REFERENCE.astype("<f4").tobytes()[:-1]),
        Verified((4, 3), REFERENCE.astype("<f4").tobytes() + b"x"),
        Verified((3, 4), REFERENCE.astype("<f4").tobytes()),
        Verified((12,), REFERENCE.astype("<f4").tobytes()),
        Verified((-4, -3), REFERENCE.astype("<f4").tobytes()),
        Verified((-1,), REFERENCE.astype("<f4").tobytes()),
        Verified((2**62, 2**62), REFERENCE.astype("<f4").tobytes()),
        Verified((4, 3), REFERENCE.astype("<f8").tobytes()),
    ],
)
def test_what_is_not_of_the_references_shape(verified: Verified) -> None:
    parity = compare_outputs(verified, REFERENCE, "fp32")
    assert not parity.equal
    assert "shape" in parity.reason


@given(st.integers(1, 100_000), st.sampled_from(["mlp", "resnet50", "bert"]), st.sampled_from(PRECISIONS))
def test_outputs_are_compared_in_whole_batches(batch: int, model: str, precision: str) -> None:
    count = verify_count(Case(model, "throughput", precision, batch, 1))
    assert count % batch == 0
    assert count >= VERIFY_INPUTS
    assert count < 64 + batch
    assert precision != "fp32" or count < VERIFY_INPUTS + batch


@pytest.mark.parametrize(
    ("model", "precision", "count"),
    [("mlp", "fp32", 2), ("mlp", "bf16", 64), ("resnet50", "bf16", 2), ("resnet50", "int8", 16), ("bert", "int8", 2)],
)
def test_enough_is_compared_to_tell_the_size_of_an_error(model: str, precision: str, count: int) -> None:
    assert verify_count(Case(model, "latency", precision, 1, 1)) == count


def sized(error: float) -> Verified:
    """Return an answer that far from the reference, with directions of its own."""
    noise = np.random.default_rng(3).standard_normal(REFERENCE.shape)
    return said(REFERENCE + noise * error * np.linalg.norm(REFERENCE) / np.linalg.norm(noise))


SIZES = {"bf16": 4e-3, "tf32": 5e-4, "int8": 2e-2}


def test_full_precision_with_the_error_of_a_lower_one_is_called_dishonest() -> None:
    parity = compare_outputs(sized(5e-3), REFERENCE, "fp32", yardstick=SIZES.__getitem__)
    assert not parity.equal
    assert parity.computed_in == "bf16"
    assert "asked for fp32" in parity.reason
    assert "size that bf16 makes" in parity.reason


def test_an_error_of_no_precision_is_an_error() -> None:
    parity = compare_outputs(sized(0.5), REFERENCE, "fp32", yardstick=SIZES.__getitem__)
    assert not parity.equal
    assert parity.computed_in == "fp32"
    assert "over the tolerance" in parity.reason


def test_a_lower_precision_without_its_error_was_computed_in_full() -> None:
    parity = compare_outputs(sized(4e-7), REFERENCE, "bf16", yardstick=SIZES.__getitem__)
    assert not parity.equal
    assert parity.computed_in == "fp32"
    assert "computed in fp32" in parity.reason
    assert parity.rounding_error == 4e-3


def test_a_lower_precision_with_its_error_is_what_it_says() -> None:
    parity = compare_outputs(sized(6e-3), REFERENCE, "bf16", yardstick=SIZES.__getitem__)
    assert parity.equal, parity.reason
    assert parity.computed_in == "bf16"
    assert isinstance(parity.cosine, float)
    assert parity.cosine == pytest.approx(1, abs=1e-4)
    assert parity.top_1 == 1


def test_no_yardstick_is_asked_for_where_fp32_holds() -> None:
    nothing: dict[str, float] = {}
    parity = compare_outputs(said(REFERENCE), REFERENCE, "fp32", yardstick=nothing.__getitem__)
    assert parity.equal
    assert parity.computed_in == "fp32"


TRAINED = Trained(losses=(2.0, 1.5, 1.0), gradients=(3.0, 4.0), weights=(1.0,) * 16, statistics=())
TRAJECTORY = Trajectory(TRAINED.losses, TRAINED.gradients, TRAINED.weights)
FOLLOWED = update.Judgement(error=5e-8, tolerance=2e-6, reason="")


def test_the_same_training_is_equal() -> None:
    parity = judge_training(TRAINED, FOLLOWED, TRAJECTORY, "mlp")
    assert parity.equal
    assert parity.relative_error == 0
    assert parity.projection == TRAINED.losses
    assert parity.training is not None
    assert parity.training.reference == TRAJECTORY.losses
    assert isinstance(parity.training.errors.statistics, Absent)
    assert parity.inputs == 3 * 32
    assert (parity.training.errors.update, parity.training.tolerances.update) == (5e-8, 2e-6)


@pytest.mark.parametrize("error", [3e-6, math.inf])
def test_the_same_steps_by_another_update_rule_are_not_equal(error: float) -> None:
    otherwise = update.Judgement(error=error, tolerance=2e-6, reason="Its optimizer does not follow the recipe.")
    parity = judge_training(TRAINED, otherwise, TRAJECTORY, "mlp")
    assert not parity.equal
    assert parity.reason == otherwise.reason
    assert parity.relative_error == 0
    assert parity.training is not None
    assert isinstance(parity.training.errors.update, Absent) == math.isinf(error)
    both = judge_training(msgspec.structs.replace(TRAINED, weights=(2.0,) * 16), otherwise, TRAJECTORY, "mlp")
    assert both.reason.startswith("Its optimizer does not follow the recipe. It does not train as the reference does:")


@pytest.mark.parametrize(
    "changes",
    [
        {"losses": (2.0, 1.5, 1.01)},
        {"losses": (2.0, 1.5)},
        {"losses": ()},
        {"losses": (2.0, math.nan, 1.0)},
        {"losses": (2.0, math.inf, 1.0)},
        {"gradients": (3.0, 4.01)},
        {"gradients": (0.0, 0.0)},
        {"weights": (1.0,) * 15},
        {"weights": (-1.0,) * 16},
        {"weights": (1e308,) * 16},
    ],
)
def test_another_training_is_not(changes: dict[str, tuple[float, ...]]) -> None:
    parity = judge_training(msgspec.structs.replace(TRAINED, **changes), FOLLOWED, TRAJECTORY, "mlp")
    assert not parity.equal
    assert parity.reason
    assert parity.training is not None
    assert msgspec.json.decode(msgspec.json.encode(parity), type=type(parity)).reason == parity.reason


def test_the_same_training_in_another_precision_than_it_claims_is_not_equal() -> None:
    """Errors as fp32 makes them: within bf16's tolerance, and yet no bf16."""
    exact = judge_training(TRAINED, FOLLOWED, TRAJECTORY, "mlp", "bf16")
    assert not exact.equal
    assert exact.computed_in == "fp32"
    assert exact.reason.startswith("It was asked to train in bf16 and computed in fp32")
    moved = {
        name: tuple(each * (1 + 5e-3) for each in getattr(TRAINED, name)) for name in ("losses", "gradients", "weights")
    }
    rounded = msgspec.structs.replace(TRAINED, **moved)
    assert judge_training(rounded, FOLLOWED, TRAJECTORY, "mlp", "bf16").equal
    emulated = msgspec.structs.replace(rounded, computed=honesty.Computed({"fp32": 17}, "a test"))
    assert "17 of 17 products" in judge_training(emulated, FOLLOWED, TRAJECTORY, "mlp", "bf16").emulated
    hidden = judge_training(rounded, FOLLOWED, TRAJECTORY, "mlp")
    assert not hidden.equal
    assert hidden.computed_in in {"bf16", "fp16"}
    assert hidden.reason.startswith("It was asked to train in fp32, and its errors are of the size that")


def test_an_arm_is_asked_once_in_what_it_computes() -> None:
    resources = site(plan("memory"))
    arm, other = Arm("torch", "torch"), Arm("jax", "jax")
    latency, memory = (Case("mlp", scenario, "fp32", 1, 2) for scenario in ("latency", "memory"))
    batches = Case("mlp", "throughput", "fp32", 1000, 2)
    found = Computed({"fp32": 6}, "what it prints")
    assert known_computed(resources, latency, arm) is None
    remember_computed(resources, latency, arm, None)
    assert known_computed(resources, latency, arm) is None, "it did not say"
    remember_computed(resources, latency, arm, found)
    assert known_computed(resources, latency, arm) == found
    assert known_computed(resources, memory, arm) == found, "of no timed case, where any launch was asked"
    assert known_computed(resources, batches, arm) is None, "another batch may have other kernels"
    assert known_computed(resources, latency, other) is None
    low = msgspec.structs.replace(memory, precision="bf16")
    assert known_computed(resources, low, arm) is None
    on_gpu = msgspec.structs.replace(latency, device="cuda")
    remember_computed(resources, on_gpu, arm, found)
    assert known_computed(resources, on_gpu, arm) is None, "it may choose others in every launch"
