"""Plug-ins for tests: distributions as `pip install` leaves them, in a folder of their own."""

import importlib
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from levelfield import plugins
from levelfield.backends import registry
from levelfield.cli import help as sections
from levelfield.zoo import models
from tests.commands import ROOT

TEMPLATE = ROOT / "docs" / "plugin-template"
LITERT = ROOT / "plugins" / "litert"
TVM = ROOT / "plugins" / "tvm"
MXNET = ROOT / "plugins" / "mxnet"
NCNN = ROOT / "plugins" / "ncnn"
FLEET = ROOT / "plugins" / "fleet"


PACKAGES = ("levelfield_", "brings_")
"""How the packages of plug-ins begin, here and in tests."""
CACHED = (plugins.installed, sections._found, registry._from_plugins, models._from_plugins)


def metadata(folder: Path, distribution: str, version: str, points: Mapping[str, Mapping[str, str]]) -> None:
    """Write what an installer leaves of a distribution: its name, version and entry points."""
    made = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
    made.mkdir(parents=True)
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    sections = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in each.items())
        for group, each in points.items()
    )
    (made / "entry_points.txt").write_text("".join(sections))


def install(project: Path, folder: Path) -> Path:
    """Put a project's packages and metadata into a folder, as `pip install --target` does without building."""
    table = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    for package in table["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        shutil.copytree(project / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    return register(project, folder)


def register(project: Path, folder: Path) -> Path:
    """Put a project's metadata into a folder."""
    table = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata(folder, table["name"], table["version"], table["entry-points"])
    return folder


@contextmanager
def on_path(folder: Path) -> Iterator[None]:
    """Let this process find the entry points in a folder too, and keep every module that is imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        for cached in CACHED:
            cached.cache_clear()
        yield
    for cached in CACHED:
        cached.cache_clear()


def forget() -> None:
    """Let plug-ins be looked for and imported again: others of the same names may be elsewhere."""
    kept = tuple(plugin.package for plugin in plugins.installed(plugins.COMMANDS))  # their tests hold what they import
    for name in [each for each in sys.modules if each.startswith(PACKAGES) and not each.startswith(kept)]:
        del sys.modules[name]
    importlib.invalidate_caches()
    for cached in CACHED:
        cached.cache_clear()


@contextmanager
def seen(*folders: Path) -> Iterator[pytest.MonkeyPatch]:
    """Let this process and its children find what is installed in these folders, and nothing of it afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        for folder in folders:
            patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", ":".join(map(str, folders)), prepend=":")
        forget()
        try:
            yield patch
        finally:
            patch.undo()
            forget()
