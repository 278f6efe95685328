"""Which backend computes in which precision on which device, how, and why not where it does not: one table.

What is not here is `unsupported`: the arm is absent with its reason, and nothing has failed. `suite.plan` asks before
it plans, `suite.schedule.launches` before it launches, and every backend once more before it imports its framework.

The rows on CUDA are written against the frameworks' documentation and unverified: see `suite.backends.cuda`.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "int8")
"""Widest first."""


class Way(msgspec.Struct, frozen=True):
    """How a backend computes in a precision."""

    how: str
    """In words, for the report's settings and `levelfield list`."""
    file: str = "fp32"
    """For backends that read ONNX: the precision of the file that they are given."""


_Table = Mapping[str, Mapping[str, Way]]

_FP32 = Way("everything in fp32")
_STORED = Way("weights and activations stored in bf16, sums inside products in fp32")
_STORED_FP16 = Way("weights and activations stored in fp16")
_TF32 = Way("tensors in fp32, products and convolutions in TF32")
_FP16_FILE = Way("the ONNX file's own tensors in fp16", file="fp16")
_QDQ = Way("post-training static quantisation, 8-bit products and convolutions", file="int8")

_NATIVE_CPU = {"fp32": _FP32, "bf16": _STORED}
_NATIVE_CUDA = {"fp32": _FP32, "tf32": _TF32, "bf16": _STORED, "fp16": _STORED_FP16}

_CPU: _Table = {
    "torch": _NATIVE_CPU,
    "torch-compile": _NATIVE_CPU,
    "tensorflow": _NATIVE_CPU,
    "tensorflow-xla": _NATIVE_CPU,
    "jax": _NATIVE_CPU,
    "onnxruntime": {"fp32": _FP32, "int8": _QDQ},
    "openvino": {
        "fp32": _FP32,
        "bf16": Way("OpenVINO converts the fp32 file: inference precision hint bf16"),
        "int8": _QDQ,
    },
    "canary": {"fp32": _FP32},
}
_CUDA: _Table = {
    "torch": _NATIVE_CUDA,
    "torch-compile": _NATIVE_CUDA,
    "tensorflow": _NATIVE_CUDA,
    "tensorflow-xla": _NATIVE_CUDA,
    "jax": _NATIVE_CUDA,
    "onnxruntime": {"fp32": _FP32, "tf32": _TF32, "fp16": _FP16_FILE},
    "onnxruntime-tensorrt-rtx": {"fp32": _FP32, "fp16": _FP16_FILE},
    "tensorrt": {"fp32": _FP32, "tf32": _TF32, "fp16": _FP16_FILE},
}
WAYS: Mapping[str, _Table] = MappingProxyType({"cpu": _CPU, "cuda": _CUDA})
"""Device to backend to precision."""

_WHY_NOT: Mapping[tuple[str, str, str], str] = MappingProxyType(
    {
        # Device, precision and backend; "*" stands for all that have no line of their own.
        ("cpu", "tf32", "*"): "TF32 is how NVIDIA's tensor cores multiply, and a CPU has none: ask for it on a GPU",
        ("cpu", "fp16", "*"): "fp16 is measured on GPUs: on CPUs frameworks compute it by way of fp32; ask for bf16",
        ("cpu", "bf16", "onnxruntime"): (
            "ONNX Runtime's CPU provider has no bf16 kernels for convolutions and matrix products"
        ),
        ("cpu", "int8", "torch"): (
            "PyTorch's static quantisation (torch.ao.quantization) is deprecated for torchao, which is not locked here"
        ),
        ("cpu", "int8", "torch-compile"): (
            "quantisation for torch.compile has left PyTorch for torchao, which is not locked here"
        ),
        ("cpu", "int8", "tensorflow"): (
            "TensorFlow quantises after training for LiteRT (TensorFlow Lite), which is another runtime"
        ),
        ("cpu", "int8", "tensorflow-xla"): (
            "TensorFlow quantises after training for LiteRT (TensorFlow Lite), which is another runtime"
        ),
        ("cpu", "int8", "jax"): "JAX has no static quantisation after training of its own",
        ("cuda", "int8", "*"): "int8 is measured on CPUs only in this version",
        ("cuda", "bf16", "*"): (
            "ONNX has bf16 convolutions from operator set 22 on only, and the files here are of an earlier one"
        ),
        ("cuda", "tf32", "onnxruntime-tensorrt-rtx"): "how TF32 is chosen for this plug-in is not documented",
    }
)


def supported(backend: str, device: str = "cpu") -> tuple[str, ...]:
    """Return the precisions that a backend computes in on a device, widest first; empty where it does not run."""
    there = WAYS.get(device, {}).get(backend, {})
    return tuple(precision for precision in PRECISIONS if precision in there)


def why_not(backend: str, precision: str, device: str = "cpu") -> str:
    """Say why a backend does not compute in a precision on a device; empty where it does.

    A device that a backend does not run on at all is for the backend itself to refuse.
    """
    there = supported(backend, device)
    if precision in there or not there:
        return ""
    reasons = (_WHY_NOT.get((device, precision, name)) for name in (backend, "*"))
    reason = next(filter(None, reasons), "this version does not ask it to")
    return f"{backend} runs {', '.join(there)} here, not {precision}: {reason}."


def way(backend: str, precision: str, device: str = "cpu") -> Way:
    """Return how a backend computes in a precision.

    Raises
    ------
    ValueError
        If it does not.
    """
    found = WAYS.get(device, {}).get(backend, {}).get(precision)
    if found is None:
        raise ValueError(why_not(backend, precision, device) or f"{backend} does not run on {device}.")
    return found
