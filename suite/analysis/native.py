"""For which precisions a processor has instructions, from the flags in the fingerprint."""

from collections.abc import Mapping
from types import MappingProxyType

from suite.records.schema import Absent, Fingerprint

FLAGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        # x86: AVX512_BF16 and AMX tiles; ARM: FEAT_BF16.
        "bf16": ("avx512_bf16", "amx_bf16", "bf16"),
        # x86: the VNNI dot products and AMX tiles; ARM: FEAT_DotProd and FEAT_I8MM.
        "int8": ("avx512_vnni", "avx_vnni", "avx_vnni_int8", "amx_int8", "asimddp", "i8mm"),
    }
)
"""Any one of these is enough."""


def missing(machine: Fingerprint, precision: str) -> str:
    """Say that a processor has no instructions for a precision; empty where it has, or where nothing is known.

    Examples
    --------
    >>> missing({"cpu": {"flags": "avx2 avx512f"}}, "bf16")
    'This processor has none of avx512_bf16, amx_bf16, bf16'
    """
    wanted = FLAGS.get(precision)
    flags = machine.get("cpu", {}).get("flags", Absent("not asked"))
    if wanted is None or not isinstance(flags, str):
        return ""
    there = set(flags.split())
    return "" if there & set(wanted) else f"This processor has none of {', '.join(wanted)}"
