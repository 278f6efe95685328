"""What TensorFlow with and without XLA have in common: set-up, the traced function and the timed call."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends.checks import images_last, import_framework
from suite.backends.protocol import Arrays, Options, Source, Step
from suite.zoo import models
from suite.zoo.native import definition


def configure(backend: str, options: Options) -> Any:  # noqa: ANN401 (a framework's module has no type here)
    """Import TensorFlow with its threads fixed, and let fp32 be fp32."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # oneDNN may not compute fp32 in less (https://uxlfoundation.github.io/oneDNN, "Primitive attributes: fpmath mode").
    os.environ["ONEDNN_DEFAULT_FPMATH_MODE"] = "STRICT"
    tf: Any = import_framework(backend, "tensorflow")
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.experimental.enable_tensor_float_32_execution(enabled=False)
    tf.config.set_visible_devices([], "GPU")
    return tf


def make_step(tf: Any, source: Source, *, xla: bool) -> Step:  # noqa: ANN401 (the same)
    """Trace the model for the example's shapes, compile it by one throwaway call, and return the timed call."""
    model = models.get(source.model)
    network = definition(model, "tensorflow")
    weights = {
        name: tf.Variable(array, trainable=False, name=name.replace(".", "_"))
        for name, array in network.prepare(source.weights).items()
    }
    names = tuple(tensor.name for tensor in model.inputs)
    signature = [
        tf.TensorSpec(images_last(source.example[name]).shape, source.example[name].dtype, name=name) for name in names
    ]

    def network_of(*inputs: Any) -> Any:  # noqa: ANN401 (the same)
        return network.forward(weights, *inputs)

    # reduce_retracing is moot with a signature; autograph has nothing to rewrite in straight code.
    traced = tf.function(network_of, input_signature=signature, jit_compile=xla or None, autograph=False)
    call = traced.get_concrete_function()
    constant = tf.constant

    def step(inputs: Arrays) -> npt.NDArray[np.float32]:
        # constant() copies the input; numpy() waits for the result and copies it.
        return call(*[constant(images_last(inputs[name])) for name in names]).numpy()  # type: ignore[no-any-return]

    step(source.example)
    return step


def settings(tf: Any) -> dict[str, str]:  # noqa: ANN401 (the same)
    """Read back what can tilt the field."""
    return {
        "threads": str(tf.config.threading.get_intra_op_parallelism_threads()),
        "threads between operators": str(tf.config.threading.get_inter_op_parallelism_threads()),
        "TF32": "on" if tf.config.experimental.tensor_float_32_execution_enabled() else "off",
        "oneDNN fp32 mode": os.environ["ONEDNN_DEFAULT_FPMATH_MODE"],
        "oneDNN": "off" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0" else "on (TensorFlow's default)",
        "denormals": "flushed to zero in TensorFlow's threads (its default)",
        "image layout": "channels last",
        "output": "a new array every call",
    }
