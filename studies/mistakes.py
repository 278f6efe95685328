"""Which mistakes does the comparison with the reference see, in which precision? Prints a table for docs/limits.md.

Each mistake is put into the reference, computed with weights rounded to the precision, and judged as a worker's answer
is: `python -m studies.mistakes`, some minutes. No mistake was left out for what came of it.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest import mock

import msgspec
import numpy as np

from levelfield.prepare.artifacts import Artifacts
from levelfield.zoo import inputs, models, parity, reference, rounding, sensitivity, weights
from levelfield.zoo.bert import reference as bert
from levelfield.zoo.mobilenet import reference as mobilenet
from levelfield.zoo.resnet50 import reference as resnet50
from levelfield.zoo.weights import Arrays

PRECISIONS = ("fp32", "bf16", "int8")
LAST = "encoder.layer.11.output.dense"
"""BERT's last dense layer."""
_Array = np.ndarray[Any, np.dtype[Any]]


class Mistake(msgspec.Struct, frozen=True):
    """What somebody does wrong: in a function of the reference, in what it is given, or in the answer."""

    title: str
    model: str
    function: tuple[Any, str, Callable[..., Any]] | None = None
    """Module, name, and what makes the wrong function of the right one."""
    weights: Callable[[Arrays], Arrays] = lambda arrays: arrays
    inputs: Callable[[Arrays], Arrays] = lambda arrays: arrays
    output: Callable[[_Array], _Array] = lambda output: output


def _tanh_gelu(_: Any) -> Callable[..., Any]:  # noqa: ANN401
    return lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _with_epsilon(epsilon: float) -> Callable[..., Any]:
    return lambda norm: lambda w, name, x, _=0.0: norm(w, name, x, epsilon)


def _bessel(norm: Any) -> Callable[..., Any]:  # noqa: ANN401
    def wrong(w: Arrays, name: str, x: _Array, epsilon: float = 0.0) -> _Array:
        made = norm(w, name, x, epsilon) - w[f"{name}.bias"]
        return np.asarray(made * math.sqrt(1 - 1 / x.shape[-1]) + w[f"{name}.bias"])

    return wrong


def _last_tile(dense: Any) -> Callable[..., Any]:  # noqa: ANN401
    """The last 16 columns of the last layer lack the last 16 terms of their sums."""

    def wrong(w: Arrays, name: str, x: _Array) -> _Array:
        found: _Array = dense(w, name, x)
        if name == LAST:
            found[..., -16:] -= x[..., -16:] @ w[f"{name}.weight"][-16:, -16:].T
        return found

    return wrong


def _narrow(dense: Any) -> Callable[..., Any]:  # noqa: ANN401
    """One layer of twelve multiplies in bf16."""

    def wrong(w: Arrays, name: str, x: _Array) -> _Array:
        if name != LAST:
            return np.asarray(dense(w, name, x))
        return np.asarray(
            dense(rounding.weights({k: w[k] for k in (f"{name}.weight", f"{name}.bias")}, "bf16"), name, x)
        )

    return wrong


def _shifted_padding(conv: Any) -> Callable[..., Any]:  # noqa: ANN401
    def wrong(w: Arrays, name: str, x: _Array, stride: int = 1, padding: Any = 0) -> _Array:  # noqa: ANN401
        return np.asarray(conv(w, name, x, stride, (0, 2) if padding == 1 and name.startswith("layer4.0") else padding))

    return wrong


def _of_48(head: Any) -> Callable[..., Any]:  # noqa: ANN401
    return lambda w, x: head(w, x.reshape(len(x), 1, -1, x.shape[-1])[:, :, :-1])


def _answer(where: Any, value: Callable[[_Array], Any]) -> Callable[[_Array], _Array]:  # noqa: ANN401
    def wrong(array: _Array) -> _Array:
        changed = array.copy()
        changed[where] = value(array)
        return changed

    return wrong


def _changed(name: str, where: Any, value: Callable[[_Array], Any]) -> Callable[[Arrays], Arrays]:  # noqa: ANN401
    wrong = _answer(where, value)
    return lambda arrays: arrays | {name: wrong(arrays[name])}


