"""Arms as people type them: `onnxruntime`, `onnxruntime@1.30.0`, `onnxruntime+spinning=off`, `openvino@2026.4.0#2`.

An arm's launcher and its Python are spelled as a setting is: `onnxruntime+launcher=venv`, `jax+python=3.13`.
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from levelfield.backends import registry
from levelfield.backends.info import BackendInfo
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.names import unknown
from levelfield.record.references import DEFAULT_VARIANT, PYTHON_SETTING
from levelfield.record.references import parse as parse_reference
from levelfield.record.schema import Arm

Launcher: TypeAlias = Literal["docker", "venv", "host"]
LAUNCHER = "launcher"
LAUNCHERS: tuple[Launcher, ...] = ("docker", "venv", "host")
"""From the one that leaves least to the machine to the one that leaves most."""

_ARM = re.compile(r"(?P<place>[^+#]+(?:\+[^+#=]+)*)(?P<settings>(?:\+[^+#=]+=[^+#=]*)*)(?:#(?P<ordinal>[1-9]\d{0,2}))?")


def parse(text: str) -> Arm:
    """Read an arm; the inverse of `Arm.id`.

    Raises LevelfieldError: its backend, version, launcher or one of its settings is not known; what there is, is
    listed.
    """
    found = _ARM.fullmatch(text.strip())
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
    """Return arms of which none names a launcher of its own.

    Raises LevelfieldError: one does: only the two of an `ab` may live in different places.
    """
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
