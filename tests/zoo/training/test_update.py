"""Every known mistake of an optimizer is refused on every model that is trained; what float32 rounds is let through."""

import functools
import math
from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield.zoo import models, rounding
from levelfield.zoo.spec import Parameter
from levelfield.zoo.training import parity, update
from levelfield.zoo.training.optimizers import Updater
from levelfield.zoo.training.recipe import SGD, AdamW, Optimizer
from tests.backends.update_rules import RULES

Array = np.ndarray[Any, np.dtype[Any]]
OF_ADAMW = [name for name, rule in RULES.items() if isinstance(rule, AdamW)]
OF_SGD = [name for name, rule in RULES.items() if isinstance(rule, SGD)]


def followed(
    name: str,
    rule: Optimizer,
    *,
    dtype: type[np.floating[Any]] = np.float64,
    processes: int = 1,
    divisor: int | None = None,
) -> bytes:
    """Take the steps as a worker does: whole tensors, in float64 or float32, by a rule that may be another one."""
    model = models.get(name)
    state = {key: array.astype(dtype) for key, array in update.begin(model).items()}
    updater = Updater(model, update.amplified(rule, update.amplification(RULES[name])))
    for step in range(update.STEPS):
        given = [update.gradients(model, step, process) for process in range(processes)]
        sums = {key: np.sum([each[key].astype(dtype) for each in given], axis=0) for key in given[0]}
        updater.update(state, {key: array / dtype(divisor or processes) for key, array in sums.items()})
    return update.sample(model, dict(state)).tobytes()


def judged(name: str, values: bytes, *, processes: int = 1) -> update.Judgement:
    return update.judge(values, models.get(name), RULES[name], processes=processes)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [name for name in RULES if name != "bert"])
@pytest.mark.parametrize("processes", [1, 3])
def test_float32_follows_the_rule_with_room_to_spare(name: str, processes: int) -> None:
    found = judged(name, followed(name, RULES[name], dtype=np.float32, processes=processes), processes=processes)
    assert found.equal, found.reason
    assert 1e-9 < found.error < found.tolerance / 5


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("name", ["mlp", "digits_resnet"])
def test_weights_that_are_kept_in_a_lower_precision_are_refused(name: str, precision: str) -> None:
    """Mixed precision multiplies in it, and keeps its weights in float32; here they are rounded once, at the end."""
    right = np.frombuffer(followed(name, RULES[name], dtype=np.float32), dtype="<f4")
    found = judged(name, rounding.to_significand(right, rounding.SIGNIFICANDS[precision]).tobytes())
    assert not found.equal
    assert found.error > 10 * found.tolerance


@pytest.mark.parametrize("name", RULES)
def test_the_tolerance_is_derived_and_small(name: str) -> None:
    """The least that `parity.allowed` gives is 32 roundings; no recipe needs much more."""
    found = update.tolerance(models.get(name), RULES[name])
    assert parity.allowed(0) <= found < 1.5 * parity.allowed(0) < 1e-5


def changed(rule: Optimizer, **changes: float) -> Optimizer:
    return msgspec.structs.replace(rule, **{key: getattr(rule, key) * by for key, by in changes.items()})


NUMBERS: dict[str, dict[str, float]] = {
    "no weight decay": {"weight_decay": 0},
    "weight decay x 100": {"weight_decay": 100},
    "weight decay off by a thousandth": {"weight_decay": 1.001},
    "learning rate off by a thousandth": {"learning_rate": 1.001},
}
NUMBERS_OF_SGD = {"another momentum": {"momentum": 1.001}}
NUMBERS_OF_ADAMW = {
    "another beta1": {"beta1": 1.001},
    "another beta2": {"beta2": 0.999},
    "another epsilon": {"epsilon": 1.1},
    "another framework's epsilon": {"epsilon": 0.01},
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("name", "mistake"),
    [(name, mistake) for name in RULES for mistake in NUMBERS]
    + [(name, mistake) for name in OF_SGD for mistake in NUMBERS_OF_SGD]
    + [(name, mistake) for name in OF_ADAMW for mistake in NUMBERS_OF_ADAMW],
)
def test_a_wrong_number_is_refused(name: str, mistake: str) -> None:
    wrong = changed(RULES[name], **(NUMBERS | NUMBERS_OF_SGD | NUMBERS_OF_ADAMW)[mistake])
    refused(name, sampled(name, wrong))


def sampled(name: str, rule: Optimizer) -> bytes:
    """Take the steps on the sampled elements alone, amplified as the supervisor of the right rule says."""
    model, by = models.get(name), update.amplification(RULES[name])
    original, update.amplification = update.amplification, lambda _: by  # type: ignore[assignment]
    try:
        return np.concatenate(list(update.reference(model, rule).values())).astype("<f4").tobytes()
    finally:
        update.amplification = original


def refused(name: str, values: bytes) -> None:
    found = judged(name, values)
    assert not found.equal
    assert found.error > 10 * found.tolerance, "no question of luck"
    assert "does not follow the recipe: after 3 steps with given gradients" in found.reason


