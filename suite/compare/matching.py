"""Match the arms and cases of the new side to those of the old one."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from suite.record.schema import Arm, Case

Pair: TypeAlias = tuple[str, str]
"""Old and new arm id; empty where a side has none."""


def arms(old: Mapping[str, Arm], new: Mapping[str, Arm]) -> tuple[Pair, ...]:
    """Pair the arms of two sides.

    The same id comes first. What is left is paired where it differs by the version of its image alone, then by version
    and variant (`torch@cu12` and `torch@cu13`), each only where there is one such arm on either side: an upgrade must
    not be read as one arm removed and another added, and a guess must not be read as a match.

    Parameters
    ----------
    old, new
        Arms of each side by id.

    Returns
    -------
    tuple of pairs
        Every arm of both sides once, in the order of the old side; those without a partner have an empty one.
    """
    partner: dict[str, str] = {arm: arm for arm in old if arm in new}
    for key in (_without_version, _without_variant):
        left = {key(arm): name for name, arm in old.items() if name not in partner}
        right = {key(arm): name for name, arm in new.items() if name not in partner.values()}
        counts = _counts(old, partner, key), _counts(new, {name: name for name in partner.values()}, key)
        for shape, name in left.items():
            if shape in right and counts[0][shape] == counts[1][shape] == 1:
                partner[name] = right[shape]
    alone = tuple(("", name) for name in new if name not in partner.values())
    return tuple((name, partner.get(name, "")) for name in old) + alone


def _counts(side: Mapping[str, Arm], taken: Mapping[str, str], key: Callable[[Arm], str]) -> Counter[str]:
    return Counter(key(arm) for name, arm in side.items() if name not in taken)


def _without_version(arm: Arm) -> str:
    return msgspec.structs.replace(arm, version=None, inject="").id


def _without_variant(arm: Arm) -> str:
    return msgspec.structs.replace(arm, version=None, variant="cpu", inject="").id


def near(case: Case, others: Mapping[str, Case]) -> Case | None:
    """Return the one case that differs from this by threads, processes, precision or device alone.

    Parameters
    ----------
    case
        A case of one side.
    others
        Cases of the other side by id.

    Returns
    -------
    Case or None
        None where there is no such case, or more than one.
    """
    found = [
        other
        for other in others.values()
        if (other.model, other.scenario, other.batch) == (case.model, case.scenario, case.batch)
    ]
    return found[0] if len(found) == 1 else None


def apart(old: Case, new: Case) -> str:
    """Return in what two cases differ that are not the same question.

    Parameters
    ----------
    old, new
        Cases of the same model, scenario and batch.

    Returns
    -------
    str
        Threads, processes, precision and device, as far as they differ, separated by commas.
    """
    differences = []
    if old.threads != new.threads:
        differences.append(f"{old.threads} threads before, {new.threads} now")
    if old.processes != new.processes:
        differences.append(
            f"in {old.processes} process{'es' if old.processes > 1 else ''} before, in {new.processes} now"
        )
    if old.precision != new.precision:
        differences.append(f"{old.precision} before, {new.precision} now")
    if old.device != new.device:
        differences.append(f"on {old.device} before, on {new.device} now")
    return ", ".join(differences)
