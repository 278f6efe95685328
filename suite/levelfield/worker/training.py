"""A worker's part of the scenario `training`: load a trainer, follow the reference's ten steps, watch the loss."""

import math
from collections.abc import Callable

from levelfield.backends import registry
from levelfield.backends.parallel import Replica
from levelfield.backends.protocol import (
    Arrays,
    Backend,
    SaysTrainedPrecision,
    Source,
    Trainer,
    TrainingBackend,
    TrainingSource,
    Unsupported,
)
from levelfield.record.measured import Computed
from levelfield.worker.messages import CheckUpdate, Task, Trained, Updated
from levelfield.zoo import models
from levelfield.zoo.spec import Model
from levelfield.zoo.training import batches, recipe, trajectory, update
from levelfield.zoo.training.recipe import Goal, Optimizer, Recipe

SCENARIO = "training"


class DivergedError(ArithmeticError):
    """A loss, or what follows from it, is not a finite number: no further step means anything."""


def share(batch: Arrays, replica: Replica | None) -> Arrays:
    """Return this process's items of a batch: all of them where it trains alone.

    `replica`: which of several processes this one is; None: it trains alone. Raises ValueError: the batch cannot be
    divided equally.
    """
    if replica is None:
        return batch
    return {name: array[replica.share(len(array))] for name, array in batch.items()}


def load(backend: Backend, task: Task, source: Source, optimizer: Optimizer, replica: Replica | None = None) -> Trainer:
    """Build the model with its loss and optimizer, and compile them.

    `replica`: which of several processes this one is; None: it trains alone. Raises Unsupported: the backend cannot
    train.
    """
    if not isinstance(backend, TrainingBackend):
        raise Unsupported(f"{task.backend} cannot train: it reads a finished model. Ask for another scenario.")
    example = share(source.example, replica)
    return backend.load_training(
        TrainingSource(
            model=source.model,
            batch=len(next(iter(example.values()))) if replica is not None else source.batch,
            weights=source.weights,
            example=example,
            optimizer=optimizer,
            replica=replica,
            precision=task.precision,
        )
    )


def watched(step: Callable[[Arrays], float]) -> Callable[[Arrays], float]:
    """Return the step, which fails where its loss is not finite: a test of one number, far below a microsecond."""
    finite = math.isfinite

    def watched_step(batch: Arrays) -> float:
        loss = step(batch)
        if not finite(loss):
            raise DivergedError(f"Training diverged: the loss is {loss}. Nothing that is timed after it is training.")
        return loss

    return watched_step


def follow(
    trainer: Trainer, task: Task, weights: Arrays, steps: int, batch: int, replica: Replica | None = None
) -> Trained:
    """Train from the seeded weights, each step with a batch of its own, and return what the reference returns.

    Of several processes each takes its share of every batch, and returns the losses that its engine gives it.

    `replica`: which of several processes this one is; None: it trains alone. Raises DivergedError: a loss, a gradient
    or a weight is not finite.
    """
    model, layout = models.get(task.model), registry.get(task.backend).layout
    trainer.restart()
    losses: list[float] = []
    norms: tuple[float, ...] = ()
    for index in range(steps):
        loss = trainer.step(share(batches.make(model, index * batch, batch, layout=layout), replica))
        if not math.isfinite(loss):
            raise DivergedError(f"Training diverged: the loss of step {index + 1} is {loss}.")
        losses.append(loss)
        norms = norms or trajectory.norms(model, trainer.gradients())
    moved, followed = trajectory.changes(model, weights, trainer.weights())
    if not all(map(math.isfinite, (*norms, *moved, *followed))):
        raise DivergedError(f"Training diverged: weights or gradients are not finite after {steps} steps.")
    return Trained(losses=tuple(losses), gradients=norms, weights=moved, statistics=followed)


def computed(trainer: SaysTrainedPrecision, task: Task, batch: int) -> Computed:
    """Ask a trainer in what it computes a step, of the batch that was followed."""
    layout = registry.get(task.backend).layout
    return trainer.computed(batches.make(models.get(task.model), 0, batch, layout=layout))


def check_update(trainer: Trainer, model: Model, request: CheckUpdate, replica: Replica | None = None) -> Updated:
    """Take steps with given gradients, each process with its own, and return what they made of the weights.

    They are not the seeded weights: restart the trainer from those afterwards.

    `replica`: which of several processes this one is; None: it trains alone.
    """
    rank = replica.rank if replica is not None else 0
    trainer.restart(update.begin(model))
    trainer.step_with_gradients(
        (update.gradients(model, step, rank) for step in range(update.STEPS)),
        update.Amplification(request.learning_rate, request.weight_decay),
    )
    return Updated(update.sample(model, trainer.weights()).tobytes())


def settings(trainer: Trainer, rule: Recipe | Goal) -> dict[str, str]:
    """Return what a trainer sets, and every hyper-parameter, the same for all backends."""
    return trainer.settings() | {"training recipe": recipe.describe(rule)}
