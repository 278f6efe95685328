"""A worker's part of the scenario `convergence`: steps are timed, evaluations and the making of batches are not."""

import gc
import math
import statistics
import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from levelfield.backends.protocol import Arrays, Trainer
from levelfield.record.measured import Evaluation
from levelfield.worker.messages import Converged
from levelfield.zoo import models, weights
from levelfield.zoo.digits import data
from levelfield.zoo.training import convergence, recipe
from levelfield.zoo.training.recipe import Goal

SCENARIO = "convergence"
WARM_STEPS = 3
"""Steps before the training, which then begins anew: what a framework does only in its first calls is timed apart."""


def train(trainer: Trainer, goal: Goal, seed: int) -> Converged:
    """Train from a seed's weights for all steps of the goal, evaluating on the way.

    A loss that is not finite ends it: what came before is reported, with the reason.
    """
    model = models.get(goal.network)
    split, chosen = convergence.split(goal), convergence.schedule(goal, seed)
    start = convergence.weights(model, seed)
    _warm_up(trainer, next(data.batches(split.train, chosen[:1])), split.test)
    trainer.restart(start)
    losses: list[float] = []
    points: list[Evaluation] = []
    diverged = ""
    for elapsed_ns in _steps(trainer, data.batches(split.train, chosen), goal.every, losses):
        bad = next((step for step, loss in enumerate(losses, start=1) if not math.isfinite(loss)), None)
        if bad is not None:
            diverged = f"Training diverged: the loss of step {bad} is {losses[bad - 1]}."
            break
        since = points[-1].step if points else 0
        right = _right(trainer.predict(split.test), split.test["labels"])
        points.append(Evaluation(len(losses), elapsed_ns, statistics.fmean(losses[since:]), right))
    return Converged(
        points=tuple(points),
        losses=tuple(loss for loss in losses[: recipe.STEPS] if math.isfinite(loss)),
        weights_sha256=weights.sha256(start),
        inputs_sha256=data.inputs_sha256(split, chosen),
        diverged=diverged,
    )


def _warm_up(trainer: Trainer, batch: Arrays, test: Arrays) -> None:
    for _ in range(WARM_STEPS):
        trainer.step(batch)
    trainer.predict(test)


def _steps(trainer: Trainer, batches: Iterator[Arrays], every: int, losses: list[float]) -> Iterator[int]:
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


def _right(logits: npt.NDArray[np.float32], labels: npt.NDArray[np.generic]) -> float:
    return float((logits.argmax(axis=1) == labels).mean())
