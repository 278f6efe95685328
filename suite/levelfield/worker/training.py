"""A worker's part of the scenarios `training` and `convergence`.

It loads a trainer, follows the reference's ten steps and watches the loss, or trains to a target, where steps are timed
and evaluations and the making of batches are not.
"""

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator

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
from levelfield.record.measured import Computed, Evaluation
from levelfield.worker.messages import CheckUpdate, Converged, Task, Trained, Updated
from levelfield.zoo import digits, models, weights
from levelfield.zoo.spec import Model
from levelfield.zoo.training import batches, convergence, recipe, trajectory, update
from levelfield.zoo.training.recipe import Goal, Optimizer, Recipe

SCENARIO = "training"
CONVERGENCE = "convergence"
WARM_STEPS = 3
"""Steps before the training, which then begins anew: what a framework does only in its first calls is timed apart."""


class DivergedError(ArithmeticError):
    """A loss, or what follows from it, is not a finite number: no further step means anything."""


def share(batch: Arrays, replica: Replica | None) -> Arrays:
    """Return this process's items of a batch; raises ValueError where it cannot be divided equally."""
    if replica is None:
        return batch
    return {name: array[replica.share(len(array))] for name, array in batch.items()}


def load(backend: Backend, task: Task, source: Source, optimizer: Optimizer, replica: Replica | None = None) -> Trainer:
    """Build the model with its loss and optimizer, and compile them; raises Unsupported where it cannot be trained."""
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

    Of several processes each takes its share of every batch. Raises DivergedError: a loss, a gradient or a weight is
    not finite.
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
    """Take steps with given gradients, each process with its own; afterwards the trainer must be restarted."""
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


def converge(trainer: Trainer, goal: Goal, seed: int) -> Converged:
    """Train from a seed's weights for all steps of the goal, evaluating on the way.

    A loss that is not finite ends it: what came before is reported, with the reason.
    """
    model = models.get(goal.network)
    split, chosen = convergence.split(goal), convergence.schedule(goal, seed)
    start = convergence.weights(model, seed)
    _warm_up(trainer, next(digits.batches(split.train, chosen[:1])), split.test)
    trainer.restart(start)
    losses: list[float] = []
    points: list[Evaluation] = []
    diverged = ""
    for elapsed_ns in _chunks(trainer, digits.batches(split.train, chosen), goal.every, losses):
        bad = next((step for step, loss in enumerate(losses, start=1) if not math.isfinite(loss)), None)
        if bad is not None:
            diverged = f"Training diverged: the loss of step {bad} is {losses[bad - 1]}."
            break
        since = points[-1].step if points else 0
        right = float((trainer.predict(split.test).argmax(axis=1) == split.test["labels"]).mean())
        points.append(Evaluation(len(losses), elapsed_ns, statistics.fmean(losses[since:]), right))
    return Converged(
        points=tuple(points),
        losses=tuple(loss for loss in losses[: recipe.STEPS] if math.isfinite(loss)),
        weights_sha256=weights.sha256(start),
        inputs_sha256=digits.inputs_sha256(split, chosen),
        diverged=diverged,
    )


def _warm_up(trainer: Trainer, batch: Arrays, test: Arrays) -> None:
    for _ in range(WARM_STEPS):
        trainer.step(batch)
    trainer.predict(test)


def _chunks(trainer: Trainer, batches: Iterator[Arrays], every: int, losses: list[float]) -> Iterator[int]:
    """Take steps, `every` at a time, without garbage collection; yield how long all of them took, nanoseconds."""
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
