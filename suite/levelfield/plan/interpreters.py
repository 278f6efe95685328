"""Locks for the Pythons of this machine, where virtual environments are made: not every current lock is for one Python.

Only of backends that nobody named: one that was named is that lock and no other, and says itself which Python it lacks.
"""

from collections.abc import Collection, Sequence

import msgspec

from levelfield.images import catalogue, environments
from levelfield.plan.types import Selection
from levelfield.record import notices
from levelfield.record.schema import Arm, Warning_


def found_here(selection: Selection, launcher: str) -> Selection:
    """Return a selection that knows the Pythons of this machine, where it is for virtual environments."""
    if launcher != "venv" or selection.backends:
        return selection
    pythons = tuple(python for python in catalogue.PYTHONS if environments.has_python(python))
    return msgspec.structs.replace(selection, pythons=pythons)


def fitting(arms: Sequence[Arm], pythons: Collection[str]) -> tuple[tuple[Arm, ...], tuple[Warning_, ...]]:
    """Give each arm whose current lock is for a Python that is not here the newest lock for one that is.

    Raises LevelfieldError: a lock is not one of ours.
    """
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
