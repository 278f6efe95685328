"""Parts of a name behind an `@`: version, variant or both (`onnxruntime@1.30.0`, `torch@cu13`, `torch@2.9.0+cu13`).

`+python=3.13` may follow: the lock for another Python than that of the image's current lock. It is part of the lock's
name: `jax@0.10.2+python=3.13` is the lock `cpu@0.10.2-py3.13`, and `jax+python=3.13` is `cpu@py3.13`.

A version that ends with `-cuda` is a CUDA build that computes on the CPU: `torch@2.14.1-cuda` is the lock
`cpu@2.14.1-cuda`.
"""

import re

import msgspec

from levelfield.errors import LevelfieldError

DEFAULT_VARIANT = "cpu"

_VARIANT = re.compile(r"cpu|cu\d{1,3}")
# A version becomes part of a file's name: no separator of folders, and nothing hidden.
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._~-]{0,127}")
PYTHON_SETTING = "python"
"""How the Python of an arm or image is spelled: as a setting is."""
CUDA_BUILD = "-cuda"
"""End of the version of a framework that was built for CUDA, and is measured on the CPU."""
_OF_PYTHON = re.compile(r"(?:(?P<version>.+)-)?py(?P<python>3\.\d{1,2})")
ALIASES = {"ort": "onnxruntime", "ov": "openvino", "pt": "torch", "pytorch": "torch", "tf": "tensorflow"}
"""Names that people type for those of backends and images."""
_SPELLED_PYTHON = re.compile(rf"(?P<rest>.*)\+{PYTHON_SETTING}=(?P<python>[^+]*)")


class Reference(msgspec.Struct, frozen=True):
    """A name with a version and a variant: which lock of an image, which image of a backend."""

    name: str
    version: str | None = None
    """Name of the lock behind the `@`; None: the current one."""
    variant: str = DEFAULT_VARIANT

    def __str__(self) -> str:
        return self.name + suffix(self.variant, self.version)


def suffix(variant: str, version: str | None) -> str:
    """Return version and variant as they are written behind a name; empty for the current lock on the CPU."""
    of_framework, python = split_python(version)
    parts = [part for part in (of_framework, variant if variant != DEFAULT_VARIANT else None) if part]
    behind = f"+{PYTHON_SETTING}={python}" if python else ""
    return (f"@{'+'.join(parts)}" if parts else "") + behind


def with_python(version: str | None, python: str | None) -> str | None:
    """Return the name of the lock of a version of the framework and a Python; the inverse of `split_python`."""
    return "-".join(part for part in (version, f"py{python}" if python else None) if part) or None


def split_python(version: str | None) -> tuple[str | None, str | None]:
    """Return the version of the framework and the Python that the name of a lock holds; None: it holds none."""
    found = _OF_PYTHON.fullmatch(version or "")
    return (found["version"], found["python"]) if found else (version, None)


def is_cuda_build(variant: str, version: str | None) -> bool:
    """Return whether the name of a lock is that of a CUDA build for the CPU."""
    return variant == DEFAULT_VARIANT and (split_python(version)[0] or "").endswith(CUDA_BUILD)


def parse(text: str) -> Reference:
    """Read a name with version and variant behind an `@`.

    Raises LevelfieldError: the part behind the `@` is neither a version nor a variant, or that behind `+python=` is no
    Python.
    """
    if spelled := _SPELLED_PYTHON.fullmatch(text):
        if not _OF_PYTHON.fullmatch(f"py{spelled['python']}"):
            raise LevelfieldError(
                f"{text!r} names no Python.", fix=f"Write {spelled['rest']}+{PYTHON_SETTING}=3.13, for example."
            )
        plain = parse(spelled["rest"])
        if split_python(plain.version)[1] is not None:
            raise LevelfieldError(f"{text!r} names two Pythons.", fix=f"Write {spelled['rest']}.")
        return msgspec.structs.replace(plain, version=with_python(plain.version, spelled["python"]))
    name, at, behind = text.partition("@")
    name = ALIASES.get(name, name)
    if not at:
        return Reference(name)
    first, plus, second = behind.partition("+")
    if _VARIANT.fullmatch(first) and not plus:
        return Reference(name, variant=first)
    if not _VERSION.fullmatch(first) or _VARIANT.fullmatch(first) or (plus and not _VARIANT.fullmatch(second)):
        raise LevelfieldError(
            f"{text!r} names no version.",
            fix=f"Write {name or 'onnxruntime'}@1.30.0, or {name or 'torch'}@2.12.0+cu13 for a variant of it.",
        )
    return Reference(name, first, second or DEFAULT_VARIANT)
