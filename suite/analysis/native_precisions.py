"""For which precisions a processor has instructions, from the flags in the fingerprint."""

from collections.abc import Mapping
from types import MappingProxyType

from suite.record.schema import Absent, Fingerprint

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
    """Return that a processor has no instructions for a precision, as a clause for a message.

    Parameters
    ----------
    machine
        Fingerprint, of which the CPU's flags are read.
    precision
        Such as `bf16`.

    Returns
    -------
    str
        Empty where it has one of `FLAGS`, needs none, or the flags are not known.

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
