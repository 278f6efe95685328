"""The backends there are, as plain data: nothing is imported until one is created."""

import difflib
import importlib
from typing import Any, cast

import msgspec

from suite.backends.protocol import Backend, Options


class BackendInfo(msgspec.Struct, frozen=True):
    """What can be said of a backend without importing its framework."""

    name: str
    title: str
    module: str
    """Module that holds it."""
    kind: str
    """Name of its class there."""
    image: str
    """Requirement set, and so image, that it runs in."""
    reads: str
    """`native` (a definition and weights), `onnx` (a file), or `canary`."""
    distribution: str
    """The distribution whose version is the framework's."""
    layout: str
    """Order of images in memory that costs it no copy: `NHWC` or `NCHW` (see `suite.zoo.inputs.make`)."""
    devices: tuple[str, ...] = ("cpu", "cuda")
    """Where it runs."""
    capabilities: tuple[tuple[str, str | None], ...] = ()
    """Ranges of compute capability that it runs on, the upper end left out; empty: all that its CUDA has code for."""
    feed: str = "prefetch"
    """How it reads a dataset: a module of `suite.backends.feeds`."""
    profiler: str = ""
    """What reads its framework's own profile: a module of `suite.backends.profiling`; empty: nothing does."""
    settings: dict[str, tuple[str, ...]] = {}
    """What may be chosen beside the idiomatic way, and the values it may have, the idiomatic one first."""

    @property
    def trains(self) -> bool:
        """Whether it can train: frameworks can, runtimes that read a finished model cannot."""
        return self.reads == "native"


CANARY = "canary"
_CAST: dict[str, tuple[str, ...]] = {"cast": ("stored", "autocast")}
"""How torch computes in bf16 and fp16: weights stored in it, or cast in every call. In others it does nothing."""
_FROZEN: dict[str, tuple[str, ...]] = {"frozen": ("on", "off")}
"""Whether the compiler may prepare what follows from the weights alone. In training, where they change, nothing is."""
_EAGER: dict[str, tuple[str, ...]] = {"frozen": ("off", "on"), "linear": ("aten", "onednn")}
"""Eager mode prepares nothing. `frozen=on` traces and freezes the module; `linear=onednn` packs the weights of linear
layers for oneDNN, where ATen would choose the library."""

_BACKENDS = {
    info.name: info
    for info in (
        BackendInfo(
            "torch",
            "PyTorch",
            "suite.backends.torch",
            "Torch",
            "torch",
            "native",
            "torch",
            "NHWC",
            feed="torch_loader",
            profiler="torch",
            settings=_CAST | _EAGER,
        ),
        BackendInfo(
            "torch-compile",
            "PyTorch, compiled",
            "suite.backends.torch_compile",
            "TorchCompile",
            "torch",
            "native",
            "torch",
            "NHWC",
            feed="torch_loader",
            profiler="torch",
            settings=_CAST | _FROZEN,
        ),
        BackendInfo(
            "tensorflow",
            "TensorFlow",
            "suite.backends.tensorflow",
            "TensorFlow",
            "tensorflow",
            "native",
            "tensorflow-cpu",
            "NHWC",
            feed="tf_data",
            profiler="tensorflow",
            settings=_FROZEN,
        ),
        BackendInfo(
            "tensorflow-xla",
            "TensorFlow, XLA",
            "suite.backends.tensorflow_xla",
            "TensorFlowXLA",
            "tensorflow",
            "native",
            "tensorflow-cpu",
            "NHWC",
            feed="tf_data",
            profiler="tensorflow",
            settings=_FROZEN,
        ),
        BackendInfo(
            "jax",
            "JAX",
            "suite.backends.jax",
            "JAX",
            "jax",
            "native",
            "jax",
            "NHWC",
            profiler="jax",
            settings=_FROZEN,
        ),
        BackendInfo(
            "onnxruntime",
            "ONNX Runtime",
            "suite.backends.onnxruntime",
            "ONNXRuntime",
            "onnxruntime",
            "onnx",
            "onnxruntime",
            "NCHW",
            profiler="onnxruntime",
            settings={"graph": ("all", "extended", "basic", "off"), "spinning": ("on", "off")},
        ),
        BackendInfo(
            "openvino",
            "OpenVINO",
            "suite.backends.openvino",
            "OpenVINO",
            "openvino",
            "onnx",
            "openvino",
            "NCHW",
            ("cpu",),
            profiler="openvino",
            settings={"hint": ("latency", "throughput")},
        ),
        BackendInfo(
            "onnxruntime-tensorrt-rtx",
            "ONNX Runtime, TensorRT-RTX",
            "suite.backends.onnxruntime_tensorrt_rtx",
            "ONNXRuntimeTensorRTRTX",
            "onnxruntime-tensorrt-rtx",
            "onnx",
            "onnxruntime",
            "NCHW",
            ("cuda",),
            capabilities=(("8.6", "8.7"), ("8.9", "9.0"), ("12.0", None)),
        ),
        BackendInfo(
            "tensorrt",
            "TensorRT",
            "suite.backends.tensorrt",
            "TensorRT",
            "tensorrt",
            "onnx",
            "tensorrt-cu13-bindings",
            "NCHW",
            ("cuda",),
        ),
        BackendInfo(CANARY, "Canary", "suite.backends.canary", "Canary", "canary", "canary", "numpy", "NCHW", ("cpu",)),
    )
}


def names() -> tuple[str, ...]:
    """Return the names of the backends that are benchmarked on a CPU (the canary is not one of them)."""
    return tuple(name for name, info in _BACKENDS.items() if name != CANARY and "cpu" in info.devices)


def names_on_gpus_only() -> tuple[str, ...]:
    """Return the names of the backends that run on a GPU and nowhere else."""
    return tuple(name for name, info in _BACKENDS.items() if "cpu" not in info.devices)


def get(name: str) -> BackendInfo:
    """Return what is known of a backend, the canary included.

    Raises
    ------
    ValueError
        If there is no such backend; the message lists the close matches.
    """
    if name in _BACKENDS:
        return _BACKENDS[name]
    close = difflib.get_close_matches(name, _BACKENDS, n=3, cutoff=0.4)
    there = (*names(), *names_on_gpus_only())
    hint = f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(there)}."
    raise ValueError(f"There is no backend {name!r}. {hint}")


def create(name: str, options: Options) -> Backend:
    """Import a backend with its framework and configure it.

    Parameters
    ----------
    name
        Name of the backend.
    options
        How it is to be set up.

    Raises
    ------
    ValueError
        If there is no such backend.
    Unsupported
        If it cannot do what the options ask for, or its framework is not installed.
    """
    info = get(name)
    module: Any = importlib.import_module(info.module)
    return cast("Backend", getattr(module, info.kind)(options))
