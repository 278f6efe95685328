"""A worker's part of the scenario `convergence`: steps are timed, evaluations and the making of batches are not."""

import gc
import math
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

from suite.worker.messages import Converged, Evaluated

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    from suite.backends.protocol import Arrays, Trainer
    from suite.worker.messages import Task
    from suite.zoo.spec import Model
    from suite.zoo.training.recipe import Goal

SCENARIO = "convergence"
WARM_STEPS = 3
"""Steps before the training, which then begins anew: what a framework does only in its first calls is timed apart."""


def goal_of(task: "Task") -> "Goal":
    """Return how a task's network is trained: on the digits, or on the file of images that came with it."""
    from suite.zoo.training import convergence

    return convergence.goal(task.model, images=Path(task.dataset_path) if task.dataset_path else None)


def network(task: "Task") -> "Model":
    """Return the network that is trained for a model's sake."""
    from suite.zoo import models

    return models.get(goal_of(task).network)


def example(task: "Task") -> "Arrays":
    """Return a batch of the size that is trained with, to compile with."""
    from suite.zoo.digits import data
    from suite.zoo.training import convergence

    goal = goal_of(task)
    return next(data.batches(convergence.split(goal).train, convergence.schedule(goal, 0)[:1]))


def initial_weights(task: "Task") -> "Arrays":
    """Return the first seed's weights, to load with."""
    from suite.zoo.training import convergence

    return convergence.weights(network(task), 0)


def inputs_sha256(task: "Task") -> str:
    """Return the digest of all images and their split."""
    from suite.zoo.digits import data
    from suite.zoo.training import convergence

    return data.inputs_sha256(convergence.split(goal_of(task)))


def train(trainer: "Trainer", goal: "Goal", seed: int) -> Converged:
    """Train from a seed's weights for all steps of the goal, evaluating on the way.

    A loss that is not finite ends it: what came before is reported, with the reason.

    Parameters
    ----------
    trainer
        A loaded trainer.
    goal
        What is trained, on which images, for how many steps.
    seed
        Number of the training: it decides weights and the order of batches.
    """
    from suite.zoo import models, weights
    from suite.zoo.digits import data
    from suite.zoo.training import convergence, recipe

    model = models.get(goal.network)
    split, chosen = convergence.split(goal), convergence.schedule(goal, seed)
    start = convergence.weights(model, seed)
    _warm_up(trainer, next(data.batches(split.train, chosen[:1])), split.test)
    trainer.restart(start)
    losses: list[float] = []
    points: list[Evaluated] = []
    diverged = ""
    for elapsed_ns in _steps(trainer, data.batches(split.train, chosen), goal.every, losses):
        bad = next((step for step, loss in enumerate(losses, start=1) if not math.isfinite(loss)), None)
        if bad is not None:
            diverged = f"Training diverged: the loss of step {bad} is {losses[bad - 1]}."
            break
        since = points[-1].step if points else 0
        right = _right(trainer.predict(split.test), split.test["labels"])
        points.append(Evaluated(len(losses), elapsed_ns, statistics.fmean(losses[since:]), right))
    return Converged(
        points=tuple(points),
        losses=tuple(loss for loss in losses[: recipe.STEPS] if math.isfinite(loss)),
        weights_sha256=weights.sha256(start),
        inputs_sha256=data.inputs_sha256(split, chosen),
        diverged=diverged,
    )


def _warm_up(trainer: "Trainer", batch: "Arrays", test: "Arrays") -> None:
    for _ in range(WARM_STEPS):
        trainer.step(batch)
    trainer.predict(test)


def _steps(trainer: "Trainer", batches: "Iterator[Arrays]", every: int, losses: list[float]) -> "Iterator[int]":
    """Take steps, `every` at a time; yield after each of these how long all steps together took, nanoseconds.

    The garbage collector rests while steps are timed, as in every other scenario.
    """
    clock, step = time.perf_counter_ns, trainer.step
    elapsed_ns = 0
    while chunk := [batch for _, batch in zip(range(every), batches, strict=False)]:
        gc.disable()
        try:
            begin = clock()
            for batch in chunk:
                losses.append(step(batch))  # noqa: PERF401  (a generator's own cost does not belong into a step)
            elapsed_ns += clock() - begin
        finally:
            gc.enable()
        yield elapsed_ns


def _right(logits: "npt.NDArray[np.float32]", labels: "npt.NDArray[np.generic]") -> float:
    return float((logits.argmax(axis=1) == labels).mean())


def settings(trainer: "Trainer", task: "Task") -> dict[str, str]:
    """Return what a trainer sets, and every hyper-parameter, the same for all.

    Parameters
    ----------
    trainer
        A loaded trainer.
    task
        What the worker serves.
    """
    from suite.zoo.training import convergence

    return trainer.settings() | {"training recipe": convergence.describe(goal_of(task))}
