"""Checks one backend's update rule on one model, right and with each known mistake, in a process of its own.

Usage: updating_child.py BACKEND MODEL [MISTAKE …]. MODEL may be a network that is trained to a target; `mlp/resnet50`
is the MLP, trained by the rule of ResNet-50. Prints what was found of each: the first is the rule as it is, then every
mistake that applies, or those that are named.
"""

import contextlib
import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import msgspec

from levelfield.backends import registry
from levelfield.backends.protocol import Arrays, Backend, Options, Source
from levelfield.worker import training
from levelfield.worker.messages import CheckUpdate, Task
from levelfield.zoo import models, weights
from levelfield.zoo.spec import Parameter
from levelfield.zoo.training import batches, convergence, update
from levelfield.zoo.training.recipe import SGD, AdamW, Optimizer

THREADS = min(2, len(os.sched_getaffinity(0)))

Patch = Callable[[Optimizer], contextlib.AbstractContextManager[Any]]


def rule_of(model: str) -> Optimizer:
    goals = {goal.network: goal.optimizer for goal in convergence.GOALS.values()}
    return goals[model] if model in goals else models.recipe(model).optimizer


def changed(rule: Optimizer, **changes: float) -> Optimizer:
    """Multiply hyper-parameters that the rule has."""
    known = msgspec.structs.asdict(rule)
    return msgspec.structs.replace(rule, **{name: known[name] * by for name, by in changes.items() if name in known})


WRONG_NUMBERS: dict[str, Callable[[Optimizer], Optimizer]] = {
    "no weight decay": functools.partial(changed, weight_decay=0.0),
    "weight decay x 100": functools.partial(changed, weight_decay=100.0),
    "learning rate x 1.001": functools.partial(changed, learning_rate=1.001),
    "another momentum": functools.partial(changed, momentum=1.01, beta1=1.01),
    "another beta2": functools.partial(changed, beta2=0.99),
    "another epsilon": functools.partial(changed, epsilon=0.1),
}


@contextlib.contextmanager
def everything_decays(_: Optimizer) -> Iterator[None]:
    def wrong(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any) -> Any:
            """The reference that judges the trainer afterwards keeps its own decays."""
            with mock.patch.object(Parameter, "decays", True):
                return function(*args)

        return called

    load, check_update = wrong(training.load), wrong(training.check_update)
    with mock.patch.object(training, "load", load), mock.patch.object(training, "check_update", check_update):
        yield


@contextlib.contextmanager
def as_keras_has_it(rule: Optimizer) -> Iterator[None]:
    """Keras's own optimizers, with nothing corrected."""
    import keras

    def sgd(_: Any, rule: SGD, fixed: set[str]) -> Any:
        made = keras.optimizers.SGD(rule.learning_rate, rule.momentum, weight_decay=rule.weight_decay)
        made.exclude_from_weight_decay(var_names=sorted(fixed))
        return made

    def adamw(_: Any, rule: AdamW) -> Any:
        return keras.optimizers.AdamW(rule.learning_rate, rule.weight_decay, rule.beta1, rule.beta2, rule.epsilon)

    name, plain = ("_sgd", sgd) if isinstance(rule, SGD) else ("_adamw", adamw)
    with mock.patch(f"levelfield.backends.keras_training.{name}", plain):
        yield


WRONG_CODE: dict[str, Patch] = {"decay of biases and norms too": everything_decays}
OF_KERAS: dict[str, Patch] = {"as Keras has it": as_keras_has_it}


def main() -> None:
    backend_name, given_name, *named = sys.argv[1:]
    name, _, whose = given_name.partition("/")
    info, rule = registry.get(backend_name), rule_of(whose or name)
    keras = backend_name.startswith("keras-")
    backend = registry.create(backend_name, Options(threads=THREADS))
    begin, example = tensors(name, info.layout)
    given = Source(model=name, batch=len(next(iter(example.values()))), weights=begin, example=example)
    task = Task(backend=backend_name, model=name, batch=given.batch, threads=THREADS, scenario=training.SCENARIO)
    wrong = {
        what: change(rule) for what, change in WRONG_NUMBERS.items() if change(rule) != rule
    }  # epsilon and beta2 are AdamW's alone
    code = WRONG_CODE | (OF_KERAS if keras else {})
    found = {}
    for what in ["right", *wrong, *code]:
        if named and what not in ("right", *named):
            continue
        patch = code[what](rule) if what in code else contextlib.nullcontext()
        began = time.perf_counter()
        with patch, loaded_at_once(when=keras and what != "right"):
            found[what] = check(backend, task, given, wrong.get(what, rule), rule)
        print(what, found[what], f"{time.perf_counter() - began:.1f} s", file=sys.stderr)
    print(json.dumps(found))


def tensors(name: str, layout: str) -> tuple[Arrays, Arrays]:
    """Return where training begins, and a batch."""
    model = models.get(name)
    goal = next((goal for goal in convergence.GOALS.values() if goal.network == name), None)
    if goal is None:
        return weights.make(model), batches.make(model, 0, models.recipe(name).trajectory_batch, layout=layout)
    from levelfield.zoo import digits

    return convergence.weights(model, 0), next(
        digits.batches(convergence.split(goal).train, convergence.schedule(goal, 0)[:1])
    )


@contextlib.contextmanager
def loaded_at_once(*, when: bool) -> Iterator[None]:
    """Do not compile the model's own step, which takes long and which the check does not take."""
    if not when:
        yield
        return
    with mock.patch("levelfield.backends.keras_training.KerasTrainer.step", return_value=0.0):
        yield


def check(backend: Backend, task: Task, given: Source, rule: Optimizer, right: Optimizer) -> dict[str, Any]:
    """Load with one rule, and judge by the other."""
    model = models.get(task.model)
    trainer = training.load(backend, task, given, rule)
    by = update.amplification(right)
    request = CheckUpdate(by.learning_rate, by.weight_decay)
    began = time.perf_counter()
    updated = training.check_update(trainer, model, request)
    took = time.perf_counter() - began
    return msgspec.structs.asdict(update.judge(updated.values, model, right)) | {"took_s": took}


if __name__ == "__main__":
    main()
