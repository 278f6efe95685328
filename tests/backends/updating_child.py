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

Patch = Callable[[str, Optimizer], contextlib.AbstractContextManager[Any]]
FRAMEWORKS = {
    "torch": "torch",
    "torch-compile": "torch",
    "tensorflow": "tensorflow",
    "tensorflow-xla": "tensorflow",
    "keras-torch": "keras",
    "keras-jax": "keras",
    "keras-tensorflow": "keras",
}


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
    "weight decay x 2": functools.partial(changed, weight_decay=2.0),
    "learning rate x 1.001": functools.partial(changed, learning_rate=1.001),
    "learning rate x 2": functools.partial(changed, learning_rate=2.0),
    "another momentum": functools.partial(changed, momentum=1.01, beta1=1.01),
    "another beta2": functools.partial(changed, beta2=0.99),
    "another epsilon": functools.partial(changed, epsilon=0.1),
}


@contextlib.contextmanager
def everything_decays(_framework: str, _: Optimizer) -> Iterator[None]:
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
def nesterov(framework: str, rule: Optimizer) -> Iterator[None]:
    if framework == "torch":
        import torch

        make, nadam = torch.optim.SGD, torch.optim.NAdam
        with (
            mock.patch("torch.optim.SGD", lambda *args, **given: make(*args, **{**given, "nesterov": True})),
            mock.patch(
                "torch.optim.AdamW",
                lambda groups, lr, betas, eps, **_: nadam(groups, lr, betas, eps, decoupled_weight_decay=True),
            ),
        ):
            yield
    elif framework == "tensorflow":
        import tensorflow as tf

        kernel = "ResourceApplyMomentum" if isinstance(rule, SGD) else "ResourceApplyAdam"
        apply = getattr(tf.raw_ops, kernel)
        with mock.patch.object(tf.raw_ops, kernel, lambda **given: apply(**{**given, "use_nesterov": True})):
            yield
    elif framework == "keras":
        import keras

        made = keras.optimizers.SGD if isinstance(rule, SGD) else keras.optimizers.Nadam
        begin = made.__init__

        def ahead_of_itself(self: Any, **given: Any) -> None:
            if "nesterov" in given:
                given["nesterov"] = True
            given.pop("amsgrad", None)  # which Nadam does not know
            begin(self, **given)

        name = "SGD" if isinstance(rule, SGD) else "AdamW"
        with mock.patch.object(made, "__init__", ahead_of_itself), mock.patch.object(keras.optimizers, name, made):
            yield
    else:
        from levelfield.backends.jax_training import JAXTrainer

        name = "_sgd" if isinstance(rule, SGD) else "_adamw"
        factory = getattr(JAXTrainer, name)
        momentum = rule.momentum if isinstance(rule, SGD) else rule.beta1

        def ahead(self: Any, *words: Any) -> Any:
            update_of = factory(self, *words)

            def update(state: Any, tensor: str, slope: Any) -> Any:
                _, first, second = update_of(state, tensor, slope)
                moved = {**state, "first": {**state["first"], tensor: first / momentum}}
                weight, _, _ = update_of(moved, tensor, slope)
                return weight, first, second

            return update

        with mock.patch.object(JAXTrainer, name, ahead):
            yield


@contextlib.contextmanager
def decay_the_other_way(framework: str, rule: Optimizer) -> Iterator[None]:
    """Coupled decay for AdamW, as in `torch.optim.Adam`."""
    import torch

    assert framework == "torch"
    assert isinstance(rule, AdamW)
    with mock.patch("torch.optim.AdamW", torch.optim.Adam):
        yield


@contextlib.contextmanager
def gradients_add_up(framework: str, _: Optimizer) -> Iterator[None]:
    import torch

    assert framework == "torch"
    with mock.patch.object(torch.optim.Optimizer, "zero_grad"):
        yield


@contextlib.contextmanager
def as_keras_has_it(framework: str, rule: Optimizer) -> Iterator[None]:
    """Keras's own optimizers, with nothing corrected."""
    import keras

    assert framework == "keras"

    def sgd(_: Any, rule: SGD, fixed: set[str]) -> Any:
        made = keras.optimizers.SGD(rule.learning_rate, rule.momentum, weight_decay=rule.weight_decay)
        made.exclude_from_weight_decay(var_names=sorted(fixed))
        return made

    def adamw(_: Any, rule: AdamW) -> Any:
        return keras.optimizers.AdamW(rule.learning_rate, rule.weight_decay, rule.beta1, rule.beta2, rule.epsilon)

    name, plain = ("_sgd", sgd) if isinstance(rule, SGD) else ("_adamw", adamw)
    with mock.patch(f"levelfield.backends.keras_training.{name}", plain):
        yield


WRONG_CODE: dict[str, Patch] = {"Nesterov": nesterov, "decay of biases and norms too": everything_decays}
OF_TORCH: dict[str, Patch] = {"gradients of steps add up": gradients_add_up}
OF_TORCH_ADAMW: dict[str, Patch] = {"coupled weight decay": decay_the_other_way}
OF_KERAS: dict[str, Patch] = {"as Keras has it": as_keras_has_it}


def main() -> None:
    backend_name, given_name, *named = sys.argv[1:]
    name, _, whose = given_name.partition("/")
    info, rule = registry.get(backend_name), rule_of(whose or name)
    framework = FRAMEWORKS.get(backend_name, backend_name)
    backend = registry.create(backend_name, Options(threads=THREADS))
    begin, example = tensors(name, info.layout)
    given = Source(model=name, batch=len(next(iter(example.values()))), weights=begin, example=example)
    task = Task(backend=backend_name, model=name, batch=given.batch, threads=THREADS, scenario=training.SCENARIO)
    wrong = {
        what: change(rule) for what, change in WRONG_NUMBERS.items() if change(rule) != rule
    }  # epsilon and beta2 are AdamW's alone
    code = WRONG_CODE
    if framework == "torch":
        code = code | OF_TORCH | (OF_TORCH_ADAMW if isinstance(rule, AdamW) else {})
    elif framework == "keras":
        code = code | OF_KERAS
    found = {}
    for what in ["right", *wrong, *code]:
        if named and what not in ("right", *named):
            continue
        patch = code[what](framework, rule) if what in code else contextlib.nullcontext()
        began = time.perf_counter()
        with patch, loaded_at_once(framework, when=what != "right"):
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
def loaded_at_once(framework: str, *, when: bool) -> Iterator[None]:
    """Do not compile the model's own step, which takes long and which the check does not take."""
    if not when or framework == "torch":
        yield
        return
    kind = {"jax": "JAXTrainer", "tensorflow": "TensorFlowTrainer", "keras": "KerasTrainer"}[framework]
    with mock.patch(f"levelfield.backends.{framework}_training.{kind}.step", return_value=0.0):
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
