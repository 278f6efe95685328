"""Results of nccl-tests (`all_reduce_perf` and its siblings): time and bus bandwidth for each size of message.

Columns differ between releases and collectives: `redop` and `root` may be missing, and the last column of each half was
`error` before it became `#wrong`. So a line is read from its end, by the columns that the line of titles names.

References
----------
NVIDIA nccl-tests, `doc/PERFORMANCE.md`: algorithm and bus bandwidth; `src/*.cu`: a GB/s is 10⁹ bytes a second.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Final

from suite.fieldtools.values import refused, scaled, text
from suite.record.schema import Absent, Fact, FieldOutput, FieldReading

TOOL: Final = "nccl-tests"
MARKS = (b"busbw",)
TIME: Final = "time"
BUS_BANDWIDTH: Final = "bus bandwidth"
"""It follows from the time."""
WRONG_VALUES: Final = "wrong values"
STEP_BYTES_PER_S: Final = 1e7
"""Steps of a bandwidth: GB/s are printed with two decimals."""
_HALVES = ("out-of-place", "in-place")
_COLUMNS = {
    "time": (TIME, "ns", 3),
    "busbw": (BUS_BANDWIDTH, "B/s", 9),
    "#wrong": (WRONG_VALUES, "", 0),
    "error": ("largest error", "", 0),
}
"""Title of a column, to its measure, the unit of its readings and the power of ten; `algbw` follows from the time."""
_MPI_PREFIX = re.compile(r"^\[\d+,\d+\]<stdout>:")
_VERSION = re.compile(r"# nccl-tests version (\S+)")
_LIBRARY = re.compile(r"nccl-library=(\d+)")
_STARTING = re.compile(r"# Collective test starting: (\S+)")
_DEVICE = re.compile(r"#\s+Rank\s+\d+ .*\bdevice\s+\d+ \[[^\]]*\]\s+(.+)")
_SETTINGS = re.compile(r"# (nThread \d.*)")
_LEADING = 3
"""Columns that every line begins with: size, count and type."""


def parse(content: bytes) -> FieldOutput:
    """Read what a program of nccl-tests printed.

    Parameters
    ----------
    content
        The output; other lines (of NCCL itself, of mpirun) are skipped, and so are messages of no bytes.

    Returns
    -------
    FieldOutput
        Readings for each size of message, out of place and in place: time in nanoseconds, bus bandwidth in bytes a
        second, and wrong values (or the largest error, which older releases print). Names of hosts are not kept.

    Raises
    ------
    LevelfieldError
        It is no such output, holds no line of results, or has other units.
    """
    lines = [_MPI_PREFIX.sub("", line).strip() for line in content.decode(errors="replace").splitlines()]
    readings = tuple(_readings(lines))
    if not readings:
        raise refused(TOOL, "it holds no line of results")
    devices = [text(found[1]) for line in lines if (found := _DEVICE.match(line))]
    facts: dict[str, Fact] = {
        "NCCL": _first(_LIBRARY, lines),
        "settings": _first(_SETTINGS, lines),
        "ranks": len(devices) or Absent("this output does not list them"),
        "GPUs": text(", ".join(dict.fromkeys(devices))) or Absent("this output does not list them"),
    }
    return FieldOutput(
        tool=TOOL,
        version=_first(_VERSION, lines),
        sha256=hashlib.sha256(content).hexdigest(),
        facts=facts,
        readings=readings,
    )


def _first(pattern: re.Pattern[str], lines: Sequence[str]) -> str | Absent:
    found = next(filter(None, map(pattern.search, lines)), None)
    return text(found[1]) if found else Absent("this output does not say")


def _readings(lines: Sequence[str]) -> Iterator[FieldReading]:
    collective, columns = "", [[""]]
    for index, line in enumerate(lines):
        if started := _STARTING.match(line):
            collective = f"{text(started[1])} "
        elif line.startswith("#") and "busbw" in line:
            columns = _halves(line.split())
            if not {"(us)", "(GB/s)"} <= set(next(iter(lines[index + 1 : index + 2]), "").split()):
                raise refused(TOOL, "the line below the titles names other units than us and GB/s")
        elif line[:1].isdigit():
            yield from _of_line(line.split(), columns, collective)


def _halves(titles: Sequence[str]) -> list[list[str]]:
    """Split the titles into the columns of each half, which begin with `time`."""
    starts = [index for index, title in enumerate(titles) if title == "time"]
    return [list(titles[start:end]) for start, end in zip(starts, [*starts[1:], len(titles)], strict=True)]


def _of_line(words: Sequence[str], halves: Sequence[Sequence[str]], collective: str) -> Iterator[FieldReading]:
    width = sum(map(len, halves))
    if not words[0].isdigit() or not words[1:2] or not words[1].isdigit() or len(words) < _LEADING + width:
        return
    if not int(words[0][:20]):
        return
    place = text(f"{words[0]} bytes, {' '.join(words[2 : len(words) - width])}")
    values = iter(words[len(words) - width :])
    for half, titles in zip(_HALVES, halves, strict=False):
        for title in titles:
            value = next(values)
            if title in _COLUMNS:
                measure, unit, exponent = _COLUMNS[title]
                yield FieldReading(f"{collective}{half} {measure}", place, scaled(value, exponent), unit)
