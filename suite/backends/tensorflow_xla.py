"""TensorFlow, tf.function compiled by XLA."""

from typing import Any

from suite.backends import tensorflow_common
from suite.backends.checks import require_supported
from suite.backends.protocol import Options, Source, Step


class TensorFlowXLA:
    """A concrete tf.function with `jit_compile=True`."""

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("tensorflow-xla", options)
        self._tf: Any = tensorflow_common.configure("tensorflow-xla", options)
        self.version = str(self._tf.__version__)

    def load(self, source: Source) -> Step:
        """Trace the model's own definition over the weights, and let XLA compile it."""
        return tensorflow_common.make_step(self._tf, source, xla=True)

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        return {
            "mode": "tf.function, jit_compile",
            "XLA": "on",
            "XLA fast math": "off (its default)",
            "compile cache": "none (XLA keeps none on a CPU)",
            **tensorflow_common.settings(self._tf),
        }
