"""Layers of a function of TensorFlow's: it is run eagerly, and every operator is seen."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends.protocol import See

HOW = (
    "The function without its graph, operator by operator: Grappler and XLA fuse nothing across them, and the whole "
    "model's kernels may be others."
)


def caller(function: Callable[..., Any]) -> Callable[[list[Any], See], npt.NDArray[np.float32]]:
    """Return what computes a function eagerly, and shows what each operator puts out.

    A layer is named by the operator and its number: `MatMul 4`. Operators are seen as `tf.debugging`'s check of
    numerics sees them (`tensorflow.python.framework.op_callbacks`).

    Parameters
    ----------
    function
        Of tensors.
    """
    callbacks: Any = importlib.import_module("tensorflow.python.framework.op_callbacks")

    def call(arguments: list[Any], see: See) -> npt.NDArray[np.float32]:
        number = 0

        def seen(kind: str, _inputs: Any, _attributes: Any, outputs: Any, *_: Any, **__: Any) -> None:  # noqa: ANN401
            nonlocal number
            for output in outputs:
                see(f"{kind} {number}", _bytes_of(output.numpy()))
            number += 1

        callbacks.add_op_callback(seen)
        try:
            answer = function(*arguments)
        finally:
            callbacks.remove_op_callback(seen)
        return answer.numpy()  # type: ignore[no-any-return]

    return call


def _bytes_of(array: Any) -> npt.NDArray[np.generic]:  # noqa: ANN401
    return np.frombuffer(np.asarray(array).tobytes(), np.uint8)
