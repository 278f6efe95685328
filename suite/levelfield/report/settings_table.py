"""A table of every setting that can bias the comparison: what all arms share, and where they differ."""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import msgspec

from levelfield.analysis import collect, kernels
from levelfield.record.schema import Launch, Library, Run
from levelfield.report import names


class Line(msgspec.Struct, frozen=True):
    """One setting: each value in use, with the arms that use it."""

    name: str
    values: tuple[tuple[str, tuple[str, ...]], ...]


class Ledger(msgspec.Struct, frozen=True):
    shared: tuple[tuple[str, str], ...]
    """Name and value that every arm reports alike."""
    different: tuple[Line, ...]
    """What arms report differently."""
    partial: tuple[Line, ...]
    """What only some arms report, all of them alike."""


def settings(run: Run) -> Ledger:
    """Return a table of the settings that each framework reports."""
    return _ledger((arm, model, launch.settings) for arm, model, launch in launches(run))


def environment(run: Run) -> Ledger:
    """Return a table of the environment variables that were set for the workers."""
    return _ledger((arm, model, launch.environment) for arm, model, launch in launches(run))


def libraries(run: Run) -> Ledger:
    """Return a table of the numerical libraries in each worker's memory map, by kind, and which of them multiply."""
    return _ledger((arm, model, _libraries(launch)) for arm, model, launch in launches(run))


def launches(run: Run) -> Iterator[tuple[str, str, Launch]]:
    """Walk over all launches that came up, with arm and what it ran; the canary's are not among them."""
    for block in run.blocks:
        planned = {arm.id for arm in block.arms}
        for _, launch in collect.launches(block):
            if launch.arm in planned and launch.arm != block.canary and launch.failure is None:
                yield launch.arm, names.network(block.case), launch


def _libraries(launch: Launch) -> dict[str, str]:
    kinds: dict[str, list[str]] = {}
    for library in launch.libraries:
        kinds.setdefault(library.kind, []).append(_located(library))
    by_kind = {kind: ", ".join(sorted(set(found))) for kind, found in kinds.items()}
    said = kernels.in_words(launch)
    return by_kind | ({kernels.NAME: said} if said else {})


def _located(library: Library) -> str:
    """`numpy.libs/libopenblas.so (OpenBLAS 0.3.31)`: a file by its path; what lies inside another file by its name."""
    file, *rest = library.name.split(" ", 1)
    return " ".join((library.path, *rest)) if PurePosixPath(library.path).name.startswith(file) else library.name


def _ledger(facts: Iterable[tuple[str, str, dict[str, str]]]) -> Ledger:
    """Fold facts by name and value; a value that depends on the model is listed with its models."""
    arms: dict[str, None] = {}
    found: dict[str, dict[str, dict[str, dict[str, None]]]] = {}  # name → arm → value → models
    for arm, model, values in facts:
        arms.setdefault(arm)
        for name, value in values.items():
            found.setdefault(name, {}).setdefault(arm, {}).setdefault(value, {})[model] = None
    lines = [_line(name, by_arm) for name, by_arm in sorted(found.items())]
    shared = [line for line in lines if len(line.values) == 1 and len(line.values[0][1]) == len(arms)]
    return Ledger(
        shared=tuple((line.name, line.values[0][0]) for line in shared),
        different=tuple(line for line in lines if len(line.values) > 1),
        partial=tuple(line for line in lines if len(line.values) == 1 and line not in shared),
    )


def _line(name: str, by_arm: dict[str, dict[str, dict[str, None]]]) -> Line:
    by_value: dict[str, list[str]] = {}
    for arm, values in by_arm.items():
        by_value.setdefault(_written(values), []).append(arm)
    return Line(name=name, values=tuple((value, tuple(arms)) for value, arms in by_value.items()))


def _written(values: dict[str, dict[str, None]]) -> str:
    if len(values) == 1:
        return next(iter(values)) or "(empty)"
    return "; ".join(f"{value or '(empty)'} ({', '.join(models)})" for value, models in values.items())
