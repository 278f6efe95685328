"""Match the arms and cases of the new side to those of the old one."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from levelfield.record.schema import Arm, Case

Pair: TypeAlias = tuple[str, str]
"""Old and new arm id; empty where a side has none."""


def pair_arms(old: Mapping[str, Arm], new: Mapping[str, Arm]) -> tuple[Pair, ...]:
    """Pair the arms of two sides.

    The same id comes first. What is left is paired where it differs by the version of its image alone, then by version
    and variant (`torch@cu12` and `torch@cu13`), each only where there is one such arm on either side: an upgrade must
    not be read as one arm removed and another added, and a guess must not be read as a match.

    Returns every arm of both sides once, in the order of the old side; those without a partner have an empty one.
    """
    partner: dict[str, str] = {arm: arm for arm in old if arm in new}
    for without in ({"version": None}, {"version": None, "variant": "cpu"}):
        left = _by_shape({name: arm for name, arm in old.items() if name not in partner}, without)
        right = _by_shape({name: arm for name, arm in new.items() if name not in partner.values()}, without)
        for shape, names in left.items():
            if len(names) == len(right.get(shape, ())) == 1:
                partner[names[0]] = right[shape][0]
    alone = tuple(("", name) for name in new if name not in partner.values())
    return tuple((name, partner.get(name, "")) for name in old) + alone


def _by_shape(arms: Mapping[str, Arm], without: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Group the ids of arms by what is left of them without some of their fields, and without an injected slowdown."""
    found: dict[str, list[str]] = {}
    for name, arm in arms.items():
        found.setdefault(msgspec.structs.replace(arm, inject="", **without).id, []).append(name)
    return found


def similar_case(case: Case, others: Mapping[str, Case]) -> Case | None:
    """Return the one case that differs from this by threads, processes, precision or device alone.

    Returns none where there is no such case, or more than one.
    """
    found = [
        other
        for other in others.values()
        if (other.model, other.scenario, other.batch) == (case.model, case.scenario, case.batch)
    ]
    return found[0] if len(found) == 1 else None


def describe_difference(old: Case, new: Case) -> str:
    """Return in what two cases differ that are not the same question."""
    differences = []
    if old.threads != new.threads:
        differences.append(f"{old.threads} threads before, {new.threads} now")
    if old.processes != new.processes:
        differences.append(
            f"in {old.processes} process{'es' if old.processes > 1 else ''} before, in {new.processes} now"
        )
    if old.depth != new.depth:
        differences.append(f"at a depth of {old.depth} before, of {new.depth} now")
    if old.growing_cache != new.growing_cache:
        differences.append(f"with a {old.kv_cache} cache before, a {new.kv_cache} one now")
    if old.precision != new.precision:
        differences.append(f"{old.precision} before, {new.precision} now")
    if old.device != new.device:
        differences.append(f"on {old.device} before, on {new.device} now")
    return ", ".join(differences)
