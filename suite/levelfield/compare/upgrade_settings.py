"""What else changed between the sides of an upgrade: versions, which it is about, and settings that a restart may lose.

`compare.upgrade_rules` says of each fact which of the two it is, and why. Facts are named `group, name` as in the
fingerprint; each parameter of the kernel's command line is a fact of its own, `kernel, boot parameter mitigations`.

A fact that a fingerprint lacks was not recorded (another release of Levelfield did not ask for it), and is not
compared. Lists of what the kernel has (mitigations, tunables of the scheduler, parameters) are complete: what they lack
was not there.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from levelfield.analysis import environment
from levelfield.compare import upgrade_rules
from levelfield.compare.types import Setting
from levelfield.errors import shortened
from levelfield.record.schema import Absent, Fact, Fingerprint, is_volatile

NOT_THERE = "not there"
_COMMAND_LINE = "kernel, boot parameters"
_PARAMETER = "kernel, boot parameter "
_COMPLETE = (_PARAMETER, "mitigations, ", "kernel, sched_")
"""Beginnings of the names of facts that are in lists without gaps."""
_FOLLOWS = {"power limit mW": "power limit set mW", "ECC after a restart": "ECC", "MIG after a reset": "MIG"}
"""Facts of a GPU that are not told twice where they differ just as another one does."""
_RESERVED_SHARE = 0.02
"""Part of the memory by which kernels may differ in what they keep for themselves; a lost module is more."""
_LONGEST = 1000
"""Characters that are kept of a value."""

_Facts = dict[str, Fact]
_CHANGEABLE = ("cpu instruction set", "memory")


def identity(fingerprint: Fingerprint) -> dict[str, str]:
    """Return the versions that say which software stack a machine runs."""
    return {
        key: _shown(fact)
        for key, fact in _flat(fingerprint).items()
        if upgrade_rules.rule(key).identifies and not isinstance(fact, Absent)
    }


def hardware(fingerprint: Fingerprint) -> dict[str, str]:
    """Return what the machine is made of, to be compared by `compare.changes.hardware_differences`."""
    found = environment.hardware(fingerprint)
    if isinstance(count := fingerprint.get("gpu", {}).get("devices"), int):
        found["gpu devices"] = str(count)
    unknown = (environment.UNKNOWN, "not asked")
    return {
        name: value
        for name, value in found.items()
        if name not in _CHANGEABLE and not name.endswith(" memory bytes") and not value.startswith(unknown)
    }


def differences(
    old: Sequence[Fingerprint], new: Sequence[Fingerprint], accepted: Collection[str] = ()
) -> tuple[Setting, ...]:
    """Compare the sides of an upgrade; where boots of a side have several values, each is shown with their number."""
    sides = _Sides([_flat(one) for one in old], [_flat(one) for one in new])
    order = {key: (upgrade_rules.RULES.index(upgrade_rules.rule(key)), key) for key in sides.keys}
    return tuple(found for key in sorted(order, key=order.__getitem__) for found in _difference(key, sides, accepted))


class _Sides:
    """The facts of both sides' boots."""

    def __init__(self, old: Sequence[_Facts], new: Sequence[_Facts]) -> None:
        self._boots = (old, new)
        self.keys = {key for boot in (*old, *new) for key in boot}

    def of(self, key: str) -> tuple[list[Fact], list[Fact]]:
        """Return what each side's boots recorded of a fact."""
        first, second = ([fact for boot in side if (fact := _fact(boot, key)) is not None] for side in self._boots)
        return first, second

    def differ(self, keys: Sequence[str]) -> bool:
        """Return whether one of several facts is not the same on both sides."""
        return any(_values(first) != _values(second) for first, second in map(self.of, keys) if first and second)


