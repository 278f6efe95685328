"""The part of the package that runs inside: the last layer of every image, with a digest of its own."""

import hashlib
import itertools
import os
from collections.abc import Iterable
from pathlib import Path

from levelfield import plugins
from levelfield.backends import registry
from levelfield.images.layer import EPOCH
from levelfield.paths import cache_folder, package_root, temporary_folder
from levelfield.plugins import Plugin
from levelfield.zoo import models

INSIDE = (
    "__init__.py", "py.typed", "plugins.py", "version.py", "record/__init__.py", "record/measured.py", "backends",
    "worker", "zoo",
)  # fmt: skip


def files(image: str = "") -> dict[str, bytes]:
    """Return the files that run inside an image, by path under the import root (`levelfield/worker/…`).

    `image`: name of the image. One that a plug-in brings has the plug-in's package beside ours; empty: ours alone.
    """
    root = package_root()
    tops = [root / name for name in INSIDE]
    paths = [path for top in tops for path in ([top] if top.is_file() else sorted(top.rglob("*")))]
    found = {
        f"levelfield/{path.relative_to(root).as_posix()}": path.read_bytes() for path in paths if _is_code(path, root)
    }
    for plugin in plugins_of(image):
        found |= package(plugin)
    return found | _entry_points(plugins_of(image))


def plugins_of(image: str) -> tuple[Plugin, ...]:
    """Return the entry points whose code an image has: those of the plug-in that brings it, and all models.

    `image`: name of the image; empty: none, which has no plug-in's code.
    """
    owner = registry.plugins_of_images().get(image)
    own = () if owner is None else (*plugins.installed(plugins.BACKENDS), *plugins.installed(plugins.DATA_SETS))
    brought = tuple(each for each in own if owner is not None and each.distribution == owner.distribution)
    return (*brought, *(models.plugins_of_models() if image else ()))


def distributions(image: str) -> dict[str, str]:
    """Return the distributions whose code an image has beside ours, and their versions."""
    return {plugin.distribution: plugin.version for plugin in plugins_of(image)}


def package(plugin: Plugin) -> dict[str, bytes]:
    """Return the files of a plug-in's package but the recipes of its images, by path under the import root.

    Raises PluginError: its package is not there.
    """
    root = plugin.folder()
    return {
        f"{plugin.package}/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in sorted(root.rglob("*"))
        if _is_code(path, root) and path.relative_to(root).parts[0] != "images"
    }


def _is_code(path: Path, root: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.relative_to(root).parts and path.suffix != ".pyc"


def _entry_points(found: Iterable[Plugin]) -> dict[str, bytes]:
    """Return what lets a worker find the same entry points: metadata as an installed distribution has them."""
    contents: dict[str, bytes] = {}
    for (distribution, version), group in itertools.groupby(sorted(found, key=_distribution), key=_distribution):
        folder = f"{distribution.replace('-', '_')}-{version}.dist-info"
        contents[f"{folder}/METADATA"] = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n".encode()
        sections: dict[str, list[str]] = {}
        for plugin in group:
            sections.setdefault(plugin.group, []).append(f"{plugin.name} = {plugin.value}\n")
        text = "".join(f"[{name}]\n{''.join(lines)}" for name, lines in sections.items())
        contents[f"{folder}/entry_points.txt"] = text.encode()
    return contents


def _distribution(plugin: Plugin) -> tuple[str, str]:
    return plugin.distribution, plugin.version


def digest(contents: dict[str, bytes] | None = None) -> str:
    """Return the SHA-256 over names and contents of the files that run inside."""
    digested = hashlib.sha256()
    for name, content in sorted((files() if contents is None else contents).items()):
        digested.update(f"{name}\n{hashlib.sha256(content).hexdigest()}\n".encode())
    return digested.hexdigest()


def folder(image: str = "") -> Path:
    """Return a folder of the cache with exactly these files, for `PYTHONPATH` where no image is."""
    contents = files(image)
    target = cache_folder("worker") / digest(contents)[:20]
    if target.is_dir():
        return target
    with temporary_folder("worker") as outer:
        draft = outer / "draft"
        for name, content in contents.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            os.utime(path, (EPOCH, EPOCH))
        draft.chmod(0o755)
        try:
            draft.rename(target)
        except OSError:
            if not target.is_dir():  # else another process was faster, with the same files
                raise
    return target
