"""Every framework trains every model as the reference does, within what was allowed beforehand."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import suite
from suite.backends import registry
from suite.zoo import models, weights
from suite.zoo.honesty import Computed
from suite.zoo.training import claims, parity, trajectory
from suite.zoo.training.trajectory import Trajectory

ROOT = Path(suite.__file__).parents[1]
CHILD = Path(__file__).with_name("training_child.py")
TRAINING = tuple(name for name in registry.names() if registry.get(name).trains)
KERAS = tuple(name for name in registry.names_where_named() if registry.get(name).trains)


def test_frameworks_train_and_runtimes_do_not() -> None:
    assert TRAINING == ("torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax")
    assert KERAS == ("keras-torch", "keras-jax", "keras-tensorflow")
    for name in (*registry.names(), *registry.names_where_named()):
        info = registry.get(name)
        kind = getattr(importlib.import_module(info.module), info.class_name)
        assert hasattr(kind, "load_training") == info.trains


def _where_installed(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "backend",
        [
            pytest.param(
                name,
                marks=pytest.mark.skipif(
                    not all(map(importlib.util.find_spec, registry.get(name).imports)), reason=f"not installed: {name}"
                ),
            )
            for name in names
        ],
    )


@pytest.fixture(scope="session")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trajectory]:
    """Trajectories, each computed when it is first asked for."""

    class Made(dict[str, Trajectory]):
        def __missing__(self, name: str) -> Trajectory:
            model = models.get(name)
            self[name] = trajectory.run(model, weights.make(model))
            return self[name]

    return Made()


def _child(backend: str, model: str, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(CHILD), backend, model, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.framework
@pytest.mark.parametrize("model", models.trained())
@_where_installed(*TRAINING, *KERAS)
def test_it_trains_as_the_reference_does(backend: str, model: str, references: dict[str, Trajectory]) -> None:
    answer = _child(backend, model)
    found = msgspec.convert(answer["trained"], Trajectory)
    judged = parity.judge(found, references[model], model)
    print(backend, model, judged.errors)
    assert judged.equal, (judged.reason, judged.errors)
    # A restart forgets all that was, and the same steps give the same numbers but for the order of sums.
    again = parity.judge(msgspec.convert(answer["again"], Trajectory), references[model], model)
    assert again.equal, again.reason
    settings = answer["settings"]
    rule = type(models.recipe(model).optimizer).__name__
    assert settings["training recipe"].startswith(rule)
    assert settings["output"] == "the loss, a Python float"
    assert "inference" not in settings.get("gradients", "")
    if backend.startswith("torch"):
        assert settings["optimizer"] == f"torch.optim.{rule}, fused"


@pytest.mark.framework
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@_where_installed(*TRAINING)
def test_it_trains_in_a_lower_precision(backend: str, precision: str, references: dict[str, Trajectory]) -> None:
    """In bf16 as a run does; in fp16, which runs on GPUs alone, the trainer is asked directly, loss scale and all."""
    answer = _child(backend, "mlp", precision)
    found = msgspec.convert(answer["trained"], Trajectory)
    judged = parity.judge(found, references["mlp"], "mlp", precision)
    print(backend, precision, judged.errors, answer["computed"])
    assert judged.equal, (judged.reason, judged.errors)
    computed = msgspec.convert(answer["computed"], Computed)
    claim = claims.judge(precision, judged.errors, parity.sensitivities("mlp"), computed, equal=True)
    assert claim.holds, claim.reason
    assert answer["settings"].get("loss scale") == ("1024" if precision == "fp16" else None)
    hidden = claims.judge("fp32", judged.errors, parity.sensitivities("mlp"), None, equal=False)
    assert not hidden.holds, "what claims fp32 and trains like this is found"


@pytest.mark.framework
@_where_installed(*TRAINING, *KERAS)
def test_one_batch_again_and_again_is_learnt(backend: str) -> None:
    """As in the timed windows; and another batch size than it was loaded with is taken too."""
    answer = _child(backend, "mlp", "learn")
    assert answer["last"] < 0.5 * answer["first"]
    assert answer["other"] > 0


@pytest.mark.framework
@_where_installed(*TRAINING, *KERAS)
def test_a_training_that_diverges_says_so(backend: str) -> None:
    assert "Training diverged: the loss is nan" in _child(backend, "mlp", "diverge")["said"]
