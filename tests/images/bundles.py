"""Bundles for tests, made by hand: also such as nothing of ours would write."""

import hashlib
import io
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from levelfield import paths
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


def locks_that_name(*names: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Make a checkout whose locks name these files with the content of `entry`: images', the tool's and a base's."""
    copy = folder / "checkout"
    shutil.copytree(paths.images_root(), copy / "images")
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    for name in names:
        kind, _, file = name.partition("/")
        base, tool = copy / "images" / "base.lock", copy / "images" / "tool" / "nox.lock"
        if kind == "debs":
            text = base.read_text()
            first = re.findall(r"\n  \{ name.*", text)[0]
            package, version, _ = file.split("_")
            named = re.sub('name = "[^"]+", version = "[^"]+"', f'name = "{package}", version = "{version}"', first)
            named = re.sub('sha256 = "[^"]+"', f'sha256 = "{sha256}"', named.replace("%3a", ":"))
            named = re.sub(r"\bsize_bytes = \d+", f"size_bytes = {len(CONTENT)}", named)
            base.write_text(text.replace(first, first + named, 1))
        elif name.startswith("wheels/tool-"):
            with tool.open("a") as out:
                out.write(f"tool==1.0 ; python_version < '4' \\\n    --hash=sha256:{'0' * 64} \\\n")
                out.write(f"    --hash=sha256:{sha256}\n    # via nox\n")
        else:
            with (copy / "images" / "canary" / "cpu.lock").open("a") as out:
                out.write(f"# {file} 7 bytes, 7 installed\none==1.0 \\\n    --hash=sha256:{sha256}\n")
    patch.setattr(paths, "package_root", lambda: copy / "suite" / "levelfield")
