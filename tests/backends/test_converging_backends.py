"""Every framework trains to the target, from the same weights and batches, and begins as the reference does."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import suite
from suite.backends import registry
from suite.schedule.training_verification import judge_convergence
from suite.worker.messages import Converged, Loaded
from suite.zoo.training import convergence, recipe, update

ROOT = Path(suite.__file__).parents[1]
CHILD = Path(__file__).with_name("converging_child.py")
BACKENDS = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            importlib.util.find_spec(registry.get(name).image) is None, reason=f"not installed: {name}"
        ),
    )
    for name in registry.names()
    if registry.get(name).trains
]
SEEDS = {"mlp": 5, "resnet50": 2}
FOLLOWED = update.Judgement(error=0.0, tolerance=2e-6, reason="")
"""The update rule is judged by itself, in `test_update_rules`."""


def child(backend: str, model: str, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(CHILD), backend, model, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


@pytest.mark.framework
@pytest.mark.parametrize("model", SEEDS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_seed_reaches_the_target(backend: str, model: str) -> None:
    goal = convergence.goal(model)
    *_, answer, loaded_line = child(backend, model, str(SEEDS[model]))
    loaded = msgspec.json.decode(loaded_line, type=Loaded)
    assert (loaded.weights_sha256, loaded.inputs_sha256) == convergence.loaded_sha256(goal)
    assert loaded.settings["training recipe"] == recipe.describe(goal)
    found = msgspec.json.decode(answer, type=list[Converged])
    assert len(found) == SEEDS[model]
    for seed, converged in enumerate(found):
        expected = convergence.expected_start(goal, seed)
        assert converged.weights_sha256 == expected.weights_sha256
        assert converged.inputs_sha256 == expected.inputs_sha256
        judged = judge_convergence(converged, FOLLOWED, expected, goal)
        assert judged.equal, judged.reason
        assert not converged.diverged
        assert [point.step for point in converged.points] == list(range(goal.every, goal.steps + 1, goal.every))
        times = [point.elapsed_ns for point in converged.points]
        assert times == sorted(times)
        assert times[0] > 0
        assert max(point.accuracy for point in converged.points) >= goal.target
        assert converged.points[-1].loss < 0.1 * converged.points[0].loss


@pytest.mark.framework
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_training_that_diverges_says_so_and_keeps_what_came_before(backend: str) -> None:
    (answer,) = msgspec.json.decode(child(backend, "mlp", "1", "diverge")[-1], type=list[Converged])
    assert answer.diverged.startswith("Training diverged: the loss of step ")
    assert answer.points == ()
    goal = convergence.goal("mlp")
    judged = judge_convergence(answer, FOLLOWED, convergence.expected_start(goal, 0), goal)
    assert not judged.equal
    assert judged.reason == answer.diverged


@pytest.mark.framework
@pytest.mark.parametrize("backend", BACKENDS[:1])
def test_too_few_steps_do_not_reach_it(backend: str) -> None:
    (answer,) = msgspec.json.decode(child(backend, "mlp", "1", "limit")[-1], type=list[Converged])
    assert [point.step for point in answer.points] == [10, 20]
    assert all(0 < point.accuracy < 0.97 for point in answer.points)
