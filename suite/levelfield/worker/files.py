"""The digest of a file that stands in several pieces, such as an ONNX model with its weights beside it."""

import hashlib
from collections.abc import Mapping
from pathlib import Path


def digest_of(files: Mapping[str, str]) -> str:
    """Return one SHA-256 for a set of files, given each one's name and SHA-256."""
    lines = "".join(f"{name} {sha256}\n" for name, sha256 in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def files_in(folder: Path, pattern: str = "*") -> dict[str, str]:
    """Return the SHA-256 of every file directly in `folder` that matches, by name.

    Returns hexadecimal SHA-256 by file name.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob(pattern)):
        if path.is_file():
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found
