"""Parts of a name behind an `@`: version, variant or both (`onnxruntime@1.30.0`, `torch@cu13`, `torch@2.9.0+cu13`)."""

import re

import msgspec

from suite.errors import LevelfieldError

DEFAULT_VARIANT = "cpu"

_VARIANT = re.compile(r"cpu|cu\d{1,3}")
# A version becomes part of a file's name: no separator of folders, and nothing hidden.
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._~-]{0,127}")


class Reference(msgspec.Struct, frozen=True):
    """A name with a version and a variant: which lock of an image, which image of a backend."""

    name: str
    version: str | None = None
    """None: the current lock."""
    variant: str = DEFAULT_VARIANT

    def __str__(self) -> str:
        return self.name + suffix(self.variant, self.version)


def suffix(variant: str, version: str | None) -> str:
    """Return version and variant as they are written behind a name; empty for the current lock on the CPU.

    Parameters
    ----------
    variant
        `cpu` or a CUDA variant.
    version
        Version of the framework; None for the current lock.

    Examples
    --------
    >>> suffix("cpu", "1.30.0"), suffix("cu13", None), suffix("cu13", "2.12.0"), suffix("cpu", None)
    ('@1.30.0', '@cu13', '@2.12.0+cu13', '')
    """
    parts = [part for part in (version, variant if variant != DEFAULT_VARIANT else None) if part]
    return f"@{'+'.join(parts)}" if parts else ""


def parse(text: str) -> Reference:
    """Read a name with version and variant behind an `@`.

    Raises
    ------
    LevelfieldError
        The part behind the `@` is neither a version nor a variant.

    Examples
    --------
    >>> parse("onnxruntime@1.30.0")
    Reference(name='onnxruntime', version='1.30.0', variant='cpu')
    >>> parse("torch@cu13")
    Reference(name='torch', version=None, variant='cu13')
    """
    name, at, behind = text.partition("@")
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
