"""MLPerf LoadGen's logs: percentiles and rates of one run, with LoadGen's own VALID or INVALID.

Both `mlperf_log_summary.txt` and `mlperf_log_detail.txt` are read.

References
----------
MLCommons inference, `loadgen/results.cc`: a line is `name : value`; the result of a scenario stands above `Result is`,
the other statistics below. In Offline all samples are one query, whose latency is the run's duration.
"""

import re
from collections.abc import Iterator
from typing import Final

from suite.fieldtools import loadgen as logs
from suite.fieldtools.values import refused, text
from suite.imported.types import NO_DATE, Recorded, Result, Timed, rate, seconds
from suite.record.schema import Absent

TOOL: Final = "MLPerf LoadGen"
MARKS = (b"MLPerf Results Summary", logs.PREFIX.encode())
_LINE = re.compile(r"([^:]{1,100}?)\s*:\s*(\S.*)")
_TIME = re.compile(
    r"(?:mean|50\.00 percentile|90\.00 percentile|99\.00 percentile)"
    r" (?:first token latency|time to output token|latency) \(ns\)"
)
_RATE = re.compile(r"(?:completed )?(?:samples|tokens|queries) per second")
_PERCENTILES = ("50.00", "90.00", "99.00")
_LEFT_OUT = ("latencies of Offline (all samples are one query)",)
_UNKNOWN = (
    "the machine, the version of LoadGen and when it ran",
    "single queries: percentiles and rates of the whole run stand for them",
)


def parse(content: bytes) -> Recorded:
    """Read a summary, or a detail log, which also says the version and when it was.

    Parameters
    ----------
    content
        The file.

    Returns
    -------
    Recorded
        One launch with one sample for each percentile, mean and rate. Where LoadGen says INVALID, all have failed.

    Raises
    ------
    LevelfieldError
        It is no such file, or of a run for accuracy.
    """
    if MARKS[1] in content:
        return _detail(logs.parse(content.decode(errors="replace")))
    lines = [found.groups() for line in content.decode(errors="replace").splitlines() if (found := _LINE.match(line))]
    said = {name.strip(): value.strip() for name, value in reversed(lines)}
    scenario, mode, verdict = (said.get(name, "") for name in ("Scenario", "Mode", "Result is"))
    if not scenario or verdict not in {"VALID", "INVALID"}:
        raise refused(TOOL, "it names no scenario, or neither VALID nor INVALID")
    if mode != "PerformanceOnly":
        raise refused(TOOL, f"its mode is {mode or 'not named'}, and times are those of PerformanceOnly")
    failed = ", ".join(name.strip() for name, value in lines if value.strip().upper() == "NO")
    failure = "" if verdict == "VALID" else f"LoadGen says INVALID{f' ({text(failed)})' if failed else ''}"
    offline = scenario == "Offline"
    return Recorded(
        tool=TOOL,
        version=NO_DATE,
        results=tuple(_results(lines, text(scenario), failure)),
        unknown=_UNKNOWN,
        left_out=_LEFT_OUT if offline else (),
    )


def _detail(found: logs.Result) -> Recorded:
    failure = "" if found.valid else f"LoadGen says INVALID ({text(found.why_invalid)})"
    times = {
        f"{name} percentile latency": value for name, value in found.percentiles_ns.items() if name in _PERCENTILES
    }
    if found.mean_ns is not None:
        times = {"mean latency": found.mean_ns} | times
    results = [
        _result(f"{found.scenario}, {name}", seconds(ns / 1e9), "latency", failure) for name, ns in times.items()
    ]
    if not isinstance(found.per_second, Absent):
        named = "completed samples per second" if found.scenario == "Server" else "samples per second"
        results.append(_result(f"{found.scenario}, {named}", rate(found.per_second), "throughput", failure))
    return Recorded(
        tool=TOOL,
        version=found.version or NO_DATE,
        results=tuple(results),
        started=found.started if isinstance(found.started, str) else NO_DATE,
        unknown=("the machine", _UNKNOWN[1]),
        left_out=_LEFT_OUT if found.scenario == "Offline" else (),
    )


def _results(lines: list[tuple[str, ...]], scenario: str, failure: str) -> Iterator[Result]:
    seen: set[str] = set()
    for name, value in lines:
        plain = name.strip().lower()
        if plain in seen:
            continue
        try:
            number = float(value)
        except ValueError:
            continue
        if _TIME.fullmatch(plain) and scenario != "Offline":
            seen.add(plain)
            yield _result(f"{scenario}, {plain.removesuffix(' (ns)')}", seconds(number / 1e9), "latency", failure)
        elif _RATE.fullmatch(plain):
            seen.add(plain)
            yield _result(f"{scenario}, {plain}", rate(number), "throughput", failure)


def _result(name: str, sample: Timed | None, scenario: str, failure: str) -> Result:
    launches = ((sample,),) if sample is not None else ()
    return Result(name, launches, "throughput" if scenario == "throughput" else "latency", failure)
