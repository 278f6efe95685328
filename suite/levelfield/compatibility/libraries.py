"""Libraries and frameworks of images: which compute wrongly, are not of their lock, or do not fit a driver.

By `images/compatibility.toml`. A test runs the case of each framework that is known to answer wrongly on CPUs, in the
locked version that does, and in one that does not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from levelfield.compatibility.gate import Gpu, Nvidia, Rule, Table, WrongAnswer, check, from_facts, is_version, key
from levelfield.record import warnings as notices
from levelfield.record.references import DEFAULT_VARIANT
from levelfield.record.schema import Fingerprint, Image, Launch, Library, Warning_

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


def not_held(version: str, loaded: Iterable[Library], held: Mapping[str, str]) -> Iterator[str]:
    """Say which version and frameworks a launch reports that its image does not hold (distribution to version)."""
    if version and version.partition("+")[0] not in {each.partition("+")[0] for each in held.values()}:
        yield f"in version {version}"
    packages = {name.replace("-", "_") for name in held}
    frameworks = {each.path.partition("/")[0] for each in loaded if each.kind == "framework"}
    if not all(any(each.startswith(top) for each in packages) for top in frameworks):
        yield f"loaded {', '.join(frameworks)}"


_KINDS = {"CUDA", "cuDNN", "cuBLAS", "NCCL"}
_OF_THE_DRIVER = re.compile(r"lib(cuda|nvidia-[a-z-]+|cudadebugger)\.so")
"""Libraries that come with the driver: no wheel has them."""
_VERSION = re.compile(r"\((?P<library>cuDNN|cuBLAS|NCCL|CUDA runtime) (?P<version>[\d.]+)\)")


def not_of_the_lock(launch: Launch, image: Image) -> Iterator[str]:
    """Say of each loaded CUDA library that is not the locked one what it is; nothing where nothing was locked."""
    if image.launcher == "host":
        return
    locked = libraries(image.distributions)
    for library in launch.libraries:
        if library.kind not in _KINDS or _OF_THE_DRIVER.match(library.name):
            continue
        if "/" not in library.path:  # a path from the installed packages on has one; a file of the system is its name
            yield f"{library.name} was loaded from the system, and not from the locked wheels"
        elif (other := _another(library, locked)) is not None:
            yield other


def _another(library: Library, locked: dict[str, str]) -> str | None:
    found = _VERSION.search(library.name)
    if found is None or found["library"] not in locked:
        return None
    expected = locked[found["library"]]
    if f"{expected}.".startswith(f"{found['version']}."):
        return None
    return f"{found['library']} {found['version']} was loaded ({library.path}), and {expected} is locked"


def between(
    table: Table,
    old: Fingerprint,
    new: Fingerprint,
    *,
    old_images: Sequence[Image] = (),
    new_images: Sequence[Image] = (),
) -> tuple[Warning_, ...]:
    """Return what a reader of a comparison must know about driver and CUDA on the two sides; empty without a GPU."""
    before, after = from_facts(old.get("gpu", {})), from_facts(new.get("gpu", {}))
    found = (*_driver(before, after), *_images(table, before, old_images), *_images(table, after, new_images))
    return tuple({(one.code, one.about, one.message): one for one in found}.values())  # once, where both sides have it


def _driver(before: Nvidia, after: Nvidia) -> Iterator[Warning_]:
    if before.driver is None and after.driver is None:
        return
    if before.driver is None or after.driver is None:
        yield notices.driver_on_one_side(before.driver, after.driver)
    elif key(after.driver) < key(before.driver):
        yield notices.driver_older(before.driver, after.driver)


def _images(table: Table, nvidia: Nvidia, images: Iterable[Image]) -> Iterator[Warning_]:
    for image in images:
        release = cuda_release(image.distributions)
        if release is None or image.variant == DEFAULT_VARIANT:  # a CUDA build may compute on the CPU
            continue
        found = check(table, release, nvidia)
        for text in (found.reason,) if not found.runs else found.warnings:
            yield notices.cuda_misfit(f"{image.name} {image.variant}", text, found.fix)
        versions = libraries(image.distributions)
        for rule in matching(table, versions, nvidia.gpus):
            yield notices.known_bad(f"{image.name} {image.variant}", sentence(rule, versions), rule.remedy)


class Known(msgspec.Struct, frozen=True):
    """A version that is installed or locked, and what is known of it."""

    distribution: str
    version: str
    row: WrongAnswer

    @property
    def sentence(self) -> str:
        """`onnxruntime 1.22.1 is known to answer wrongly on CPUs: AveragePool … (microsoft/onnxruntime 26708).`."""
        of = f" in {' and '.join(self.row.backends)}" if self.row.backends else ""
        return (
            f"{self.distribution} {self.version} is known to answer wrongly on CPUs{of}: {self.row.where} "
            f"({self.row.issue})."
        )


def known_wrong(table: Table, versions: Mapping[str, str], backend: str | None = None) -> Iterator[Known]:
    """Yield what is known of the frameworks of a lock or an environment that compute on CPUs.

    `versions`: distribution to version. `backend`: the one that is asked about; None: all that they serve.
    """
    for row in table.wrong_answer:
        for name in row.distributions:
            version = versions.get(name, "").partition("+")[0]
            if not is_version(version) or not row.contains(version):
                continue
            if backend is None or not row.backends or backend in row.backends:
                yield Known(name, version, row)
