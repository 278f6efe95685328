"""JAX, jit."""

import os
from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends import cuda, decoding, hlo
from levelfield.backends.checks import (
    as_defined,
    images_first,
    images_last,
    import_framework,
    outputs,
    require_decoding,
    require_supported,
)
from levelfield.backends.decoding import Decoder, DecodingSource
from levelfield.backends.precisions import STORED
from levelfield.backends.protocol import Arrays, Options, Resident, Source, Step, Trainer, TrainingSource
from levelfield.record.measured import Computed
from levelfield.zoo import models
from levelfield.zoo.native import channels_last, definition

_PRODUCTS = MappingProxyType({"fp32": "highest", "tf32": "tensorfloat32"})
"""`jax_default_matmul_precision`, which convolutions follow too."""


class JAX:
    """A jitted pure function, lowered and compiled ahead of time for the example's shapes.

    On CUDA (run on an NVIDIA H200, docs/gpu.md) memory is taken as it is needed: by default JAX takes
    three quarters of the GPU at its start, and other workers share the GPU.

    On the CPU a frozen function is compiled at every launch, and not kept in the compile cache: its executable holds
    the weights, and to write and read those takes longer than to compile (docs/method.md, "What is prepared once").

    See https://docs.jax.dev/en/latest/aot.html and https://docs.jax.dev/en/latest/persistent_compilation_cache.html
    https://docs.jax.dev/en/latest/gpu_memory_allocation.html
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("jax", options)
        self._options = options
        self._device = options.device
        self._executable: Any = None
        # One platform: on a CPU JAX would look for accelerators and warn, and without a GPU fall back to the CPU.
        os.environ["JAX_PLATFORMS"] = options.device
        if options.device == cuda.DEVICE:
            os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        self._jax: Any = import_framework("jax", "jax")
        config = self._jax.config
        # In bf16 and fp16 the types of the operands decide.
        config.update("jax_default_matmul_precision", _PRODUCTS.get(options.precision, "default"))
        if options.cache is not None:
            config.update("jax_compilation_cache_dir", str(options.cache))
            # Keep everything, however small or quick to compile.
            config.update("jax_persistent_cache_min_compile_time_secs", 0)
            config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        self.version = str(self._jax.__version__)
        if self._device == cuda.DEVICE:
            self._require_gpu()

    def _require_gpu(self) -> None:
        try:
            platform = self._jax.devices()[0].platform
        # JAX's messages for a platform that does not start, and for one that it was not installed with.
        except (RuntimeError, AssertionError) as error:
            why = " ".join(str(error).split())[:200] or f"jax {self.version} has no plugin for CUDA"
            raise cuda.sees_none("jax", why) from error
        if platform != "gpu":
            raise cuda.fell_back("jax", platform)

    def load(self, source: Source) -> Step:
        """Put the weights on the device and compile the model's own definition."""
        compiled, weights, names = self._compiled(source)

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            # asarray waits for the result, and on the CPU shows it without a copy.
            return np.asarray(compiled(*weights, *[images_last(inputs[name]) for name in names]))

        shown = as_defined(models.get(source.model))
        return (lambda inputs: shown(step(inputs))) if shown is images_first else step

    def load_own(self, source: Source) -> Callable[[Arrays], Any]:
        """Compile a function of arrays, ahead of time."""
        jax, names = self._jax, tuple(source.example)
        self._executable = None  # frees the model that was loaded before
        self._use_cache(on=True)
        example = [source.example[name] for name in names]
        compiled = jax.jit(source.network).lower(*example).compile(self._compiler)
        return lambda inputs: outputs(compiled(*[inputs[name] for name in names]), np.asarray)

    def load_resident(self, source: Source) -> Resident:
        """Do as `load` does, for arrays that stay on the device."""
        compiled, weights, names = self._compiled(source)
        put, wait = self._jax.device_put, self._jax.block_until_ready

        def place(inputs: Arrays) -> list[Any]:
            return wait([put(images_last(inputs[name])) for name in names])  # type: ignore[no-any-return]

        def run(placed: list[Any]) -> Any:  # noqa: ANN401 (an array of JAX's)
            return compiled(*weights, *placed).block_until_ready()

        shown = as_defined(models.get(source.model))
        return Resident(place=place, run=run, fetch=lambda output: shown(np.asarray(output)))

    def _compiled(self, source: Source) -> tuple[Any, tuple[Any, ...], tuple[str, ...]]:
        """Return the compiled function, the weights to call it with (frozen: none), and its inputs' names."""
        jax = self._jax
        self._executable = None  # frees the model that was loaded before
        self._use_cache(on=not self._holds_weights)
        forward, weights, names = self._function(source)
        example = [images_last(source.example[name]) for name in names]
        arguments: tuple[Any, ...] = (weights,)
        if self._frozen:
            forward, arguments = partial(forward, weights), ()
        self._executable = jax.jit(forward).lower(*arguments, *example).compile(self._compiler)
        return self._executable, arguments, names

    def _function(self, source: Source) -> tuple[Callable[..., Any], Any, tuple[str, ...]]:
        """Return the model's function of weights and inputs, the weights on the device, and the inputs' names."""
        jax, model = self._jax, models.get(source.model)
        network = definition(model, "jax")
        dtype = jax.numpy.dtype(STORED.get(self._options.precision, "float32"))
        prepared = channels_last(source.weights)
        weights = jax.device_put({name: array.astype(dtype, copy=False) for name, array in prepared.items()})
        forward = network.forward if dtype == np.float32 else _lowered(jax, network.forward, dtype)
        return forward, weights, tuple(tensor.name for tensor in model.inputs)

    @property
    def _frozen(self) -> bool:
        # In bf16 JAX 0.12.0.1 computes NaN where the weights of ResNet-50 are constants, not where they are arguments.
        default = "off" if self._options.precision == "bf16" else "on"
        return self._options.settings.get("frozen", default) == "on"

    @property
    def _holds_weights(self) -> bool:
        """Whether the weights make an executable larger than it is worth keeping; not measured on GPUs."""
        return self._frozen and self._device == "cpu"

    def _cached(self) -> str:
        config = self._jax.config
        if not config.jax_compilation_cache_dir:
            return "none"
        return "kept" if config.jax_enable_compilation_cache else "none: the executable holds the weights"

    def _use_cache(self, *, on: bool) -> None:
        from jax.experimental.compilation_cache import compilation_cache

        self._jax.config.update("jax_enable_compilation_cache", on and self._options.cache is not None)
        compilation_cache.reset_cache()  # it asks once, at its first compilation

    def computed(self, inputs: Arrays) -> Computed:
        return hlo.computed(self.compiled_text(inputs), self._options.precision)

    def compiled_text(self, inputs: Arrays) -> str:
        """Return XLA's text of the compiled model; empty where none is loaded."""
        del inputs  # compiled for their shapes: its text says it without a call
        return str(self._executable.as_text()) if self._executable is not None else ""

    def load_decoding(self, source: DecodingSource) -> Decoder:
        """Compile the model's function of tokens and caches; the caches are donated."""
        self._executable = None  # frees the model that was loaded before
        model, _ = require_decoding("jax", source, self._options)
        self._use_cache(on=not self._holds_weights)
        weights = self._jax.device_put(channels_last(source.weights))
        network = definition(model, "jax")
        return decoding.with_jax(self._jax, network, weights, source, self._compiler, frozen=self._frozen)

    def load_training(self, source: TrainingSource) -> Trainer:
        """Compile value_and_grad and the update as one function."""
        self._executable = None  # frees the model that was loaded before
        self._use_cache(on=True)
        from levelfield.backends.jax_training import JAXTrainer

        return JAXTrainer(self._jax, source, self._compiler)

    @property
    def _compiler(self) -> dict[str, bool]:
        """A flag of the CPU's compiler; on GPUs nothing needs to be turned off."""
        return {"xla_cpu_enable_fast_math": False} if self._device == "cpu" else {}

    def device_memory(self) -> dict[str, int]:
        found = self._jax.devices()[0].memory_stats() if self._device != "cpu" else None
        return {"peak allocated": int(found["peak_bytes_in_use"])} if found and "peak_bytes_in_use" in found else {}

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        config = self._jax.config
        found = {
            "mode": "jit, compiled ahead of time",
            "weights": "constants of the compiled function" if self._frozen else "arguments of every call",
            "threads": f"{len(os.sched_getaffinity(0))} (JAX obeys the CPU affinity alone)",
            "platform": self._jax.devices()[0].platform,
            "fp32 matrix products": str(config.jax_default_matmul_precision),
            "XLA fast math": "off",
            "64-bit": "on" if config.jax_enable_x64 else "off",
            "compile cache": self._cached(),
            "image layout": "channels last",
            "output": "a read-only view of an array made by the call",
        }
        if self._device == "cpu":
            return found
        return found | {
            "device": self._device,
            "XLA fast math": "as XLA chooses for GPUs",
            "GPU memory": "as needed (no preallocation)",
            "host memory": "pageable",
        }


def _lowered(jax: Any, forward: Callable[..., Any], dtype: Any) -> Callable[..., Any]:  # noqa: ANN401 (as above)
    """Cast what is no index to a lower precision before the network, and its output back to float32."""

    def lowered(weights: Any, *inputs: Any) -> Any:  # noqa: ANN401 (arrays of JAX's)
        floating = [jax.numpy.issubdtype(each.dtype, jax.numpy.floating) for each in inputs]
        cast = [each.astype(dtype) if yes else each for each, yes in zip(inputs, floating, strict=True)]
        return forward(weights, *cast).astype(jax.numpy.float32)

    return lowered
