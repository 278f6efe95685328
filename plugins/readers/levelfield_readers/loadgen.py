"""MLPerf LoadGen's `mlperf_log_summary.txt`: percentiles and rates of one run, with LoadGen's own VALID or INVALID.

References
----------
MLCommons inference, `loadgen/results.cc`: a line is `name : value`; the result of a scenario stands above `Result is`,
the other statistics below. In Offline all samples are one query, whose latency is the run's duration.
"""

import re
from collections.abc import Iterator
from typing import Final

from levelfield.terminals import refused, tool_text
from levelfield_readers.recorded import NOT_SAID, Reader, Recorded, Result, rate, seconds

TOOL: Final = "MLPerf LoadGen"
_LINE = re.compile(r"([^:]{1,100}?)\s*:\s*(\S.*)")
_TIME = re.compile(
    r"(?:mean|50\.00 percentile|90\.00 percentile|99\.00 percentile)"
    r" (?:first token latency|time to output token|latency) \(ns\)"
)
_RATE = re.compile(r"(?:completed )?(?:samples|tokens|queries) per second")


def parse(content: bytes) -> Recorded:
    """Read a summary of a run for performance; one for accuracy is refused."""
    matches = map(_LINE.match, content.decode(errors="replace").splitlines())
    lines = [(match[1].strip(), match[2].strip()) for match in matches if match]
    values = dict(reversed(lines))
    scenario, mode, verdict = (values.get(name, "") for name in ("Scenario", "Mode", "Result is"))
    if not scenario or verdict not in {"VALID", "INVALID"}:
        raise refused(TOOL, "it names no scenario, or neither VALID nor INVALID")
    if mode != "PerformanceOnly":
        raise refused(TOOL, f"its mode is {mode or 'not named'}, and times are those of PerformanceOnly")
    failed = ", ".join(name for name, value in lines if value.upper() == "NO")
    failure = "" if verdict == "VALID" else f"LoadGen says INVALID{f' ({tool_text(failed)})' if failed else ''}"
    return Recorded(
        tool=TOOL,
        version=NOT_SAID,
        results=tuple(_results(lines, tool_text(scenario), failure)),
        unknown=(
            "the machine, the version of LoadGen and when it ran",
            "single queries: percentiles and rates of the whole run stand for them",
        ),
        left_out=("latencies of Offline (all samples are one query)",) if scenario == "Offline" else (),
    )


def _results(lines: list[tuple[str, str]], scenario: str, failure: str) -> Iterator[Result]:
    seen: set[str] = set()
    for name, value in lines:
        plain = name.lower()
        is_time = bool(_TIME.fullmatch(plain)) and scenario != "Offline"
        if plain in seen or not (is_time or _RATE.fullmatch(plain)):
            continue
        try:
            number = float(value)
        except ValueError:
            continue
        seen.add(plain)
        sample = seconds(number / 1e9) if is_time else rate(number)
        launches = ((sample,),) if sample is not None else ()
        named = f"{scenario}, {plain.removesuffix(' (ns)')}"
        yield Result(named, launches, "latency" if is_time else "throughput", failure)


LOADGEN = Reader("MLPerf LoadGen (mlperf_log_summary.txt)", (b"MLPerf Results Summary",), parse)
