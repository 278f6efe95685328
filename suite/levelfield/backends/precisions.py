"""Which backend computes in which precision on which device, how, and why not where it does not.

What a backend's own entry in `backends.registry` does not have is `unsupported`: the arm is absent with its
reason, and nothing has failed. `plan` asks before it plans, `schedule.launches` before it launches, and
every backend once more before it imports its framework.
"""

from collections.abc import Mapping
from types import MappingProxyType

from levelfield.backends import registry
from levelfield.backends.info import PRECISIONS, Way

_WHY_NOT: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("cpu", "tf32"): "TF32 is how NVIDIA's tensor cores multiply, and a CPU has none: ask for it on a GPU",
        ("cpu", "int4"): "only files of your own are in int4",
        ("cuda", "int4"): "int4 is measured on CPUs only in this version",
        ("cpu", "fp16"): "fp16 is measured on GPUs: on CPUs frameworks compute it by way of fp32; ask for bf16",
        ("cuda", "int8"): "int8 is measured on CPUs only in this version",
        ("cuda", "bf16"): (
            "ONNX has bf16 convolutions from operator set 22 on only, and the files here are of an earlier one"
        ),
    }
)
"""By device and precision, of all backends without a reason of their own."""
_WHY_NOT_TRAINED: Mapping[str, str] = MappingProxyType(
    {
        "tf32": "no tolerance is derived for training in TF32",
        "fp16": "training in fp16 is for GPUs; ask for bf16",
        "int8": "8 bits hold no gradient: quantisation comes after training",
    }
)
"""By precision, of all backends that train."""


def supported(backend: str, device: str = "cpu", *, training: bool = False, own: bool = False) -> tuple[str, ...]:
    """Return the precisions that a backend computes in on a device, widest first.

    `own`: with those of a user's own files.
    """
    ways = _ways(backend, device, training=training)
    return tuple(precision for precision in PRECISIONS if precision in ways and (own or not ways[precision].own))


def why_not(backend: str, precision: str, device: str = "cpu", *, training: bool = False, own: bool = False) -> str:
    """Say why a backend does not compute in a precision on a device; empty where it does, or does not run there.

    `own`: it is that of a user's own file.
    """
    possible = supported(backend, device, training=training, own=own)
    if precision in possible or not possible:
        return ""
    if training:
        reason = _WHY_NOT_TRAINED.get(precision, "its mixed precision is not defined here")
        return f"{backend} trains in {', '.join(possible)} here, not in {precision}: {reason}."
    its_own = registry.get(backend).why_not.get((device, precision))
    reason = its_own or _WHY_NOT.get((device, precision), "this version does not ask it to")
    return f"{backend} runs {', '.join(possible)} here, not {precision}: {reason}."


def way(backend: str, precision: str, device: str = "cpu", *, training: bool = False) -> Way:
    """Return how a backend computes in a precision.

    Raises ValueError: if it does not.
    """
    found = _ways(backend, device, training=training).get(precision)
    if found is None:
        reason = why_not(backend, precision, device, training=training)
        raise ValueError(reason or f"{backend} does not {'train' if training else 'run'} on {device}.")
    return found


def _ways(backend: str, device: str, *, training: bool) -> dict[str, Way]:
    info = registry.get(backend)
    return (info.training_ways if training else info.ways).get(device, {})


STORED: Mapping[str, str] = MappingProxyType({"bf16": "bfloat16", "fp16": "float16"})
"""Precisions in which weights and activations are stored, as NumPy and the native frameworks call their types."""
LOSS_SCALES: Mapping[str, float] = MappingProxyType({"fp16": 1024.0})
"""What the loss is multiplied by before the backward pass, and its gradients divided by after it, by precision.

Gradients below 6e-8 are zero in fp16. The factor is constant, between the 8 and 32768 that are published as working
(Micikevicius et al., arXiv:1710.03740, section 3.2), and a power of two, so that it rounds nothing. A factor that
grows and shrinks by itself would have frameworks leave out different steps, which then are not the same training.
"""
_PRECISIONS = MappingProxyType(
    dict.fromkeys(("float64", "double", "f64"), "fp64")
    | dict.fromkeys(("float32", "float", "f32"), "fp32")
    | dict.fromkeys(("bfloat16", "bf16"), "bf16")
    | dict.fromkeys(("float16", "half", "f16"), "fp16")
    | dict.fromkeys(("uint8", "int8", "u8", "i8", "s8"), "int8")
)


def precision_of(dtype: str) -> str:
    """Return the precision of a type by its name; other names as they are.

    Examples
    --------
    >>> precision_of("torch.bfloat16"), precision_of("s8"), precision_of("int32")
    ('bf16', 'int8', 'int32')
    """
    name = dtype.removeprefix("torch.")
    return _PRECISIONS.get(name, name)


def as_computed(products: Mapping[str, int], precision: str) -> dict[str, int]:
    """Count products by what they are computed in: where TF32 is asked for, those between fp32 tensors are in TF32."""
    return {"tf32" if precision == "tf32" and name == "fp32" else name: count for name, count in products.items()}
