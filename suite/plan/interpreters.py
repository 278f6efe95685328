"""Locks for the Pythons of this machine, where virtual environments are made: not every current lock is for one Python.

Only of backends that nobody named: one that was named is that lock and no other, and says itself which Python it lacks.
"""

from collections.abc import Callable, Sequence

import msgspec

from suite.images import catalogue
from suite.record import notices
from suite.record.schema import Arm, Warning_


def fitting(arms: Sequence[Arm], there: Callable[[str], bool]) -> tuple[tuple[Arm, ...], tuple[Warning_, ...]]:
    """Give each arm whose current lock is for a Python that is not here the newest lock for one that is.

    Parameters
    ----------
    arms
        Of current locks; one for which there is no such lock stays as it is.
    there
        Returns whether a minor version of Python (`3.13`) is here.

    Returns
    -------
    tuple
        The arms, in their order; and a warning that names those that are another lock now, if any.

    Raises
    ------
    LevelfieldError
        A lock is not one of ours.
    """
    found = {arm.id: _fitted(arm, there) for arm in arms}
    moved = [(arm.id, found[arm.id].id) for arm in arms if found[arm.id] != arm]
    warnings = (notices.other_python(moved),) if moved else ()
    return tuple(found[arm.id] for arm in arms), warnings


def _fitted(arm: Arm, there: Callable[[str], bool]) -> Arm:
    if there(catalogue.lock(arm.image, arm.variant, arm.version).python):
        return arm
    locks = [catalogue.lock(arm.image, *name) for name in catalogue.lock_names(arm.image) if name[0] == arm.variant]
    framework = catalogue.framework(arm.image, arm.variant)
    usable = [lock for lock in locks if there(lock.python)]
    if framework is None or not usable:
        return arm
    newest = max(usable, key=lambda lock: catalogue.version_key(lock.versions[framework]))
    return msgspec.structs.replace(arm, version=newest.version)
