"""What frameworks call the types of numbers, and the precisions they are here."""

from collections.abc import Mapping
from types import MappingProxyType

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
