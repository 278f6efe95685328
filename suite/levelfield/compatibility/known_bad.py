"""Versions that are known to compute wrongly, and the libraries that a set of distributions brings."""

from collections.abc import Mapping, Sequence

from levelfield.compatibility.devices import Gpu
from levelfield.compatibility.table import Rule, Table
from levelfield.compatibility.versions import is_version

_DISTRIBUTIONS = {
    "nvidia-cublas": "cuBLAS",
    "nvidia-cudnn": "cuDNN",
    "nvidia-cuda-runtime": "CUDA runtime",
    "nvidia-nccl": "NCCL",
    "cuda-toolkit": "CUDA",
}
"""Names of wheels, without the family at their end, to the library whose version theirs begins with."""


def libraries(distributions: Mapping[str, str]) -> dict[str, str]:
    """Return NVIDIA's libraries and their versions, by what is installed."""
    found: dict[str, str] = {}
    for name, version in distributions.items():
        plain = name.lower().replace("_", "-").removesuffix("-cu11").removesuffix("-cu12").removesuffix("-cu13")
        library = _DISTRIBUTIONS.get(plain)
        if library and is_version(version):
            found[library] = version
    return found


def cuda_release(distributions: Mapping[str, str]) -> str | None:
    """Return the CUDA release of an environment: exact where `cuda-toolkit` names it, else `12.8` of its runtime.

    The runtime's third number is a build, not a patch release (12.8.90 came with CUDA 12.8.1).
    """
    found = libraries(distributions)
    if "CUDA" in found:
        return found["CUDA"]
    runtime = found.get("CUDA runtime")
    return ".".join(runtime.split(".")[:2]) if runtime else None


def matching(
    table: Table, versions: Mapping[str, str], gpus: Sequence[Gpu], *, precision: str | None = None
) -> tuple[Rule, ...]:
    """Return the rules that fire."""
    return tuple(rule for rule in table.known_bad if _fires(rule, versions, gpus, precision))


def sentence(rule: Rule, versions: Mapping[str, str]) -> str:
    """`Version 9.10.0 of cuDNN is known to compute wrongly: values of an enumeration moved … (source: …).`."""
    version = versions[rule.library]
    return f"Version {version} of {rule.library} is known to compute wrongly: {rule.effect} (source: {rule.source})."


def _fires(rule: Rule, versions: Mapping[str, str], gpus: Sequence[Gpu], precision: str | None) -> bool:
    span, beside = rule.capability, rule.beside
    return (
        rule.contains(versions.get(rule.library))
        and len(gpus) >= rule.gpus_at_least
        and rule.precision in (None, precision)
        and (beside is None or beside.contains(versions.get(beside.library)))
        and (span is None or any(span.contains(gpu.capability) for gpu in gpus))
    )
