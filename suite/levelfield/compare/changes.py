"""What changed around the numbers: two sides' hardware and environments, fact by fact, changed ones first."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from levelfield.analysis.environment import NOT_RECORDED, Environment, arm_group, image_group, recorded
from levelfield.analysis.summary import Reduced
from levelfield.compare.sides import Pair, arms_of
from levelfield.compare.types import Change, ChangeGroup, State
from levelfield.record.schema import Arm, elsewhere

MOST = 500
"""Facts of one group that are shown: an untrusted record may hold any number."""

_TITLES = {
    "gpu": "GPU, driver and CUDA",
    "nvidia-smi": "GPU, by nvidia-smi",
    "kernel": "Kernel",
    "cpu": "Processor and microcode",
    "clock": "Clock and governor",
    "mitigations": "Mitigations",
    "memory": "Memory",
    "virtualisation": "Virtualisation",
    "system": "System",
    "limits": "Limits",
    "engine": "Container engine",
    "settings": "Settings of the run",
    "inputs": "Inputs and models",
    "tool": "Levelfield itself",
    "signals": "Signals watched",
}
"""Groups, the likeliest causes first; images and arms come after the machine."""
_STATES: tuple[State, ...] = ("changed", "varies", "unrecorded", "same")
_LAST = ("settings", "inputs", "tool", "signals")


def compare_environments(
    old: Sequence[Reduced], new: Sequence[Reduced], pairs: Iterable[Pair]
) -> tuple[ChangeGroup, ...]:
    """Compare the environments of two sides."""
    names = _names(old, new, pairs)
    before = [_renamed(run.environment, names[0]) for run in old]
    after = [_renamed(run.environment, names[1]) for run in new]
    groups = dict.fromkeys(group for environment in (*before, *after) for group in environment)
    found = [
        ChangeGroup(title=_title(group), changes=_group(group, before, after))
        for group in sorted(groups, key=lambda group: (_order_of(group), group))
    ]
    return tuple(sorted(found, key=lambda group: min((_STATES.index(each.state) for each in group.changes), default=0)))


def have_same_hardware(runs: Sequence[Reduced]) -> bool | None:
    """Return whether all runs were made on like hardware; None where a record does not name the processor."""
    if not all(is_known(run.hardware.get("cpu model", "not asked")) for run in runs):
        return None
    return not among(runs)


def among(runs: Iterable[Reduced]) -> list[str]:
    """Return what differs between the hardware of any two of these runs, one phrase each."""
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, value in run.hardware.items():
            if is_known(value):
                values.setdefault(name, {})[value] = None
    return [f"{name} ({' and '.join(found)})" for name, found in values.items() if len(found) > 1]


def known_hardware(runs: Sequence[Reduced]) -> dict[str, str]:
    """Return what is known of the hardware of like runs, by any of them."""
    facts = (fact for run in reversed(runs) for fact in run.hardware.items())
    return runs[0].hardware | {name: value for name, value in facts if is_known(value)}


def hardware_differences(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Return what differs between two machines, one phrase each; empty where nothing is known to differ."""
    return [
        f"{name} ({value} and {second[name]})"
        for name, value in first.items()
        if name in second and value != second[name] and is_known(value) and is_known(second[name])
    ]


def is_known(value: str) -> bool:
    """Return whether the text of a fact says what it is."""
    return not value.startswith(("not asked", "not known"))


def _names(
    old: Sequence[Reduced], new: Sequence[Reduced], pairs: Iterable[Pair]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names under which groups of both sides are compared."""
    arms = arms_of(old), arms_of(new)
    names: tuple[dict[str, str], dict[str, str]] = ({}, {})
    repeated = _repeated(old), _repeated(new)
    for first, second in pairs:
        if not first or not second or first == second:
            continue
        for renamed, others, arm in ((names[0], repeated[0], first), (names[1], repeated[1], second)):
            own = arm_group(arm)
            for group in (own, *others.get(own, ())):
                renamed[group] = f"arm {first} → {second}{group.removeprefix(own)}"
        images = [_image(arms[0][first], old), _image(arms[1][second], new)]
        if images[0] != images[1]:
            names[0][images[0]] = names[1][images[1]] = f"{images[0]} → {images[1].removeprefix('image ')}"
    return names


def _repeated(runs: Sequence[Reduced]) -> dict[str, list[str]]:
    """Return the groups of arms that stand a second time, by the group of the first."""
    found: dict[str, list[str]] = {}
    for group in dict.fromkeys(group for run in runs for group in run.environment):
        first, ordinal, _ = group.rpartition("#")
        if ordinal:
            found.setdefault(first, []).append(group)
    return found


def _image(arm: Arm, runs: Sequence[Reduced]) -> str:
    """Return the group of an arm's image: of its own version where the records have one for it."""
    places = [elsewhere(arm.launcher or run.launcher, run.launcher) for run in runs]
    for run, place in zip(runs, places, strict=True):
        own = image_group(arm.image, f"{arm.variant}@{arm.version}", place)
        if own in run.environment:
            return own
    return image_group(arm.image, arm.variant, places[0])


def _renamed(environment: Environment, names: Mapping[str, str]) -> Environment:
    return {names.get(group, group): facts for group, facts in environment.items()}


def _order_of(group: str) -> int:
    if group in _LAST:
        return 300 + _LAST.index(group)
    if group in _TITLES:
        return list(_TITLES).index(group)
    return 200 if group.startswith("arm ") else 100


def _title(group: str) -> str:
    if group in _TITLES:
        return _TITLES[group]
    kind, _, name = group.partition(" ")
    return {"image": f"Image {name}", "arm": f"Settings and libraries of {name}"}.get(kind, group.capitalize())


def _group(group: str, before: Sequence[Environment], after: Sequence[Environment]) -> tuple[Change, ...]:
    missing = [all(group not in run for run in side) for side in (before, after)]
    if any(missing):
        without = recorded(None, group, "")
        states = [without if each else without.removeprefix("not ") for each in missing]
        return (Change(name="all of it", old=states[0], new=states[1], state=_state({states[0]}, {states[1]})),)
    names = dict.fromkeys(name for run in (*before, *after) for name in run.get(group, {}))
    found = [
        _change(name, *([recorded(run.get(group), group, name) for run in side] for side in (before, after)))
        for name in names
    ]
    found.sort(key=lambda change: _STATES.index(change.state))
    return tuple(found[:MOST])


def _change(name: str, old: Sequence[str], new: Sequence[str]) -> Change:
    first, second = Counter(old), Counter(new)
    return Change(name=name, old=_summarised(first), new=_summarised(second), state=_state(first.keys(), second.keys()))


def _state(old: Collection[str], new: Collection[str]) -> State:
    """Say what is known of a fact from its values on either side."""
    if set(old) == set(new) and len(old) == 1:
        return "same"
    if len({*old, *new} - {NOT_RECORDED}) < 2:
        return "unrecorded"
    return "varies" if max(len(old), len(new)) > 1 else "changed"


def _summarised(values: Counter[str]) -> str:
    if len(values) == 1:
        return next(iter(values))
    return "; ".join(f"{value} ({count} {'run' if count == 1 else 'runs'})" for value, count in values.items())
