"""Trains one backend on one model in a process of its own: frameworks do not like each other's company.

Usage: training_child.py BACKEND MODEL [learn | diverge | bf16 | fp16]
"""

import json
import os
import sys

import msgspec

from suite.backends import registry
from suite.backends.protocol import Options, SaysTrainedPrecision, Source, TrainingBackend, TrainingSource
from suite.worker import training
from suite.worker.messages import Task
from suite.zoo import models, weights
from suite.zoo.training import batches, recipe

THREADS = min(2, len(os.sched_getaffinity(0)))

STEPS = 300


def main() -> None:
    backend_name, model_name, *words = sys.argv[1:]
    model, info = models.get(model_name), registry.get(backend_name)
    batch = models.recipe(model_name).trajectory_batch
    made = weights.make(model)
    example = batches.make(model, 0, batch, layout=info.layout)
    backend = registry.create(backend_name, Options(threads=THREADS))
    task = Task(backend=backend_name, model=model_name, batch=batch, threads=THREADS, scenario=training.SCENARIO)
    if words in (["bf16"], ["fp16"]):
        assert isinstance(backend, TrainingBackend)
        optimizer = models.recipe(model_name).optimizer
        source = TrainingSource(
            model=model_name, batch=batch, weights=made, example=example, optimizer=optimizer, precision=words[0]
        )
        lower = backend.load_training(source)
        assert isinstance(lower, SaysTrainedPrecision)
        found = training.follow(lower, task, made, recipe.STEPS, batch)
        computed = training.computed(lower, task, batch)
        print(json.dumps(msgspec.to_builtins({"trained": found, "computed": computed, "settings": lower.settings()})))
        return
    if words == ["diverge"]:
        assert isinstance(backend, TrainingBackend)
        rule = msgspec.structs.replace(models.recipe(model_name).optimizer, learning_rate=1e30)
        source = TrainingSource(model=model_name, batch=batch, weights=made, example=example, optimizer=rule)
        step = training.watched(backend.load_training(source).step)
        try:
            for _ in range(STEPS):
                step(example)
            said = "nothing"
        except training.DivergedError as error:
            said = str(error)
        print(json.dumps({"said": said}))
        return
    full = Source(model=model_name, batch=batch, weights=made, example=example)
    trainer = training.load(backend, task, full, models.recipe(model_name).optimizer)
    if words == ["learn"]:
        losses = [trainer.step(example) for _ in range(STEPS)]
        other = trainer.step(batches.make(model, 0, 7, layout=info.layout))
        print(json.dumps({"first": losses[0], "last": losses[-1], "other": other}))
        return
    trained = msgspec.to_builtins(training.follow(trainer, task, made, recipe.STEPS, batch))
    again = trained
    if model_name == "mlp":  # the others take too long to do it twice
        again = msgspec.to_builtins(training.follow(trainer, task, made, recipe.STEPS, batch))
    settings = backend.settings() | training.settings(trainer, models.recipe(model_name))
    print(json.dumps({"trained": trained, "again": again, "settings": settings}))


if __name__ == "__main__":
    main()
