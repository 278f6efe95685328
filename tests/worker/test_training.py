"""Training in a worker, with no framework."""

import math
from collections.abc import Iterator
from itertools import repeat

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from levelfield.backends.parallel import Replica
from levelfield.backends.protocol import Arrays
from levelfield.worker import training
from levelfield.worker.messages import Converged
from levelfield.zoo import weights
from levelfield.zoo.training import convergence


def test_processes_share_a_batch_and_miss_no_item() -> None:
    batch: Arrays = {"x": np.arange(8), "labels": np.arange(8) * 10}
    shares = [training.share(batch, Replica(rank, 4, ())) for rank in range(4)]
    for name, whole in batch.items():
        np.testing.assert_array_equal(np.concatenate([each[name] for each in shares]), whole)
    assert training.share(batch, None) is batch


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_ends_the_training(loss: float) -> None:
    losses = iter([0.5, loss])

    def step(_: Arrays) -> float:
        return next(losses)

    watched = training.watched(step)
    assert watched({}) == 0.5
    with pytest.raises(training.DivergedError, match=f"the loss is {loss}"):
        watched({})


GOAL = msgspec.structs.replace(convergence.GOALS["mlp"], steps=20, every=10)


class Trainer:
    """Says the losses that it is given, and takes every image for a zero."""

    def __init__(self, losses: Iterator[float]) -> None:
        self._losses = losses
        self.steps = 0
        self.began: list[tuple[int, str]] = []

    def step(self, _: Arrays) -> float:
        self.steps += 1
        return next(self._losses) if self.began else 100.0

    def predict(self, inputs: Arrays) -> npt.NDArray[np.float32]:
        return np.eye(1, 10, dtype=np.float32).repeat(len(inputs["labels"]), axis=0)

    def restart(self, begin: Arrays) -> None:
        self.began.append((self.steps, weights.sha256(begin)))


def train(losses: Iterator[float], seed: int = 0) -> tuple[Trainer, Converged]:
    trainer = Trainer(losses)
    return trainer, training.converge(trainer, GOAL, seed)  # type: ignore[arg-type]


def test_the_steps_before_the_training_are_forgotten() -> None:
    trainer, converged = train(repeat(1.0))
    assert trainer.began == [(training.WARM_STEPS, converged.weights_sha256)]
    assert trainer.steps == training.WARM_STEPS + GOAL.steps
    assert 100.0 not in converged.losses


def test_each_evaluation_has_the_mean_loss_since_the_one_before() -> None:
    _, converged = train(iter([*[4.0] * 10, *[1.0, 3.0] * 5]))
    assert [(point.step, point.loss) for point in converged.points] == [(10, 4.0), (20, 2.0)]
    assert 0 < converged.points[0].elapsed_ns <= converged.points[1].elapsed_ns
    assert all(0.05 < point.accuracy < 0.2 for point in converged.points), "a tenth of the digits are zeros"
    assert converged.diverged == ""


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_ends_it_and_what_came_before_stays(loss: float) -> None:
    _, converged = train(iter([*[4.0] * 12, loss, *[4.0] * 7]))
    assert converged.diverged == f"Training diverged: the loss of step 13 is {loss}."
    assert [point.step for point in converged.points] == [10]
