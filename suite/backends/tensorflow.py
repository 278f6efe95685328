"""TensorFlow, tf.function."""

from typing import Any

from suite.backends import tensorflow_common
from suite.backends.checks import require_supported
from suite.backends.protocol import Options, Source, Step


class TensorFlow:
    """A concrete tf.function with an input signature."""

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("tensorflow", options)
        self._tf: Any = tensorflow_common.configure("tensorflow", options)
        self.version = str(self._tf.__version__)

    def load(self, source: Source) -> Step:
        """Trace the model's own definition over the weights."""
        return tensorflow_common.make_step(self._tf, source, xla=False)

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        return {"mode": "tf.function, concrete", "XLA": "off", **tensorflow_common.settings(self._tf)}