MISTAKES = (
    Mistake("one number of 1000 is off by 0.8 %", "resnet50", output=_answer((0, -1), lambda y: y[0, -1] * 1.0078)),
    Mistake("the last row is another's", "bert", output=_answer((0, -1), lambda y: y[0, -2])),
    Mistake("the last row is not written (zeros)", "bert", output=_answer((0, -1), lambda _: 0)),
    Mistake("the last tile of the last product lacks its last 16 terms", "bert", (bert, "dense", _last_tile)),
    Mistake("max() turns NaN into 0", "resnet50", (resnet50, "relu", lambda _: lambda x: np.fmax(x, 0))),
    Mistake(
        "two channels of a convolution are swapped", "resnet50",
        weights=_changed("layer2.0.conv2.weight", [0, 1], lambda w: w[[1, 0]]),
    ),
    Mistake("GELU by tanh", "bert", (bert, "gelu", _tanh_gelu)),
    Mistake("LayerNorm's epsilon 1e-5 for 1e-12", "bert", (bert, "norm", _with_epsilon(1e-5))),
    Mistake("BatchNorm's epsilon 1e-3 for 1e-5", "resnet50", (resnet50, "norm", _with_epsilon(1e-3))),
    Mistake("LayerNorm's variance over n − 1", "bert", (bert, "norm", _bessel)),
    Mistake("padding (0, 2) for (1, 1) in one convolution", "resnet50", (resnet50, "conv", _shifted_padding)),
    Mistake("the answer to the input before (a stale cache)", "mlp", output=_answer(1, lambda y: y[0])),
    Mistake("the last item of the batch is not computed", "mlp", output=_answer(-1, lambda _: 0)),
    Mistake("ReLU for ReLU6", "mobilenet", (mobilenet, "relu6", lambda _: lambda x: np.maximum(x, 0))),
    Mistake("one bias of the last layer is forgotten", "bert", weights=_changed(f"{LAST}.bias", -1, lambda _: 0)),
    Mistake(
        "one weight of the last layer has the other sign", "resnet50",
        weights=_changed("fc.weight", (-1, -1), lambda w: -w[-1, -1]),
    ),
    Mistake("one layer of twelve rounds its weights to bf16", "bert", (bert, "dense", _narrow)),
    Mistake(
        "positions count from 1", "bert",
        weights=_changed("embeddings.position_embeddings.weight", ..., lambda w: np.roll(w, -1, axis=0)),
    ),
    Mistake("the average is over 48 of 49 positions", "resnet50", (resnet50, "head", _of_48)),
    Mistake(
        "the last row of the image is not read", "resnet50",
        inputs=_changed("images", (..., -1, slice(None)), lambda _: 0),
    ),
    Mistake(
        "a token is looked up one beside", "bert",
        inputs=_changed("input_ids", (0, 5), lambda x: x[0, 5] + 1),
    ),
)  # fmt: skip


def _wrong(mistake: Mistake) -> AbstractContextManager[object]:
    if mistake.function is None:
        return nullcontext()
    module, name, make = mistake.function
    return mock.patch.object(module, name, make(getattr(module, name)))


def seen(mistake: Mistake, precision: str, artifacts: Artifacts) -> str:
    """Return by what a mistake is seen; raises ValueError where the right answer is not equal."""
    model = models.get(mistake.model)
    made, given = weights.make(model), inputs.make(model, 0, 2)
    rounded = made if precision == "fp32" else rounding.weights(made, precision)
    expected = artifacts.reference(model.name, 2)
    moves = artifacts.sensitivity(model.name, precision)
    allowed = min(parity.MOST, sensitivity.allowed(moves, precision))
    right = reference.run(model, rounded, given).astype(np.float32)
    if not parity.judge(right, expected, precision, allowed, moves.centred).equal:
        raise ValueError(f"{model.name} is not equal to itself in {precision}.")
    with _wrong(mistake):
        found = reference.run(model, mistake.weights(rounded), mistake.inputs(given))
    found = mistake.output(found).astype(np.float32)
    if not parity.judge(found, expected, precision, centred=moves.centred).equal:
        return "all"
    return "single" if not parity.judge(found, expected, precision, allowed, moves.centred).equal else "–"


def main() -> None:
    artifacts = Artifacts()
    print("| mistake | in | " + " | ".join(PRECISIONS) + " |\n|---|---|" + "---|" * len(PRECISIONS))
    for mistake in MISTAKES:
        found = [seen(mistake, precision, artifacts) for precision in PRECISIONS]
        print(f"| {mistake.title} | `{mistake.model}` | " + " | ".join(found) + " |", flush=True)


if __name__ == "__main__":
    main()
