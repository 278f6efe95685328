"""nccl-tests and nvbandwidth, read as `suite.fieldtools` reads them: a time or a bandwidth for each place."""

from collections.abc import Callable, Iterator

from suite.fieldtools import nccl_tests, nvbandwidth
from suite.imported.types import Recorded, Result, rate, seconds
from suite.record.schema import Absent, Fact, FieldOutput, FieldReading

_UNKNOWN = ("when it ran", "single iterations: the tool gives their mean", "the processor's name")


def parse_nccl_tests(content: bytes) -> Recorded:
    """Read output of nccl-tests: the time of each size of message. Bandwidths follow from it.

    Parameters
    ----------
    content
        The output.

    Raises
    ------
    LevelfieldError
        As `suite.fieldtools.nccl_tests.parse`.
    """
    return _recorded(nccl_tests.parse(content))


def parse_nvbandwidth(content: bytes) -> Recorded:
    """Read output of `nvbandwidth -j`: bandwidth is bytes a second, so that a byte is the item that is counted.

    Parameters
    ----------
    content
        The output.

    Raises
    ------
    LevelfieldError
        As `suite.fieldtools.nvbandwidth.parse`.
    """
    return _recorded(nvbandwidth.parse(content))


PARSERS: tuple[tuple[tuple[bytes, ...], Callable[[bytes], Recorded]], ...] = (
    (nvbandwidth.MARKS, parse_nvbandwidth),
    (nccl_tests.MARKS, parse_nccl_tests),
)


def _recorded(output: FieldOutput) -> Recorded:
    wrong = {
        reading.at
        for reading in output.readings
        if reading.measure.endswith(nccl_tests.WRONG_VALUES)
        and not isinstance(reading.value, str | Absent)
        and reading.value > 0
    }
    facts: dict[str, Fact] = dict(output.facts)
    return Recorded(
        tool=output.tool,
        version=output.version,
        results=tuple(_results(output, wrong)),
        machine={"reported": facts},
        unknown=_UNKNOWN,
        left_out=tuple(
            f"{reading.name} ({reading.value.reason})"
            for reading in output.readings
            if isinstance(reading.value, Absent) and (reading.unit or output.tool != nccl_tests.TOOL)
        ),
    )


def _results(output: FieldOutput, wrong: set[str]) -> Iterator[Result]:
    for reading in output.readings:
        failure = "the tool found wrong values" if reading.at in wrong else ""
        value = reading.value
        if not isinstance(value, float) or _follows(reading):
            continue
        if reading.unit == "ns":
            sample = seconds(value / 1e9)
            yield Result(reading.name, ((sample,),) if sample else (), failure=failure)
        elif reading.unit == "B/s":
            sample = rate(value)
            yield Result(reading.name, ((sample,),) if sample else (), "throughput", failure)


def _follows(reading: FieldReading) -> bool:
    return reading.measure.endswith(nccl_tests.BUS_BANDWIDTH)
