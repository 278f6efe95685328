"""What an exporter says of the model files that it wrote, whatever their format."""

import hashlib
import importlib.metadata
from collections.abc import Iterable
from pathlib import Path

import msgspec


class Exported(msgspec.Struct, frozen=True):
    """What was written."""

    files: dict[str, str]
    """File name to SHA-256: the model's, and that of a file of weights beside it where there is one."""
    versions: dict[str, str]
    """Distributions that decide the bytes."""
    opset: int = 0
    """Of ONNX; 0: the format has none."""


def written(folder: Path, names: Iterable[str], distributions: Iterable[str], opset: int = 0) -> Exported:
    """Describe files that were written, with the installed versions of the distributions that decide the bytes."""
    return Exported(
        files={name: _sha256(folder / name) for name in names},
        versions={name: importlib.metadata.version(name) for name in distributions},
        opset=opset,
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
