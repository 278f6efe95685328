"""Results of `nvbandwidth -j`: a matrix of bandwidths or latencies for each test.

References
----------
NVIDIA nvbandwidth, `json_output.cpp`: the fields; the matrix holds texts, `N/A` where a pair was not measured.
`memcpy.cpp`: a GB/s is 10⁹ bytes a second (bytes a second times 1e-9).
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from suite.fieldtools.values import refused, scaled, text
from suite.record.schema import Absent, Fact, FieldOutput, FieldReading

TOOL: Final = "nvbandwidth"
MARKS = (b'"nvbandwidth"',)
_UNITS = {"GB/s": ("B/s", 9), "ns": ("ns", 0)}
"""Unit as the description of a test ends with it, to the unit of its readings and the power of ten between them."""
_UNIT = re.compile(r"(GB/s|\bns)\)?\s*$")
_ROW, _COLUMN = re.compile(r"(\w+)\(row\)"), re.compile(r"(\w+)\(column\)")
_DEVICE = re.compile(r"\d+: (.+?) \([0-9a-fA-F]+:[0-9a-fA-F:.]+\)")
"""`0: NVIDIA GeForce RTX 5090 (00000000:0c:00): (host)`: the bus and the host are not kept."""


class _Case(msgspec.Struct):
    name: str
    status: str = ""
    bandwidth_description: str = ""
    bandwidth_matrix: list[list[str | float] | None] | None = None
    error: str = ""


class _Body(msgspec.Struct):
    testcases: list[_Case] | None = None
    version: str = ""
    git_version: str = ""
    cuda: int | None = msgspec.field(name="CUDA Runtime Version", default=None)
    driver: str = msgspec.field(name="Driver Version", default="")
    devices: list[str] | None = msgspec.field(name="GPU Device list", default=None)
    error: str = ""


class _Output(msgspec.Struct):
    nvbandwidth: _Body


def parse(content: bytes) -> FieldOutput:
    """Read the output of `nvbandwidth -j`.

    Parameters
    ----------
    content
        The output; text before and after the JSON is skipped.

    Returns
    -------
    FieldOutput
        A reading for each place of each test's matrix, in bytes a second or nanoseconds; a test that was waived or
        failed has one reading, which is absent with the reason. Names of hosts and buses are not kept.

    Raises
    ------
    LevelfieldError
        It is no such output, the tool reports an error, or it holds no test.
    """
    try:
        body = msgspec.json.decode(content[content.find(b"{") : content.rfind(b"}") + 1], type=_Output).nvbandwidth
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise refused(TOOL, str(error)) from error
    if not body.testcases:
        raise refused(TOOL, body.error or "it holds no test")
    facts: dict[str, Fact] = {
        "driver": text(body.driver) or Absent("this output does not say"),
        "CUDA runtime": f"{body.cuda // 1000}.{body.cuda % 1000 // 10}"
        if body.cuda
        else Absent("this output does not say"),
        "GPUs": _devices(body.devices),
    }
    return FieldOutput(
        tool=TOOL,
        version=text(body.version or body.git_version) or Absent("this output does not say"),
        sha256=hashlib.sha256(content).hexdigest(),
        facts=facts,
        readings=tuple(reading for case in body.testcases for reading in _readings(case)),
    )


def _devices(listed: list[str] | None) -> Fact:
    names = [found[1] for each in listed or () if (found := _DEVICE.match(each))]
    return text(", ".join(names)) or Absent("this output does not list them")


def _readings(case: _Case) -> Iterator[FieldReading]:
    name, rows = text(case.name), case.bandwidth_matrix or []
    if case.status.lower() != "passed" or not rows:
        why = ": ".join(filter(None, (text(case.status) or "no status", text(case.error))))
        yield FieldReading(name, "", Absent(f"nvbandwidth says {why}"))
        return
    found = _UNIT.search(case.bandwidth_description)
    kinds = [(pattern.search(case.bandwidth_description) or ("", ""))[1] for pattern in (_ROW, _COLUMN)]
    for index, row in enumerate(rows):
        for column, cell in enumerate(row or ()):
            if found is None:
                yield FieldReading(name, _place(kinds, index, column), Absent("this output does not say its unit"))
                continue
            unit, exponent = _UNITS[found[1]]
            yield FieldReading(name, _place(kinds, index, column), scaled(str(cell), exponent), unit)


def _place(kinds: list[str], row: int, column: int) -> str:
    """Return `CPU 0, GPU 3` where the description says what rows and columns are; else `row 0, column 3`."""
    named = [f"{kind} {index}" for kind, index in zip(kinds, (row, column), strict=True) if kind]
    return text(", ".join(named)) or f"row {row}, column {column}"
