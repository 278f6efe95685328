"""Trains the MLP by Keras in a process of its own, and prints how far what the trainer says is from the reference.

Usage: keras_training_child.py BACKEND RECIPE …, where each RECIPE is a model whose optimizer is taken.
"""

import json
import sys
from typing import Any

import numpy as np

from levelfield.backends import registry
from levelfield.backends.keras_training import KerasTrainer
from levelfield.backends.parallel import Replica
from levelfield.backends.protocol import Arrays, Backend, Options, Source, TrainingBackend, TrainingSource, Unsupported
from levelfield.worker import training
from levelfield.worker.messages import Task
from levelfield.zoo import models, reference, weights
from levelfield.zoo.training import batches
from levelfield.zoo.training.recipe import Optimizer
from levelfield.zoo.training.trajectory import loss_and_gradients

MODEL, BATCH = "mlp", 32


def main() -> None:
    name, *recipes = sys.argv[1:]
    backend = registry.create(name, Options(threads=1))
    print(json.dumps({recipe: trained(name, backend, models.recipe(recipe).optimizer) for recipe in recipes}))


def trained(name: str, backend: Backend, rule: Optimizer) -> dict[str, Any]:
    model, info = models.get(MODEL), registry.get(name)
    made, batch = weights.make(model), batches.make(model, 0, BATCH, layout=info.layout)
    task = Task(backend=name, model=MODEL, batch=BATCH, threads=1, scenario=training.SCENARIO)
    trainer = training.load(backend, task, Source(model=MODEL, batch=BATCH, weights=made, example=batch), rule)
    expected_loss, expected_slopes, _ = loss_and_gradients(model, made, batch)
    assert isinstance(trainer, KerasTrainer)
    answers = trainer.predict(batch)
    found: dict[str, Any] = {
        "settings": trainer.settings(),
        "begins with the weights": equal(trainer.weights(), made),
        "answers": apart(answers.astype(np.float64), reference.run(model, made, batch)),
    }
    found["loss"] = abs(trainer.step(batch) / expected_loss - 1)
    slopes, moved = trainer.gradients(), trainer.weights()
    found["gradients"] = {name: apart(slopes[name], expected) for name, expected in expected_slopes.items()}
    found["moved"] = sorted(name for name, array in moved.items() if not np.array_equal(array, made[name]))
    found["shapes"] = {name: array.shape == made[name].shape for name, array in moved.items()}
    second = trainer.step(batch)
    trainer.restart()
    found["restarted"] = equal(trainer.weights(), made)
    trainer.step(batch)
    found["forgotten"] = abs(trainer.step(batch) / second - 1)
    other = {name: np.negative(array) for name, array in made.items()}
    trainer.restart(other)
    found["other weights"] = equal(trainer.weights(), other)
    found["refused"] = [
        refused(backend, "vit", made, batch, None),
        refused(backend, MODEL, made, batch, Replica(0, 2, ())),
    ]
    return found


def equal(found: Arrays, expected: Arrays) -> bool:
    return found.keys() == expected.keys() and all(
        np.array_equal(array, expected[name]) for name, array in found.items()
    )


def apart(found: "np.ndarray[Any, Any]", expected: "np.ndarray[Any, Any]") -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def refused(backend: Any, model: str, made: Arrays, example: Arrays, replica: Replica | None) -> str:
    assert isinstance(backend, TrainingBackend)
    source = TrainingSource(
        model=model,
        batch=BATCH,
        weights=made,
        example=example,
        optimizer=models.recipe(MODEL).optimizer,
        replica=replica,
    )
    try:
        backend.load_training(source)
    except Unsupported as why:
        return str(why)
    return "nothing"


if __name__ == "__main__":
    main()
