"""What a worker says of its training is compared, never believed."""

import math

import msgspec
import pytest

from levelfield.record.measured import Computed
from levelfield.record.schema import Absent
from levelfield.schedule.training_verification import judge_training
from levelfield.worker.messages import Trained
from levelfield.zoo.training import update
from levelfield.zoo.training.trajectory import Trajectory

TRAINED = Trained(losses=(2.0, 1.5, 1.0), gradients=(3.0, 4.0), weights=(1.0,) * 16, statistics=())
TRAJECTORY = Trajectory(TRAINED.losses, TRAINED.gradients, TRAINED.weights)
FOLLOWED = update.Judgement(error=5e-8, tolerance=2e-6, reason="")


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
    emulated = msgspec.structs.replace(rounded, computed=Computed({"fp32": 17}, "a test"))
    assert "17 of 17 products" in judge_training(emulated, FOLLOWED, TRAJECTORY, "mlp", "bf16").emulated
    hidden = judge_training(rounded, FOLLOWED, TRAJECTORY, "mlp")
    assert not hidden.equal
    assert hidden.computed_in in {"bf16", "fp16"}
    assert hidden.reason.startswith("It was asked to train in fp32, and its errors are of the size that")
