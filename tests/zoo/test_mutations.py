"""The gate catches the mistakes that people make: each is put into the reference, rounded to float32 and judged."""

import math
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from levelfield.zoo import inputs, models, parity, reference
from levelfield.zoo.bert import reference as bert
from levelfield.zoo.resnet50 import reference as resnet50

Mistake = tuple[ModuleType, str, Callable[[Any], Callable[..., Any]]]
"""Module, function, and what makes the wrong function of the right one."""


def tanh_gelu(_: Any) -> Callable[..., Any]:
    return lambda x: np.asarray(x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def layer_norm_epsilon(norm: Any) -> Callable[..., Any]:
    return lambda w, name, x, _: norm(w, name, x, 1e-5)


def forgotten_mask(attention: Any) -> Callable[..., Any]:
    return lambda w, name, x, mask, sizes: attention(w, name, x, np.ones_like(mask), sizes=sizes)


def strides_of_version_1_0(conv: Any) -> Callable[..., Any]:
    def wrong(w: Any, name: str, x: Any, stride: int = 1, padding: int = 0) -> Any:
        if name.startswith("layer") and name[6:] == ".0.conv1" and name[5] != "1":
            return conv(w, name, x, 2, padding)
        return conv(w, name, x, 1 if name.endswith("conv2") else stride, padding)

    return wrong


@pytest.mark.parametrize(
    ("name", "mistakes"),
    [
        ("bert", [(bert, "gelu", tanh_gelu), (bert, "norm", layer_norm_epsilon), (bert, "attention", forgotten_mask)]),
        ("resnet50", [(resnet50, "conv", strides_of_version_1_0)]),
    ],
    ids=["bert", "resnet50"],
)
def test_a_mistake_is_seen(name: str, mistakes: list[Mistake], request: pytest.FixtureRequest) -> None:
    model = models.get(name)
    run = partial(reference.run, model, request.getfixturevalue(f"{name}_weights"), inputs.make(model, 0, 1))
    right = run()
    assert parity.judge(right.astype(np.float32), right).equal
    for module, function, mistake in mistakes:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, function, mistake(getattr(module, function)))
            judgement = parity.judge(run().astype(np.float32), right)
        assert not judgement.equal, function
        assert judgement.errors is not None, function
        assert judgement.errors.finite, function
        # Not by a hair: a mistake and rounding are a decade apart.
        assert judgement.errors.relative_l2 > 10 * parity.TOLERANCES["fp32"], function
