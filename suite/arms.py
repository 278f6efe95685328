"""Arms as people type them: `onnxruntime`, `onnxruntime@1.30.0`, `onnxruntime+spinning=off`, `openvino@2026.4.0#2`."""

import re
from collections.abc import Sequence

import msgspec

from suite.backends import registry
from suite.errors import LevelfieldError
from suite.images import catalogue
from suite.names import unknown
from suite.records.schema import Arm
from suite.references import DEFAULT_VARIANT
from suite.references import parse as parse_reference

_ARM = re.compile(r"(?P<place>[^+#]+(?:\+[^+#=]+)*)(?P<settings>(?:\+[^+#=]+=[^+#=]*)*)(?:#(?P<ordinal>\d{1,3}))?")


def parse(text: str) -> Arm:
    """Read an arm; the inverse of `Arm.id`.

    Raises
    ------
    LevelfieldError
        Its backend, version or one of its settings is not known; what there is, is listed.
    """
    found = _ARM.fullmatch(text.strip())
    if found is None:
        raise LevelfieldError(
            f"{text!r} names no backend.",
            fix="Write onnxruntime, onnxruntime@1.30.0 or onnxruntime+spinning=off; `levelfield list` shows them all.",
        )
    place = parse_reference(found["place"])
    there = (*registry.names(), *registry.names_on_gpus_only())
    if place.name not in there:
        raise unknown("backend", place.name, there)
    info = registry.get(place.name)
    if place.variant in info.devices or place.variant != DEFAULT_VARIANT:  # else its variant is yet to be chosen
        catalogue.lock(info.image, place.variant, place.version)
    return Arm(
        backend=place.name,
        image=info.image,
        variant=place.variant,
        version=place.version,
        settings=_settings(info, found["settings"]),
        ordinal=max(1, int(found["ordinal"] or 1)),
    )


def _settings(info: registry.BackendInfo, text: str) -> dict[str, str]:
    chosen = dict(part.split("=", 1) for part in text.split("+") if part)
    for name, value in chosen.items():
        if name not in info.settings:
            raise unknown(f"setting of {info.name}", name, info.settings)
        if value not in info.settings[name]:
            raise unknown(f"value of {info.name}'s {name}", value, info.settings[name])
    return chosen


def numbered(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Give every arm that stands there again the next ordinal, so that each has an id of its own."""
    taken: set[str] = set()
    result = []
    for arm in arms:
        while arm.id in taken:
            arm = msgspec.structs.replace(arm, ordinal=arm.ordinal + 1)  # noqa: PLW2901  (until it is free)
        taken.add(arm.id)
        result.append(arm)
    return tuple(result)
