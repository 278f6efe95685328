"""What installed distributions bring, each under an entry point: backends, models, scenarios, data sets, commands.

Nothing of a plug-in is imported before it is asked for, and one that cannot be loaded takes no other down. Inside
images the same entry points are found: `images.worker_code` puts them beside a plug-in's code.
"""

import functools
import importlib
import importlib.metadata
import importlib.util
import re
import textwrap
from pathlib import Path
from typing import TypeVar

import msgspec

BACKENDS = "levelfield.backends"
MODELS = "levelfield.models"
COMMANDS = "levelfield.commands"
SCENARIOS = "levelfield.scenarios"
DATA_SETS = "levelfield.datasets"

NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
"""What a name must be: it becomes part of file names, of arms and of tables."""
_PACKAGE = re.compile(r"[A-Za-z_]\w*")
_T = TypeVar("_T")


class Plugin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry point of one distribution."""

    group: str
    name: str
    """Of what it brings, as people type it."""
    value: str
    """Where it is: `package.module:ATTRIBUTE`."""
    distribution: str
    """As package indexes spell it."""
    version: str

    @property
    def package(self) -> str:
        """The import package that everything of it is in."""
        return re.split(r"[.:]", self.value, maxsplit=1)[0]

    @property
    def label(self) -> str:
        """`levelfield-litert 0.1.0`."""
        return f"{self.distribution} {self.version}"

    def folder(self) -> Path:
        """Return the folder of its package, which is not imported.

        Raises
        ------
        PluginError
            There is no such package, or it is a single file.
        """
        if not _PACKAGE.fullmatch(self.package):
            raise PluginError(f"its entry point {self.value!r} names no package")
        spec = importlib.util.find_spec(self.package)
        if spec is None:
            raise PluginError(f"there is no package {self.package}")
        if spec.origin is None or not spec.submodule_search_locations:
            raise PluginError(f"{self.package} is no package with an __init__.py, which is what workers are given")
        return Path(spec.origin).parent


class Broken(msgspec.Struct, frozen=True):
    """An entry point that brings nothing."""

    plugin: Plugin
    reason: str
    """In words, without a full stop."""

    @property
    def sentence(self) -> str:
        """What happened, for people."""
        kind = self.plugin.group.removeprefix("levelfield.").removesuffix("s")
        return f"The plug-in {self.plugin.label} brings no {kind} {self.plugin.name}: {self.reason}."


class PluginError(Exception):
    """A plug-in is not what it has to be; the message is a `Broken.reason`."""


@functools.cache
def installed(group: str) -> tuple[Plugin, ...]:
    """Return the entry points of a group, in the order of their names and distributions.

    Parameters
    ----------
    group
        `BACKENDS`, `MODELS`, `SCENARIOS`, `DATA_SETS` or `COMMANDS`.
    """
    found = {
        Plugin(group, entry.name, entry.value, _normal(entry.dist.metadata["Name"]), entry.dist.version)
        for entry in importlib.metadata.entry_points(group=group)
        if entry.dist is not None
    }
    return tuple(sorted(found, key=lambda plugin: (plugin.name, plugin.distribution, plugin.version)))


def _normal(distribution: str) -> str:
    """Spell a distribution as package indexes do (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def brought(group: str, kind: type[_T]) -> tuple[dict[str, _T], tuple[Broken, ...]]:
    """Return what entry points of a group name, and those that name nothing; of two with one name the first counts."""
    values: dict[str, _T] = {}
    broken = []
    for plugin in installed(group):
        try:
            values.setdefault(plugin.name, load(plugin, kind))
        except PluginError as error:
            broken.append(Broken(plugin, str(error)))
    return values, tuple(broken)


def load(plugin: Plugin, kind: type[_T]) -> _T:
    """Import what an entry point names.

    Parameters
    ----------
    plugin
        The entry point.
    kind
        The class that it must be of.

    Raises
    ------
    PluginError
        It cannot be imported, or is something else.
    """
    if not NAME.fullmatch(plugin.name):
        raise PluginError("a name has lower-case letters, digits and single hyphens")
    plugin.folder()
    module, _, attribute = plugin.value.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute or "")
    except (Exception, SystemExit) as error:
        text = textwrap.shorten(str(error), 300, placeholder=" …")
        raise PluginError(f"{plugin.value} cannot be imported ({type(error).__name__}: {text})") from error
    if not isinstance(found, kind):
        raise PluginError(f"{plugin.value} is a {type(found).__name__} and no {kind.__name__}")
    return found
