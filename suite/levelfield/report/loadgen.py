"""What MLPerf LoadGen found, for pages and terminals: charts, and settings beside those of MLPerf's rules."""

import msgspec

from levelfield.analysis.loadgen import deciding
from levelfield.analysis.types import LoadGenBlock, LoadGenRow
from levelfield.record.schema import Run
from levelfield.report import units

TITLE = "MLPerf LoadGen"
NOT_A_RESULT = (
    "These are no MLPerf results: MLPerf's LoadGen sent the queries, but for less time and from fewer samples than "
    "MLPerf's rules ask for, and nobody submitted or reviewed them."
)
MEANINGS = {
    "min_duration_ms": "shortest test",
    "min_query_count": "fewest queries",
    "performance_sample_count_override": "different samples",
    "server_target_latency_ns": "latency target",
    "single_stream_expected_latency_ns": "expected time of a query",
    "multi_stream_expected_latency_ns": "expected time of a query",
    "offline_expected_qps": "expected samples a second",
}


def written(name: str, value: float) -> str:
    if name.endswith("_ns"):
        return units.time(value)
    if name.endswith("_ms"):
        return units.time(1e6 * value)
    if name == "performance_sample_count_override" and not value:
        return "all of the data set"
    return units.plain(value)


def what(block: LoadGenBlock) -> str:
    """Return what the value of an arm is: `90th percentile of a query`, `queries a second within 15 ms`."""
    match block.scenario:
        case "SingleStream":
            return "90th percentile of a query"
        case "MultiStream":
            return f"99th percentile of a query of {block.case.batch} samples"
        case "Server":
            target = f"{units.time(block.target_ns)} (99th percentile)" if block.target_ns else "the latency target"
            return f"queries a second within {target}"
        case _:
            return "samples a second"


def validity(row: LoadGenRow) -> str:
    """Write what LoadGen itself said: `VALID`, `INVALID`, or in how many tests which."""
    if not row.tests:
        return units.NO_VALUE
    if row.tests_valid in (0, row.tests):
        return "VALID" if row.tests_valid else "INVALID"
    return f"VALID in {row.tests_valid} of {row.tests}"


class Log(msgspec.Struct, frozen=True):
    arm: str
    summary: str


def logs(run: Run, block: LoadGenBlock) -> tuple[Log, ...]:
    """Return LoadGen's own summary of the deciding test in each arm's first launch; whole logs are in the record."""
    found: dict[str, Log] = {}
    for each in run.blocks:
        if each.case != block.case:
            continue
        for generation in each.generations:
            for launch in generation.launches:
                if launch.loadgen is not None and launch.arm not in found:
                    last = deciding(launch.loadgen)[-1:]
                    found[launch.arm] = Log(launch.arm, last[0].summary if last else "")
    return tuple(found.values())
