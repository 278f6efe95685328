"""TensorFlow, tf.function compiled by XLA."""

import os

from suite.backends import tensorflow_common
from suite.backends.protocol import Arrays, Options, Trainer, TrainingSource
from suite.backends.tensorflow import TensorFlow


class TensorFlowXLA(TensorFlow):
    """A concrete tf.function with `jit_compile=True`; on CUDA unverified (see `suite.backends.cuda`)."""

    name = "tensorflow-xla"
    xla = True

    def __init__(self, options: Options) -> None:
        # Off by default; said again so that the environment cannot turn it on.
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_enable_fast_math=false".strip()
        super().__init__(options)

    def compiled_text(self, inputs: Arrays) -> str:
        """Return XLA's text of the compiled model, which takes another compilation; empty where none is loaded."""
        return "" if self._traced is None else tensorflow_common.compiled_text(self._tf, self._traced, inputs)

    def load_training(self, source: TrainingSource) -> Trainer:
        """Trace forward, loss, backward and update as one function."""
        self._traced = None  # the model before this one goes first
        return super().load_training(source)

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        return {
            "mode": "tf.function, jit_compile",
            "XLA": "on",
            "XLA fast math": "off" if self._device == "cpu" else "as XLA chooses for GPUs",
            "compile cache": "none",
            "weights": tensorflow_common.weights(self._options),
            **tensorflow_common.settings(self._tf, self._device),
        }
