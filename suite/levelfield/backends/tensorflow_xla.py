"""TensorFlow, tf.function compiled by XLA. The part on CUDA is unverified (see `backends.cuda`)."""

import os

from levelfield.backends.protocol import Options
from levelfield.backends.tensorflow import TensorFlow


class TensorFlowXLA(TensorFlow):
    """A concrete tf.function with `jit_compile=True`."""

    name = "tensorflow-xla"
    mode = "tf.function, jit_compile"
    xla = True

    def __init__(self, options: Options) -> None:
        # Off by default; set explicitly so that the environment cannot turn it on.
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_enable_fast_math=false".strip()
        super().__init__(options)

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        fast_math = "off" if self._device == "cpu" else "as XLA chooses for GPUs"
        return super().settings() | {"XLA fast math": fast_math, "compile cache": "none"}
