"""Bundles for tests, made by hand: also such as nothing of ours would write."""

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import msgspec

from levelfield.images.bundle import FORMAT, MANIFEST

CONTENT = b"a wheel"


def entry(name: str, content: bytes = CONTENT, **changes: Any) -> tuple[tarfile.TarInfo, bytes]:
    made = tarfile.TarInfo(name)
    made.size = len(content)
    for field, value in changes.items():
        setattr(made, field, value)
    return made, content


def manifest(*names: str, **changes: Any) -> dict[str, Any]:
    files = [{"name": n, "sha256": hashlib.sha256(CONTENT).hexdigest(), "size_bytes": len(CONTENT)} for n in names]
    return {"format": FORMAT, "tool_version": "0", "files": files} | changes


def bundle(folder: Path, told: dict[str, Any], *entries: tuple[tarfile.TarInfo, bytes]) -> Path:
    path = folder / "bundle.tar"
    with tarfile.open(path, "w") as out:
        for made, content in (entry(MANIFEST, msgspec.json.encode(told)), *entries):
            out.addfile(made, io.BytesIO(content))
    return path
