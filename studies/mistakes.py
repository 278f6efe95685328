"""Which mistakes does the comparison with the reference see, in which precision? Prints a table for docs/limits.md.

Each mistake is put into the reference, computed with weights rounded to the precision, and judged as a worker's answer
is: `python -m studies.mistakes`, some minutes. No mistake was left out for what came of it.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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


def _changed(name: str, change: Callable[[_Array], None]) -> Callable[[Arrays], Arrays]:
    def wrong(arrays: Arrays) -> Arrays:
        changed = np.array(arrays[name])
        change(changed)
        return arrays | {name: changed}

    return wrong


def _answer(change: Callable[[_Array], None]) -> Callable[[_Array], _Array]:
    def wrong(output: _Array) -> _Array:
        changed = output.copy()
        change(changed)
        return changed

    return wrong


def _swap(array: _Array) -> None:
    array[[0, 1]] = array[[1, 0]]


def _set(where: Any, value: Callable[[_Array], Any]) -> Callable[[_Array], None]:  # noqa: ANN401
    def change(array: _Array) -> None:
        array[where] = value(array)

    return change


MISTAKES = (
    Mistake(
        "one number of 1000 is off by 0.8 %", "resnet50",
        output=_answer(_set((0, -1), lambda y: y[0, -1] * 1.0078)),
    ),
    Mistake("the last row is another's", "bert", output=_answer(_set((0, -1), lambda y: y[0, -2]))),
    Mistake("the last row is not written (zeros)", "bert", output=_answer(_set((0, -1), lambda _: 0))),
    Mistake("the last tile of the last product lacks its last 16 terms", "bert", (bert, "dense", _last_tile)),
    Mistake("max() turns NaN into 0", "resnet50", (resnet50, "relu", lambda _: lambda x: np.fmax(x, 0))),
    Mistake("two channels of a convolution are swapped", "resnet50", weights=_changed("layer2.0.conv2.weight", _swap)),
    Mistake("GELU by tanh", "bert", (bert, "gelu", _tanh_gelu)),
    Mistake("LayerNorm's epsilon 1e-5 for 1e-12", "bert", (bert, "norm", _with_epsilon(1e-5))),
    Mistake("BatchNorm's epsilon 1e-3 for 1e-5", "resnet50", (resnet50, "norm", _with_epsilon(1e-3))),
    Mistake("LayerNorm's variance over n − 1", "bert", (bert, "norm", _bessel)),
    Mistake("padding (0, 2) for (1, 1) in one convolution", "resnet50", (resnet50, "conv", _shifted_padding)),
    Mistake("the answer to the input before (a stale cache)", "mlp", output=_answer(_set(1, lambda y: y[0]))),
    Mistake("the last item of the batch is not computed", "mlp", output=_answer(_set(-1, lambda _: 0))),
    Mistake("ReLU for ReLU6", "mobilenet", (mobilenet, "relu6", lambda _: lambda x: np.maximum(x, 0))),
    Mistake("one bias of the last layer is forgotten", "bert", weights=_changed(f"{LAST}.bias", _set(-1, lambda _: 0))),
    Mistake(
        "one weight of the last layer has the other sign", "resnet50",
        weights=_changed("fc.weight", _set((-1, -1), lambda w: -w[-1, -1])),
    ),
    Mistake("one layer of twelve rounds its weights to bf16", "bert", (bert, "dense", _narrow)),
    Mistake(
        "positions count from 1", "bert",
        weights=_changed(
            "embeddings.position_embeddings.weight",
            _set(slice(None), lambda w: np.roll(w, -1, axis=0)),
        ),
    ),
    Mistake("the average is over 48 of 49 positions", "resnet50", (resnet50, "head", _of_48)),
    Mistake(
        "the last row of the image is not read", "resnet50",
        inputs=_changed("images", _set((..., -1, slice(None)), lambda _: 0)),
    ),
    Mistake(
        "a token is looked up one beside", "bert",
        inputs=_changed("input_ids", _set((0, 5), lambda x: x[0, 5] + 1)),
    ),
)  # fmt: skip


@contextmanager
def _wrong(mistake: Mistake) -> Iterator[None]:
    if mistake.function is None:
        yield
        return
    module, name, make = mistake.function
    right = getattr(module, name)
    setattr(module, name, make(right))
    try:
        yield
    finally:
        setattr(module, name, right)


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
