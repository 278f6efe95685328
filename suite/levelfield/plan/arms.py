"""Arms as people type them (`onnxruntime@1.30.0+spinning=off#2`), and which of them can run on this machine."""

import importlib.util
import re
from collections.abc import Callable, Collection, Sequence
from typing import Literal, TypeAlias

import msgspec

from levelfield.backends import registry
from levelfield.backends.info import BackendInfo
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, environments
from levelfield.names import unknown
from levelfield.plan.types import Selection
from levelfield.record import warnings as notices
from levelfield.record.references import DEFAULT_VARIANT, PYTHON_SETTING
from levelfield.record.references import parse as parse_reference
from levelfield.record.schema import Arm, Warning_

Launcher: TypeAlias = Literal["docker", "venv", "host"]
LAUNCHER = "launcher"
LAUNCHERS: tuple[Launcher, ...] = ("docker", "venv", "host")
"""From the one that leaves least to the machine to the one that leaves most."""

_ARM = re.compile(r"(?P<place>[^+#]+(?:\+[^+#=]+)*)(?P<settings>(?:\+[^+#=]+=[^+#=]*)*)(?:#(?P<ordinal>[1-9]\d{0,2}))?")


def parse(text: str) -> Arm:
    """Read an arm, the inverse of `Arm.id`; LevelfieldError: a part of it is not known (what there is, is listed)."""
    found = _ARM.fullmatch(text.strip()) if "==" not in text else None  # as pip writes a version
    if found is None:
        raise LevelfieldError(
            f"{text!r} names no backend.",
            fix="Write onnxruntime, onnxruntime@1.30.0 or onnxruntime+spinning=off; `levelfield list` shows them all.",
        )
    chosen = dict(part.split("=", 1) for part in found["settings"].split("+") if part)
    python = f"+{PYTHON_SETTING}={chosen.pop(PYTHON_SETTING)}" if PYTHON_SETTING in chosen else ""
    place = parse_reference(found["place"] + python)
    there = registry.all_names()
    if place.name not in there:
        if (broken := registry.why_broken(place.name)) is not None:
            raise LevelfieldError(broken, fix="Uninstall that distribution, or install a version that works.")
        raise unknown("backend", place.name, there)
    info = registry.get(place.name)
    if place.variant in info.devices or place.variant != DEFAULT_VARIANT:  # else its variant is yet to be chosen
        catalogue.lock(info.image, place.variant, place.version)
    launcher: Launcher | Literal[""] = _launcher(chosen.pop(LAUNCHER)) if LAUNCHER in chosen else ""
    return Arm(
        backend=place.name,
        image=info.image,
        variant=place.variant,
        version=place.version,
        settings=_settings(info, chosen),
        ordinal=int(found["ordinal"] or 1),
        launcher=launcher,
    )


def _launcher(name: str) -> Launcher:
    found = next((each for each in LAUNCHERS if each == name), None)
    if found is None:
        raise LevelfieldError(f"There is no launcher called {name!r}.", fix=f"Choose {', '.join(LAUNCHERS)}.")
    return found


def _settings(info: BackendInfo, chosen: dict[str, str]) -> dict[str, str]:
    for name, value in chosen.items():
        if name not in info.settings:
            raise unknown(f"setting of {info.name}", name, (*info.settings, PYTHON_SETTING, LAUNCHER))
        if value not in info.settings[name]:
            raise unknown(f"value of {info.name}'s {name}", value, info.settings[name])
    return chosen


def of_one_launcher(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Return arms of which none names a launcher of its own; LevelfieldError: one does, as only those of `ab` may."""
    named = next((arm for arm in arms if arm.launcher), None)
    if named is not None:
        raise LevelfieldError(
            f"{named.id} names a launcher, and that is for an arm of `ab` alone.",
            fix=f"Leave it out and use --launcher {named.launcher} for all, or type levelfield ab {named.backend} "
            f"{named.backend}+{LAUNCHER}={named.launcher}.",
        )
    return tuple(arms)


def numbered(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Give every repeated arm the next ordinal, so that each has an id of its own."""
    taken: set[str] = set()
    result = []
    for arm in arms:
        while arm.id in taken:
            arm = msgspec.structs.replace(arm, ordinal=arm.ordinal + 1)  # noqa: PLW2901  (until it is free)
        taken.add(arm.id)
        result.append(arm)
    return tuple(result)


def is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def missing_modules(arm: Arm, there: Callable[[str], bool] = is_installed) -> tuple[str, ...]:
    """Return the modules of an arm's framework that this interpreter does not find."""
    return tuple(name for name in registry.get(arm.backend).imports if not there(name))


def only_installed(
    arms: Sequence[Arm], there: Callable[[str], bool] = is_installed, *, exported: bool = True
) -> tuple[tuple[Arm, ...], tuple[Warning_, ...]]:
    """Leave out the arms whose framework is not here, or whose model file nothing here could write."""

    def stays(arm: Arm) -> bool:
        written = registry.get(arm.backend).file_format if exported else None
        return not missing_modules(arm, there) and (written is None or all(map(there, written.imports)))

    kept = tuple(arm for arm in arms if stays(arm))
    # Of those that run on GPUs only, whoever did not install them misses nothing.
    left = [arm.id for arm in arms if arm not in kept and "cpu" in registry.get(arm.backend).devices]
    if not kept:
        raise LevelfieldError(
            f"This interpreter has the framework of none of the backends ({', '.join(left)}).",
            fix="Install one here (pip install torch), or leave out --launcher host.",
        )
    return kept, (notices.not_installed(left),) if left else ()


def found_here(selection: Selection, launcher: str) -> Selection:
    """Return a selection that knows the Pythons of this machine, where it is for virtual environments."""
    if launcher != "venv" or selection.backends:
        return selection
    pythons = tuple(python for python in catalogue.PYTHONS if environments.has_python(python))
    return msgspec.structs.replace(selection, pythons=pythons)


def fitting_pythons(arms: Sequence[Arm], pythons: Collection[str]) -> tuple[tuple[Arm, ...], tuple[Warning_, ...]]:
    """Give each arm whose current lock is for a Python that is not here the newest lock for one that is."""
    found = {arm.id: _fitted(arm, pythons) for arm in arms}
    moved = [(arm.id, found[arm.id].id) for arm in arms if found[arm.id] != arm]
    warnings = (notices.other_python(moved),) if moved else ()
    return tuple(found[arm.id] for arm in arms), warnings


def _fitted(arm: Arm, pythons: Collection[str]) -> Arm:
    if catalogue.lock(arm.image, arm.variant, arm.version).python in pythons:
        return arm
    locks = [catalogue.lock(arm.image, *name) for name in catalogue.lock_names(arm.image) if name[0] == arm.variant]
    framework = catalogue.framework(arm.image, arm.variant)
    usable = [lock for lock in locks if lock.python in pythons]
    if framework is None or not usable:
        return arm
    newest = max(usable, key=lambda lock: catalogue.version_key(lock.versions[framework]))
    return msgspec.structs.replace(arm, version=newest.version)
