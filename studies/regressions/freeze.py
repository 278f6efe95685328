"""From the classes to the list that `ab` is tried on: written once, before `ab` sees any of its pairs."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from studies.record import read
from studies.regressions.pairs import Frozen, FrozenList
from studies.regressions.record import Classes, Measured
from studies.regressions.rule import PROCESSES, Class, Classified
from suite.errors import LevelfieldError
from suite.record.files import write_atomically

CHANGED = frozenset({Class.SLOWER, Class.FASTER})


def choose(measured: Sequence[Measured]) -> tuple[Frozen, ...]:
    """Return as many pairs that differ as pairs that do not, each the first in the order of the list."""
    classed = [(each, each.found) for each in measured if each.found is not None]
    changed = [_frozen(each, found) for each, found in classed if found.name in CHANGED]
    unchanged = [_frozen(each, found) for each, found in classed if found.name is Class.UNCHANGED]
    count = min(len(changed), len(unchanged))
    if not count:
        raise LevelfieldError("There are not both pairs that differ and pairs that do not.", fix="Classify more pairs.")
    return (*changed[:count], *unchanged[:count])


def _frozen(measured: Measured, found: Classified) -> Frozen:
    return Frozen(
        name=measured.pair.name,
        class_=found.name,
        ratio=round(found.ratio, 4),
        low=round(found.low, 4),
        high=round(found.high, 4),
        model_sha256=measured.model_sha256,
    )


def freeze(classes: Path, out: Path) -> FrozenList:
    """Write the frozen list."""
    if out.exists():
        raise LevelfieldError(f"{out.name} is frozen already.", fix="Remove it by hand, and say why where it is kept.")
    record = read(classes, Classes)
    short = [each.pair.name for each in record.pairs if each.found and len(each.processes) < 2 * PROCESSES]
    if short:
        raise LevelfieldError(
            f"{short[0]} was classified with fewer than {PROCESSES} processes a side.", fix="Classify it anew."
        )
    sha256 = hashlib.sha256(classes.read_bytes()).hexdigest()
    found = FrozenList(record=classes.name, record_sha256=sha256, pair=choose(record.pairs))
    write_atomically(out, toml(found).encode())
    return found


def toml(frozen: FrozenList) -> str:
    """Return the list as TOML."""
    content = msgspec.to_builtins(frozen)
    lines = [
        "# Written by `nox -s regressions -- freeze` before `ab` saw any of these pairs; never changed afterwards."
    ]
    lines += _fields({name: content[name] for name in ("record", "record_sha256")})
    for each in content["pair"]:
        lines += ["", "[[pair]]", *_fields(each)]
    return "\n".join(lines) + "\n"


def _fields(values: dict[str, str | float]) -> list[str]:
    return [f"{name} = {json.dumps(value)}" for name, value in values.items()]
