"""Readings of other tools for readers: one line for each measure, from the least to the greatest."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from suite.record.schema import Absent, FieldOutput, FieldReading
from suite.report import machine, units


class Row(msgspec.Struct, frozen=True):
    """All readings of one measure of one output."""

    tool: str
    """Name and version."""
    measure: str
    readings: int
    values: str
    said: str
    """What the tool says beside them."""


def rows(outputs: Sequence[FieldOutput]) -> tuple[Row, ...]:
    """Return a row for each measure of each output, in the order of the outputs."""
    return tuple(row for output in outputs for row in _rows(output))


def facts(output: FieldOutput) -> tuple[machine.Line, ...]:
    """Return what an output says of its circumstances, and the digest of its file."""
    return machine.all_lines({"version": output.version, **output.facts, "SHA-256 of the file": output.sha256})


def _rows(output: FieldOutput) -> Iterator[Row]:
    tool = output.tool if isinstance(output.version, Absent) else f"{output.tool} {output.version}"
    for measure in dict.fromkeys(reading.measure for reading in output.readings):
        found = [reading for reading in output.readings if reading.measure == measure]
        said = "; ".join(dict.fromkeys(reading.note for reading in found if reading.note))
        yield Row(tool, measure, len(found), _values(found), said)


def _values(readings: Sequence[FieldReading]) -> str:
    """Write numbers as their range, results as their counts, and what is not known with its reason."""
    numbers = sorted((reading.value, reading.unit) for reading in readings if isinstance(reading.value, float))
    ends = dict.fromkeys(amount(*end) for end in (*numbers[:1], *numbers[-1:]))
    words = Counter(
        f"not known ({reading.value.reason})" if isinstance(reading.value, Absent) else reading.value
        for reading in readings
        if not isinstance(reading.value, float)
    )
    return "; ".join((*([" – ".join(ends)] if ends else []), *(_counted(*each) for each in words.items())))


def _counted(word: str, count: int) -> str:
    return word if count == 1 else f"{count} × {word}"


def amount(value: float, unit: str) -> str:
    """Write a reading with its unit: `56.4 GB/s`, `575 ns`.

    Parameters
    ----------
    value
        In the unit.
    unit
        As `suite.record.schema.FieldReading` has it.
    """
    return units.time(value) if unit == "ns" else units.amount(value, unit).rstrip("\N{NO-BREAK SPACE}")
