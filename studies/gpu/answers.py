"""Whether an answer computed in TF32 can pass as fp32: it is switched on in torch without the comparison knowing."""

import os

import msgspec

from suite.backends import registry
from suite.backends.protocol import Options, Source
from suite.backends.torch import choose_tf32
from suite.zoo import inputs, models, parity, reference, weights


class Answer(msgspec.Struct, frozen=True):
    """One model's answer, with TF32 forbidden or allowed, compared as fp32."""

    model: str
    tf32: bool
    equal: bool
    relative_error: float | None
    """‖out − ref‖₂ / ‖ref‖₂; None where the shapes differ."""
    tolerance: float
    reason: str


class Answers(msgspec.Struct, frozen=True):
    """Of all models."""

    answers: tuple[Answer, ...]


def with_hidden_tf32(names: tuple[str, ...]) -> Answers:
    """Compute each model's answer twice in fp32, the second time with TF32 allowed."""
    import torch

    backend = registry.create("torch", Options(threads=len(os.sched_getaffinity(0)), device="cuda"))
    found: list[Answer] = []
    for name in names:
        model = models.get(name)
        arrays = weights.make(model)
        example = inputs.make(model, 0, 1, layout=registry.get("torch").layout)
        expected = reference.run(model, arrays, inputs.make(model, 0, 1))
        step = backend.load(Source(model=name, batch=1, weights=arrays, example=example))
        for allowed in (False, True):
            choose_tf32(torch, on=allowed)
            result = parity.judge(step(example), expected)
            error = result.errors.relative_l2 if result.errors is not None else None
            found.append(Answer(name, allowed, result.equal, error, result.tolerance, result.reason))
        choose_tf32(torch, on=False)
    return Answers(tuple(found))
