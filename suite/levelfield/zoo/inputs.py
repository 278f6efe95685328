"""Structured inputs: input *i* of a model depends on *i* alone, never on the batch it stands in.

Random networks answer nearly alike to any noise, so the inputs have structure (patterns, lengths, directions) that
makes the answers differ; each model's own folder says which.
"""

from functools import partial

import numpy as np
import numpy.typing as npt

from levelfield.zoo.spec import Model
from levelfield.zoo.weights import SEED, Arrays


def make(model: Model, start: int, count: int, *, layout: str = "NCHW") -> Arrays:
    """Make inputs `start` … `start + count - 1` of a model, one entry an input tensor, shape (count, …).

    `layout`: order of images *in memory*, `NCHW` (C order) or `NHWC`; shape and values are the same, and the right one
    costs no copy. Raises ValueError: there would be no input, or the model has no seeded inputs.
    """
    if not model.has_inputs:
        raise ValueError(f"{model.title} has no seeded inputs: it is trained on data.")
    if count < 1 or start < 0:
        raise ValueError(f"Inputs {start} to {start + count - 1} were asked for; at least one is needed, from 0 on.")
    seeded_input = model.module().seeded_input
    if model.operator is not None:
        seeded_input = partial(seeded_input, model)
    items = [seeded_input(f"{SEED}/{model.inputs_stream}/inputs/{index}") for index in range(start, start + count)]
    arrays = {tensor.name: np.stack([item[tensor.name] for item in items]) for tensor in model.inputs}
    if layout == "NCHW":
        return arrays
    if layout == "NHWC":
        return {name: _channels_last(array) if array.ndim == 4 else array for name, array in arrays.items()}
    raise ValueError(f"There is no memory layout {layout!r}; there are NCHW and NHWC.")


def _channels_last(images: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return np.ascontiguousarray(images.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
