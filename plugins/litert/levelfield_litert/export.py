"""TFLite files, converted from the models' TensorFlow definitions.

References
----------
https://ai.google.dev/edge/litert/models/convert_tf
https://ai.google.dev/edge/litert/models/post_training_quantization
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from levelfield.backends.checks import images_last
from levelfield.zoo import inputs
from levelfield.zoo.native import channels_last, definition
from levelfield.zoo.onnx_export import Exported, written
from levelfield.zoo.onnx_quantize import CALIBRATION_INPUTS, CALIBRATION_START
from levelfield.zoo.spec import Model
from levelfield.zoo.weights import Arrays

FILE = "model.tflite"
PRECISIONS = ("fp32", "int8")


def export(model: Model, weights: Arrays, batch: int, precision: str, folder: Path) -> Exported:
    """Convert a model for a fixed batch.

    `folder`: where to write `model.tflite`; it must exist. Raises ValueError: the model or the precision is not
    converted.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"TFLite files are converted in {', '.join(PRECISIONS)} here, not in {precision}.")
    if precision == "int8" and not model.quantized:
        raise ValueError(f"{model.title} is not quantised: leave out --precision int8.")
    import tensorflow as tf

    network = definition(model, "tensorflow")
    constants = {name: tf.constant(array) for name, array in channels_last(weights).items()}
    holder = tf.Module()  # without an object to save, the file has no signature and its inputs lose their names
    example = _inputs(model, 0, batch)

    def named(**given: Any) -> dict[str, Any]:  # noqa: ANN401 (tensors)
        return {model.output.name: network.forward(constants, *(given[tensor.name] for tensor in model.inputs))}

    signature = {name: tf.TensorSpec(array.shape, array.dtype, name=name) for name, array in example.items()}
    traced = tf.function(named, autograph=False).get_concrete_function(**signature)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced], holder)
    if precision == "int8":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]

        def calibration() -> Iterator[dict[str, Any]]:
            for first in range(0, CALIBRATION_INPUTS, batch):
                yield _inputs(model, CALIBRATION_START + first, batch)

        converter.representative_dataset = calibration
    (folder / FILE).write_bytes(converter.convert())
    return written(folder, [FILE], [_tensorflow(), "numpy"])


def _inputs(model: Model, first: int, batch: int) -> dict[str, Any]:
    made = inputs.make(model, first, batch)
    return {tensor.name: np.ascontiguousarray(images_last(made[tensor.name])) for tensor in model.inputs}


def _tensorflow() -> str:
    """Return the distribution that brings TensorFlow: it has two names."""
    import importlib.metadata

    names = ("tensorflow-cpu", "tensorflow")
    return next(name for name in names if any(importlib.metadata.distributions(name=name)))
