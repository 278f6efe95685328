"""MLPerf LoadGen's `mlperf_log_summary.txt`: percentiles and rates of one run, with LoadGen's own VALID or INVALID.

References
----------
MLCommons inference, `loadgen/results.cc`: a line is `name : value`; the result of a scenario stands above `Result is`,
the other statistics below. In Offline all samples are one query, whose latency is the run's duration.
"""

import re
from collections.abc import Iterator
from typing import Final

from levelfield.imported.types import NO_DATE, Recorded, Result, Timed, rate, seconds
from levelfield.safety.tool_output import refused, text

TOOL: Final = "MLPerf LoadGen"
MARKS = (b"MLPerf Results Summary",)
_LINE = re.compile(r"([^:]{1,100}?)\s*:\s*(\S.*)")
_TIME = re.compile(
    r"(?:mean|50\.00 percentile|90\.00 percentile|99\.00 percentile)"
    r" (?:first token latency|time to output token|latency) \(ns\)"
)
_RATE = re.compile(r"(?:completed )?(?:samples|tokens|queries) per second")
_LEFT_OUT = ("latencies of Offline (all samples are one query)",)
_UNKNOWN = (
    "the machine, the version of LoadGen and when it ran",
    "single queries: percentiles and rates of the whole run stand for them",
)


def parse(content: bytes) -> Recorded:
    """Read a summary.

    Raises LevelfieldError: it is no such file, or of a run for accuracy.
    """
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
