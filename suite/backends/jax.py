"""JAX, jit."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends.checks import images_last, import_framework, require_supported
from suite.backends.protocol import Arrays, Options, Source, Step
from suite.zoo import models
from suite.zoo.native import definition


class JAX:
    """A jitted pure function, lowered and compiled ahead of time for the example's shapes.

    References
    ----------
    https://docs.jax.dev/en/latest/aot.html and https://docs.jax.dev/en/latest/persistent_compilation_cache.html
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("jax", options)
        os.environ["JAX_PLATFORMS"] = "cpu"  # or JAX looks for accelerators and warns
        self._jax: Any = import_framework("jax", "jax")
        config = self._jax.config
        config.update("jax_default_matmul_precision", "highest")
        if options.cache is not None:
            config.update("jax_compilation_cache_dir", str(options.cache))
            # Keep everything, however small or quick to compile.
            config.update("jax_persistent_cache_min_compile_time_secs", 0)
            config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        self.version = str(self._jax.__version__)

    def load(self, source: Source) -> Step:
        """Put the weights on the device and compile the model's own definition."""
        jax = self._jax
        model = models.get(source.model)
        network = definition(model, "jax")
        names = tuple(tensor.name for tensor in model.inputs)
        weights = jax.device_put(network.prepare(source.weights))
        example = [images_last(source.example[name]) for name in names]
        compiled = jax.jit(network.forward).lower(weights, *example).compile({"xla_cpu_enable_fast_math": False})

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            # asarray waits for the result, and shows it without a copy.
            return np.asarray(compiled(weights, *[images_last(inputs[name]) for name in names]))

        return step

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        config = self._jax.config
        return {
            "mode": "jit, compiled ahead of time",
            "threads": f"{len(os.sched_getaffinity(0))} (JAX obeys the CPU affinity alone)",
            "platform": self._jax.devices()[0].platform,
            "fp32 matrix products": str(config.jax_default_matmul_precision),
            "XLA fast math": "off",
            "64-bit": "on" if config.jax_enable_x64 else "off",
            "compile cache": "kept" if config.jax_compilation_cache_dir else "none",
            "image layout": "channels last",
            "output": "a read-only view of an array made by the call",
        }
