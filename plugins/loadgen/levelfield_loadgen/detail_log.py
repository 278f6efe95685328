"""MLPerf LoadGen's `mlperf_log_detail.txt`: what one test found, and LoadGen's own verdict of it.

References
----------
MLCommons inference, `loadgen/logging.cc` and `loadgen/results.cc`: every line is `:::MLLOG` and a JSON object with
`key` and `value`. Percentiles are the samples at `count × percentile` of the sorted latencies, without interpolation.
"""

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from levelfield.record.schema import Absent, LoadGenTest
from levelfield.terminals import LARGEST, refused, tool_text

TOOL: Final = "MLPerf LoadGen"
PREFIX: Final = ":::MLLOG "
SCENARIOS: Final = ("SingleStream", "MultiStream", "Server", "Offline")
MAX_LINES = 5_000
_PERCENTILE = re.compile(r"result_(\d{1,2}\.\d{2})_percentile_latency_ns")
_OF_QUERIES = re.compile(r"result_(\d{1,2}\.\d{2})_percentile_per_query_latency_ns")
"""In MultiStream, whose queries have several samples."""
_RATES = ("result_completed_samples_per_sec", "result_samples_per_second")
_WHY: Final = (
    ("result_perf_constraints_met", "the latency target was not held"),
    ("result_min_duration_met", "the test was too short"),
    ("result_min_queries_met", "there were too few queries"),
    ("early_stopping_met", "there were too few queries for its own statistics (early stopping)"),
)
"""Checks of LoadGen that can fail, and what it means."""

Value: TypeAlias = str | int | float | bool


class _Line(msgspec.Struct, forbid_unknown_fields=False):
    key: str
    value: msgspec.Raw


class Result(msgspec.Struct, frozen=True):
    """What the log of a test for performance says."""

    scenario: str
    version: str
    target_latency_ns: int | None
    """Of Server."""
    test: LoadGenTest
    """As it is recorded, but for what the log does not say."""


_lines = msgspec.json.Decoder(_Line)


def values(content: str) -> dict[str, Value]:
    """Return every plain value of a log by its key; where a key comes twice, the last one.

    `content`: the log. Lines that are cut off, and values that are lists or objects, are left out.
    """
    found: dict[str, Value] = {}
    for line in content.splitlines()[:MAX_LINES]:
        if not line.startswith(PREFIX):
            continue
        try:
            read = _lines.decode(line.removeprefix(PREFIX))
            value = msgspec.json.decode(read.value)
        except (msgspec.MsgspecError, RecursionError):
            continue
        if isinstance(value, str | int | float | bool):
            found[read.key] = value
    return found


def parse(content: str, elapsed_ns: int = 0) -> Result:
    """Read the detail log of one test, which took `elapsed_ns`.

    Raises LevelfieldError: it is no such log, is cut off before the result, or is of a test for accuracy.
    """
    said = values(content)
    scenario, mode, validity = (
        said.get(key) for key in ("effective_scenario", "effective_test_mode", "result_validity")
    )
    if scenario not in SCENARIOS:
        raise refused(TOOL, "its log names no scenario")
    if mode != "PerformanceOnly":
        raise refused(TOOL, f"its mode is {mode or 'not named'}, and times are those of PerformanceOnly")
    if validity not in {"VALID", "INVALID"}:
        raise refused(TOOL, "its log says neither VALID nor INVALID, or ends before it does")
    scenario = str(scenario)
    queries = _count(said, "result_query_count") or 0
    server = scenario == "Server"
    return Result(
        scenario=scenario,
        version=tool_text(str(said.get("loadgen_version", ""))),
        target_latency_ns=_count(said, "effective_target_latency_ns") if server else None,
        test=LoadGenTest(
            valid=validity == "VALID",
            why_invalid="" if validity == "VALID" else _why(said),
            queries=queries,
            samples=queries * (_count(said, "generated_samples_per_query") or 1),
            percentiles_ns={} if scenario == "Offline" else _percentiles(said, scenario),
            per_second=_per_second(said, scenario),
            elapsed_ns=elapsed_ns,
            scheduled_per_second=_rate(said, "result_scheduled_samples_per_sec"),
            late=_late(said) if server else Absent("only Server has a latency target"),
        ),
    )


def _why(said: Mapping[str, Value]) -> str:
    failed = [meaning for key, meaning in _WHY if said.get(key) is False]
    return "; ".join(failed) or tool_text(str(said.get("result_invalid_reason", ""))) or "it gives no reason"


def _percentiles(said: Mapping[str, Value], scenario: str) -> dict[str, int]:
    pattern = _OF_QUERIES if scenario == "MultiStream" else _PERCENTILE
    found: dict[str, int] = {}
    for key in said:
        named = pattern.fullmatch(key)
        number = _count(said, key) if named else None
        if named and number is not None:
            found[named[1]] = number
    return found


def _per_second(said: Mapping[str, Value], scenario: str) -> float | Absent:
    for key in _RATES:
        found = _rate(said, key)
        if not isinstance(found, Absent):
            return found
    if scenario in {"SingleStream", "MultiStream"}:
        found = _rate(said, "result_qps_with_loadgen_overhead")
        each = _count(said, "effective_samples_per_query") or 1
        return found if isinstance(found, Absent) else found * each
    return Absent("LoadGen's log has no rate")


def _late(said: Mapping[str, Value]) -> int | Absent:
    found = _count(said, "result_overlatency_query_count")
    return Absent("LoadGen's log does not count them") if found is None else found


def _rate(said: Mapping[str, Value], key: str) -> float | Absent:
    value = said.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LARGEST:
        return float(value)
    return Absent("LoadGen's log has no such rate")


def _count(said: Mapping[str, Value], key: str) -> int | None:
    value = said.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST else None