def sgd(rule: SGD, g: Array, b: Array, w: Array, *, decay: bool) -> Array:
    """Follow the momentum, and return it."""
    b *= rule.momentum
    b += g + rule.weight_decay * w * decay
    return b


def nesterov_sgd(self: Any, rule: SGD, name: str, w: Array, g: Array, *, decay: bool) -> None:
    d = g + rule.weight_decay * w * decay
    b = sgd(rule, g, self._first.setdefault(name, np.zeros_like(w)), w, decay=decay)
    w -= rule.learning_rate * (d + rule.momentum * b)


def without_momentum(self: Any, rule: SGD, name: str, w: Array, g: Array, *, decay: bool) -> None:
    del self, name
    w -= rule.learning_rate * (g + rule.weight_decay * w * decay)


def adamw(self: Any, rule: AdamW, name: str, w: Array, g: Array, *, decay: bool, how: str = "") -> None:
    """AdamW with one term otherwise."""
    m, v = (state.setdefault(name, np.zeros_like(w)) for state in (self._first, self._second))
    step = self._step
    if how == "coupled decay":
        g, decay = g + rule.weight_decay * w * decay, False
    m *= rule.beta1
    m += (1 - rule.beta1) * g
    v *= rule.beta2
    v += (1 - rule.beta2) * g * g
    w -= rule.learning_rate * rule.weight_decay * w * decay
    first = m / (1 - rule.beta1**step)
    root = np.sqrt(v / (1 - rule.beta2**step))
    match how:
        case "no bias correction":
            first, root = m, np.sqrt(v) + rule.epsilon
        case "epsilon under the root":
            root = np.sqrt(v / (1 - rule.beta2**step) + rule.epsilon)
        case "epsilon beside the uncorrected root":
            root = (np.sqrt(v) + rule.epsilon) / math.sqrt(1 - rule.beta2**step)
        case "Nesterov":
            first = (rule.beta1 * m + (1 - rule.beta1) * g) / (1 - rule.beta1**step)
            root += rule.epsilon
        case _:
            root += rule.epsilon
    w -= rule.learning_rate * first / root


CODE_OF_SGD: dict[str, Any] = {"Nesterov": nesterov_sgd, "no momentum": without_momentum}
CODE_OF_ADAMW: dict[str, Any] = {
    how: functools.partialmethod(adamw, how=how)
    for how in (
        "Nesterov", "coupled decay", "no bias correction", "epsilon under the root",
        "epsilon beside the uncorrected root",
    )
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("name", "mistake"),
    [(name, mistake) for name in OF_SGD for mistake in CODE_OF_SGD]
    + [(name, mistake) for name in OF_ADAMW for mistake in CODE_OF_ADAMW],
)
def test_wrong_code_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, mistake: str) -> None:
    own, code = ("_sgd", CODE_OF_SGD) if name in OF_SGD else ("_adamw", CODE_OF_ADAMW)
    with monkeypatch.context() as patch:
        patch.setattr(Updater, own, code[mistake])
        values = sampled(name, RULES[name])
    refused(name, values)


@pytest.mark.parametrize("name", RULES)
def test_decay_of_biases_and_norms_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Parameter, "decays", True)
        values = sampled(name, RULES[name])
    refused(name, values)


def test_a_tensor_that_is_left_out_is_named() -> None:
    """As one that stands in no parameter group would be."""
    model = models.get("mlp")
    parts = update.reference(model, RULES["mlp"])
    left_out = model.trained[-1].name
    parts[left_out] = update.sampled_begin(model)[left_out]
    found = judged("mlp", np.concatenate(list(parts.values())).astype("<f4").tobytes())
    assert not found.equal
    assert f"1 of {len(parts)} tensors are wrong, {left_out} the most" in found.reason


def test_the_sum_of_processes_gradients_is_not_their_mean() -> None:
    """Adam itself hardly cares; its epsilon does."""
    assert judged("mlp", followed("mlp", RULES["mlp"], processes=2), processes=2).equal
    summed = followed("mlp", RULES["mlp"], processes=2, divisor=1)
    assert judged("mlp", summed, processes=2).error > 1e-3
    assert judged("mlp", followed("mlp", RULES["mlp"]), processes=2).error > 1e-1


def test_what_is_not_a_sample_is_not_equal() -> None:
    values = sampled("mlp", RULES["mlp"])
    assert judged("mlp", values).equal
    nan = np.frombuffer(values, dtype="<f4").copy()
    nan[7] = math.nan
    for wrong, says in (
        (b"", "not as many as were asked for"),
        (values[:-1], "not as many as were asked for"),
        (values + b"\0\0\0\0", "not as many as were asked for"),
        (nan.tobytes(), "not finite"),
    ):
        found = judged("mlp", wrong)
        assert not found.equal
        assert found.error == math.inf
        assert says in found.reason
