"""What identifies a processor beyond its name, what it can do, and what computes the products of an arm."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from levelfield.analysis import collect
from levelfield.record.schema import Absent, Fingerprint, Launch, Run

_X86 = (
    ("AMX", r"amx_tile", (("bf16", r"amx_bf16"), ("fp16", r"amx_fp16"), ("int8", r"amx_int8"))),
    ("AVX-512", r"avx512f", (("bf16", r"avx512_bf16"), ("fp16", r"avx512_fp16"), ("VNNI", r"avx512_vnni"))),
    ("AVX2", r"avx2", (("FMA", r"fma"), ("VNNI", r"avx_vnni"))),
    ("AVX", r"avx", ()),
    ("SSE4.2", r"sse4_2", ()),
)
_ARM = (
    ("SME", r"sme", ()),
    ("SVE2", r"sve2", (("bf16", r"svebf16|bf16"), ("i8mm", r"svei8mm|i8mm"))),
    ("SVE", r"sve", (("bf16", r"svebf16|bf16"), ("i8mm", r"svei8mm|i8mm"))),
    ("Advanced SIMD", r"asimd", (("dot product", r"asimddp"), ("bf16", r"bf16"), ("i8mm", r"i8mm"))),
)
_MATRICES = frozenset({"AMX", "SME"})
"""Units beside the vector units: what is found next is named as well."""

NATIVE_FLAGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        # x86: AVX512_BF16 and AMX tiles; ARM: FEAT_BF16.
        "bf16": ("avx512_bf16", "amx_bf16", "bf16"),
        # x86: the VNNI dot products and AMX tiles; ARM: FEAT_DotProd and FEAT_I8MM.
        "int8": ("avx512_vnni", "avx_vnni", "avx_vnni_int8", "amx_int8", "asimddp", "i8mm"),
    }
)
"""Precision to the flags of which any one means that the processor has instructions for it."""


def instruction_set(flags: str) -> str:
    """Name the widest vector instructions among a processor's flags, with the types that they multiply.

    Returns empty where there are none of those that decide which kernels a numerical library takes.
    """
    there = flags.split()

    def has(pattern: str) -> bool:
        return any(re.fullmatch(pattern, flag) for flag in there)

    found = []
    for name, flag, extensions in _X86 + _ARM:
        if not has(flag):
            continue
        more = [extension for extension, pattern in extensions if has(pattern)]
        found.append(f"{name} ({', '.join(more)})" if more else name)
        if name not in _MATRICES:
            break
    return ", ".join(found)


def identity(machine: Fingerprint) -> str:
    """`family 26, model 2, stepping 1`: what tells processors of one name apart; empty where nothing was read."""
    facts = machine.get("cpu", {})
    parts = (("family", "family"), ("model", "model number"), ("stepping", "stepping"))
    return ", ".join(
        f"{word} {facts[name]}"
        for word, name in parts
        if isinstance(facts.get(name), int | str) and not isinstance(facts.get(name), bool)
    )


def instructions(machine: Fingerprint) -> str:
    """Return the instruction set of a machine's processor; empty where its flags are not known."""
    flags = machine.get("cpu", {}).get("flags")
    return instruction_set(flags) if isinstance(flags, str) else ""


def title(machine: Fingerprint) -> str:
    """`AMD EPYC (family 26, model 2, stepping 1; AVX-512 (bf16, VNNI))`; empty where not even the model is known."""
    model = machine.get("cpu", {}).get("model")
    if not isinstance(model, str) or not model:
        return ""
    details = "; ".join(filter(None, (identity(machine), instructions(machine))))
    return f"{model} ({details})" if details else model


def missing_instructions(machine: Fingerprint, precision: str) -> str:
    """Return that a processor has no instructions for a precision, as a clause for a message.

    Returns empty where it has one of `NATIVE_FLAGS`, needs none, or the flags are not known.
    """
    native = NATIVE_FLAGS.get(precision)
    flags = machine.get("cpu", {}).get("flags", Absent("not asked"))
    if native is None or not isinstance(flags, str):
        return ""
    return "" if set(native) & set(flags.split()) else f"This processor has none of {', '.join(native)}"


PRODUCTS = "products computed by"


def kernels_in_words(launch: Launch, *, counted: bool = True) -> str:
    """Return what computes, or why that is not known; empty where it was not recorded."""
    computed = launch.computed
    if computed is None or not (computed.kernels or computed.kernels_source):
        return ""
    if not computed.kernels:
        return computed.kernels_source
    most_first = sorted(computed.kernels.items(), key=lambda each: (-each[1], each[0]))
    return "; ".join(f"{name} ({count})" if counted else name for name, count in most_first)


def with_most_by(library: str, run: Run) -> dict[str, Launch]:
    """Return, by arm, the launch in which a library computes the most products; only of arms that it serves."""
    most: dict[str, tuple[int, Launch]] = {}
    for block in run.blocks:
        for _, launch in collect.launches(block):
            kernels = launch.computed.kernels if launch.computed is not None else {}
            count = sum(each for name, each in kernels.items() if name.startswith(library))
            if count > most.get(launch.arm, (0, launch))[0]:
                most[launch.arm] = count, launch
    return {arm: launch for arm, (_, launch) in most.items()}
