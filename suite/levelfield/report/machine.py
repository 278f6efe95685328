"""The fingerprint for readers: the few essential facts, then all of them, missing ones with the reason."""

import msgspec

from levelfield.analysis import processor
from levelfield.record.schema import Absent, Fact, Fingerprint
from levelfield.report import units

_ESSENTIALS = (
    ("cpu", "model", "processor"),
    ("cpu", "cores", "cores"),
    ("cpu", "threads", "hardware threads"),
    ("cpu", "L2 cache", "L2 cache"),
    ("cpu", "L3 cache", "L3 cache"),
    ("cpu", "CPUs measured on", "CPUs measured on"),
    ("cpu", "NUMA nodes measured on", "NUMA nodes measured on"),
    ("cpu", "core kinds measured on", "kinds of core measured on"),
    ("cpu", "SMT siblings measured on", "other threads of these cores"),
    ("clock", "governor", "frequency governor"),
    ("memory", "total bytes", "memory"),
    ("gpu", "name", "GPU"),
    ("gpu", "driver", "GPU driver"),
    ("virtualisation", "hypervisor", "hypervisor"),
    ("system", "distribution", "distribution"),
    ("kernel", "release", "kernel"),
    ("engine", "version", "container engine"),
)
_TITLES = {"cpu": "CPU", "gpu": "GPU", "nvidia-smi": "GPU, by nvidia-smi"}


FROM_ALIKE = 4
"""Facts of a group with one value that share a line."""


class Line(msgspec.Struct, frozen=True):
    name: str
    value: str
    known: bool


class Group(msgspec.Struct, frozen=True):
    title: str
    lines: tuple[Line, ...]
    """Known facts first, many of one value together; then absences, those of one reason together."""


def essentials(machine: Fingerprint, gpu: int | None = None) -> tuple[Line, ...]:
    """Return the facts that distinguish two machines at first sight.

    `gpu`: index of the GPU that was used; None: no GPU is listed.
    """
    facts = [
        (group, f"device {gpu} name" if (group, name) == ("gpu", "name") else name, title)
        for group, name, title in _ESSENTIALS
    ]
    found = [_line(title, name, machine[group][name]) for group, name, title in facts if name in machine.get(group, {})]
    processor_facts = {
        "processor family": processor.identity(machine),
        "instruction set": processor.instructions(machine),
    }
    return (
        *found[:1],
        *(Line(name, value, known=True) for name, value in processor_facts.items() if value),
        *found[1:],
    )


def groups(machine: Fingerprint) -> tuple[Group, ...]:
    """Return every fact by group."""
    return tuple(
        Group(title=_TITLES.get(name, name.capitalize()), lines=all_lines(facts)) for name, facts in machine.items()
    )


def all_lines(facts: dict[str, Fact]) -> tuple[Line, ...]:
    """Return a line for each known fact, then one for each reason why others are not known."""
    lines = [_line(name, name, value) for name, value in facts.items() if not isinstance(value, Absent)]
    alike: dict[str, list[str]] = {}
    for line in lines:
        alike.setdefault(line.value, []).append(line.name)
    known = [
        line if len(alike[line.value]) < FROM_ALIKE else Line(", ".join(alike[line.value]), line.value, known=True)
        for line in lines
        if len(alike[line.value]) < FROM_ALIKE or line.name == alike[line.value][0]
    ]
    missing: dict[str, list[str]] = {}
    for name, value in facts.items():
        if isinstance(value, Absent):
            missing.setdefault(value.reason, []).append(name)
    unknown = [Line(", ".join(titles), f"not known: {reason}", known=False) for reason, titles in missing.items()]
    return (*known, *unknown)


def _line(title: str, name: str, value: Fact) -> Line:
    if isinstance(value, Absent):
        return Line(title, f"not known: {value.reason}", known=False)
    if isinstance(value, bool):
        return Line(title, "yes" if value else "no", known=True)
    if isinstance(value, int) and name.endswith("bytes") and value > 0:
        return Line(title.removesuffix(" bytes"), units.size(value), known=True)
    return Line(title, str(value), known=True)
