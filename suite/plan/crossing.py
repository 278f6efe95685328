"""All combinations of changes to one arm: `onnxruntime@1.29.0`, once newer, once with a setting, and once with both.

A change is another arm (`onnxruntime@1.30.0`, `onnxruntime+spinning=off`), or another version of one distribution of
the image (`numpy==2.3.5`).
"""

from collections.abc import Sequence

import msgspec

from suite.errors import LevelfieldError
from suite.images import catalogue, locks
from suite.plan import arms as arm_names
from suite.record.references import suffix
from suite.record.schema import Arm
from suite.statistics.factorial import MOST_AXES, combinations


class Axis(msgspec.Struct, frozen=True):
    """One change to an arm."""

    name: str
    """What differs, such as `@1.30.0`, `spinning=off` or `numpy==2.3.5`."""
    place: tuple[str | None, str] | None
    """Version and variant of the image; None: they are the base's."""
    settings: dict[str, str]
    """Settings that the change adds or replaces."""
    distribution: tuple[str, str] | None = None
    """Name and version of a distribution that is replaced in the image."""


def axis(base: Arm, changed: Arm) -> Axis:
    """Return in what an arm differs from another.

    Parameters
    ----------
    base, changed
        Of the same backend.

    Raises
    ------
    LevelfieldError
        They are of different backends or do not differ, one names a launcher, or the change takes a setting away.
    """
    if changed.backend != base.backend:
        raise LevelfieldError(
            f"{base.id} and {changed.id} are of different backends, and only changes to one arm can be crossed.",
            fix="Compare backends with `levelfield ab A B`, without --cross.",
        )
    arm_names.of_one_launcher((base, changed))
    removed = sorted(base.settings.keys() - changed.settings.keys())
    if removed:
        raise LevelfieldError(
            f"{changed.id} does not say what {removed[0]} is, and {base.id} does.",
            fix=f"Write {removed[0]}={base.settings[removed[0]]} in both, or another value.",
        )
    settings = {key: value for key, value in changed.settings.items() if base.settings.get(key) != value}
    place = (changed.version, changed.variant)
    moved = place != (base.version, base.variant)
    if not settings and not moved:
        raise LevelfieldError(
            f"{changed.id} changes nothing of {base.id}.", fix="Name an arm that differs in its version or a setting."
        )
    at = suffix(changed.variant, changed.version or "current")
    name = "+".join([*([at] if moved else []), *(f"{key}={value}" for key, value in sorted(settings.items()))])
    return Axis(name, place if moved else None, settings)


def cross(first: str, others: Sequence[str]) -> tuple[tuple[Axis, ...], tuple[Arm, ...]]:
    """Return the axes and all combinations of their changes.

    Parameters
    ----------
    first
        The arm that is changed, as `suite.plan.arms` reads it.
    others
        Arms of which each differs from the first by one change, or distributions at another version (`numpy==2.3.5`).

    Returns
    -------
    tuple
        The axes, and the arms in the order of `suite.statistics.factorial.combinations`.

    Raises
    ------
    LevelfieldError
        As `axis` does; too many changes, or two of the same thing; or a combination has no lock and none can be made.
    """
    base = arm_names.parse(first)
    axes = tuple(
        axis(base, arm_names.parse(each)) if distribution is None else Axis(each, None, {}, distribution)
        for each in others
        for distribution in [_distribution(each)]
    )
    if len(axes) > MOST_AXES:
        raise LevelfieldError(
            f"{len(axes)} changes have {2 ** len(axes)} combinations, and a generation of so many would last too long.",
            fix=f"Cross {MOST_AXES} changes at the most.",
        )
    touched = [
        key
        for each in axes
        for key in (
            *each.settings,
            *(["its version"] if each.place else []),
            *([each.distribution[0]] if each.distribution else []),
        )
    ]
    twice = next((key for key in touched if touched.count(key) > 1), None)
    if twice is not None:
        raise LevelfieldError(
            f"Two of the changes are of the same thing: {twice}.", fix="Change something else with each --cross."
        )
    return axes, tuple(
        _combined(base, [each for each, on in zip(axes, levels, strict=True) if on])
        for levels in combinations(len(axes))
    )


def _distribution(text: str) -> tuple[str, str] | None:
    """Return the name and version of a distribution that is written `name==version`; None where an arm is meant."""
    name, equals, version = text.partition("==")
    return (name.strip(), version.strip()) if equals else None


def _combined(base: Arm, changes: Sequence[Axis]) -> Arm:
    """Return the arm with all these changes; distributions are replaced last, in the lock of its version."""
    arm = base
    for each in changes:
        version, variant = each.place or (arm.version, arm.variant)
        arm = msgspec.structs.replace(arm, version=version, variant=variant, settings=arm.settings | each.settings)
    arm = arm_names.parse(arm.id)  # a combination may have no lock
    for each in changes:
        if each.distribution is not None:
            lock = catalogue.lock(arm.image, arm.variant, arm.version)
            arm = msgspec.structs.replace(arm, version=locks.with_distribution(lock, *each.distribution).version)
    return arm
