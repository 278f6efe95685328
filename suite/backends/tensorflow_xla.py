"""TensorFlow, tf.function compiled by XLA."""

import os
from typing import Any

from suite.backends import tensorflow_common
from suite.backends.checks import require_supported
from suite.backends.protocol import Options, Source, Step


class TensorFlowXLA:
    """A concrete tf.function with `jit_compile=True`."""

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("tensorflow-xla", options)
        # Off by default; said again so that the environment cannot turn it on.
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_enable_fast_math=false".strip()
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
            "XLA fast math": "off",
            "compile cache": "none",
            **tensorflow_common.settings(self._tf),
        }