def _flat(fingerprint: Fingerprint) -> _Facts:
    """Return facts by `group, name`, the kernel's command line taken apart."""
    found = {f"{group}, {name}": fact for group, facts in fingerprint.items() for name, fact in facts.items()}
    line = found.get(_COMMAND_LINE)
    if isinstance(line, str):
        parts: dict[str, list[str]] = {}
        for part in line.split():
            parts.setdefault(part.partition("=")[0], []).append(part)
        found |= {f"{_PARAMETER}{name}": " ".join(values) for name, values in parts.items()}
    return found


def _fact(boot: Mapping[str, Fact], key: str) -> Fact | None:
    """Return a fact of a boot; None where it was not recorded, and where it is volatile and not known."""
    fact = boot.get(key)
    if fact is None and key.startswith(_COMPLETE):
        if key.startswith(_PARAMETER):
            line = boot.get(_COMMAND_LINE)
            return line if line is None or isinstance(line, Absent) else NOT_THERE
        group = key.partition(",")[0]
        return NOT_THERE if any(name.startswith(f"{group}, ") for name in boot) else None
    if isinstance(fact, Absent) and is_volatile(*key.split(", ", 1)):
        return None
    return fact


def _difference(key: str, sides: _Sides, accepted: Collection[str]) -> Iterator[Setting]:
    old, new = sides.of(key)
    rule = upgrade_rules.rule(key)
    if not old or not new or rule.kind == "ignored" or not _differ(key, old, new) or _is_told(key, sides):
        return
    if key == _COMMAND_LINE and all(isinstance(fact, str) for fact in (*old, *new)):
        return  # its parameters are facts of their own
    follows = rule.kind == "default" or _is_unknown(old) != _is_unknown(new)
    of_stack = rule.kind == "stack" or (follows and sides.differ(rule.providers))
    where, name = (shortened(part, _LONGEST) for part in key.split(", ", 1))
    may_differ = any(fnmatchcase(f"{where}, {name}", pattern) for pattern in accepted)
    yield Setting(
        where=where,
        name=name,
        old=_summary(old),
        new=_summary(new),
        meant="upgrade" if of_stack else "accepted" if may_differ else "not meant",
        reason=" ".join(_reasons(rule, old, new, of_stack=of_stack)).rstrip("."),
    )


def _reasons(rule: upgrade_rules.Rule, old: Sequence[Fact], new: Sequence[Fact], *, of_stack: bool) -> Iterator[str]:
    yield rule.reason
    varying = [side for side, facts in (("old", old), ("new", new)) if len(_values(facts)) > 1]
    if varying:
        yield f"It varies within the {' and the '.join(varying)} side."
    if of_stack and rule.kind != "stack":
        yield "What decides it differs between the sides."


def _differ(key: str, old: Sequence[Fact], new: Sequence[Fact]) -> bool:
    facts = [fact for fact in (*old, *new) if isinstance(fact, int)]
    if key == "memory, total bytes" and len(facts) == len(old) + len(new):
        return max(facts) - min(facts) > _RESERVED_SHARE * max(facts)
    return len(_values((*old, *new))) > 1


def _is_told(key: str, sides: _Sides) -> bool:
    """Return whether another fact differs in just the same values."""
    for name, leader in _FOLLOWS.items():
        if key.startswith("gpu, device ") and key.endswith(f" {name}"):
            return sides.of(key) == sides.of(f"{key.removesuffix(name)}{leader}")
    return False


def _values(facts: Sequence[Fact]) -> set[str]:
    """Return the different values; reasons of absence are words, and one absence is as good as another."""
    return {"" if isinstance(fact, Absent) else environment.text(fact) for fact in facts}


def _is_unknown(facts: Sequence[Fact]) -> bool:
    return all(isinstance(fact, Absent) for fact in facts)


def _summary(facts: Sequence[Fact]) -> str:
    counted = Counter(_shown(fact) for fact in facts)
    if len(counted) == 1:
        return next(iter(counted))
    return shortened(
        "; ".join(f"{value} ({count} of {len(facts)} boots)" for value, count in counted.items()), _LONGEST
    )


def _shown(fact: Fact) -> str:
    return shortened(environment.text(fact), _LONGEST)
