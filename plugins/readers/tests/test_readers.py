"""What readers make of files as the tools wrote them; `data/README.md` says where each is from."""

import json
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from levelfield.errors import LevelfieldError
from levelfield.record.schema import Absent
from levelfield_readers import json_tools, loadgen
from levelfield_readers.recorded import (
    LARGEST_NS,
    NOT_SAID,
    Recorded,
    Result,
    Timed,
    decode,
    fact,
    moment,
    rate,
    samples,
    seconds,
)

DATA = Path(__file__).parent / "data"


def content(name: str) -> bytes:
    return (DATA / name).read_bytes()


def per_call_ns(result: Result) -> list[float]:
    return [sample.total_ns / sample.calls for launch in result.launches for sample in launch]


def test_pyperf_every_process_with_values_is_a_launch() -> None:
    recorded = json_tools.pyperf(content("pyperf-2.11.0-1.json"))
    assert (recorded.tool, recorded.version, recorded.started) == ("pyperf", "2.11.0", "2026-11-26T05:19:08Z")
    assert recorded.machine["cpu"] == {"model": "AMD EPYC", "cores": 2}
    assert [result.name for result in recorded.results] == ["sort a list", "dict lookup"]
    written = json.loads(content("pyperf-2.11.0-1.json"))["benchmarks"]
    for result, benchmark in zip(recorded.results, written, strict=True):
        values = [run["values"] for run in benchmark["runs"] if "values" in run]
        assert [len(launch) for launch in result.launches] == [len(run) for run in values] == [3] * 5
        assert per_call_ns(result) == pytest.approx([1e9 * value for run in values for value in run], rel=1e-6)


def test_pyperf_inner_loops_shared_metadata_and_other_units() -> None:
    runs = [{"values": [2e-6], "metadata": {"loops": 8, "date": "2026-01-02 03:04:05"}}]
    memory = {"runs": [{"values": [5e6]}], "metadata": {"name": "peak", "unit": "byte"}}
    file = {"benchmarks": [{"runs": runs}, memory], "metadata": {"name": "one", "inner_loops": 10}}
    recorded = json_tools.pyperf(json.dumps(file).encode())
    assert recorded.results == (Result("one", ((Timed(160_000, 80),),)),)
    assert recorded.started == "2026-01-02T03:04:05Z"
    assert recorded.left_out == ("peak (its unit is byte, which is no time)",)


@pytest.mark.parametrize(("loops", "inner_loops"), [(-3, -3), (0, 1), (1, 0), (-1, 5)])
def test_pyperf_without_a_loop_is_refused(loops: int, inner_loops: int) -> None:
    runs = [{"values": [2e-6], "metadata": {"loops": loops, "inner_loops": inner_loops}}]
    with pytest.raises(LevelfieldError, match=f"a value is of {loops} × {inner_loops} loops"):
        json_tools.pyperf(json.dumps({"benchmarks": [{"runs": runs}]}).encode())


def test_hyperfine_every_run_of_a_command_is_a_launch() -> None:
    recorded = json_tools.hyperfine(content("hyperfine-1.15.0.json"))
    assert isinstance(recorded.version, Absent)
    assert isinstance(recorded.started, Absent)
    assert [result.name for result in recorded.results] == ["true", "sleep 0.01"]
    written = json.loads(content("hyperfine-1.15.0.json"))["results"]
    for result, command in zip(recorded.results, written, strict=True):
        assert [len(launch) for launch in result.launches] == [1] * 10
        assert statistics.median(per_call_ns(result)) == pytest.approx(1e9 * command["median"], rel=1e-6)
    file = {"results": [{"command": "false", "times": [0.1, 0.2], "exit_codes": [0, None]}]}
    (failed,) = json_tools.hyperfine(json.dumps(file).encode()).results
    assert failed.failure == "it ended with another exit code than 0"


def google(*lines: dict[str, Any]) -> Recorded:
    return json_tools.google_benchmark(json.dumps({"context": {}, "benchmarks": lines}).encode())


def test_google_benchmark_repetitions_are_samples_and_aggregates_follow_from_them() -> None:
    recorded = json_tools.google_benchmark(content("google-benchmark-1.7.1.json"))
    assert [result.name for result in recorded.results] == ["BM_StringCreation", "BM_Sort/64", "BM_Sort/1024"]
    lines = {line["name"]: line for line in json.loads(content("google-benchmark-1.7.1.json"))["benchmarks"]}
    for result in recorded.results:
        assert len(per_call_ns(result)) == 3
        median_ns = lines[f"{result.name}_median"]["real_time"]
        assert statistics.median(per_call_ns(result)) == pytest.approx(median_ns, rel=1e-6)
    assert not recorded.left_out
    assert recorded.machine["library"] == {"build": "debug"}


def test_google_benchmark_units_errors_and_lone_aggregates() -> None:
    recorded = google(
        {"name": "slow", "iterations": 2, "real_time": 3.5, "time_unit": "ms"},
        {"name": "broken", "error_occurred": True, "error_message": "no \x1b[31mdevice"},
        {"name": "few_mean", "run_name": "few", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 1.0},
    )
    assert recorded.results[0].launches[0][0].total_ns == 7_000_000
    assert recorded.results[1].failure == "no \N{REPLACEMENT CHARACTER}[31mdevice"
    assert "only aggregates were written" in recorded.left_out[0]
    with pytest.raises(LevelfieldError, match="its unit of time is fortnights"):
        google({"name": "x", "real_time": 1.0, "time_unit": "fortnights"})


def test_pytest_benchmark_rounds_are_the_samples_of_one_launch() -> None:
    name = "pytest-benchmark-5.3.1.json"
    recorded = json_tools.pytest_benchmark(content(name))
    assert (recorded.version, recorded.started) == ("5.3.1", "2026-11-26T05:19:22Z")
    assert recorded.machine["cpu"]["model"] == "AMD EPYC"
    assert not recorded.unknown
    whole = json.loads(content(name))
    for result, written in zip(recorded.results, whole["benchmarks"], strict=True):
        assert (result.name, len(result.launches)) == (written["fullname"], 1)
        assert len(per_call_ns(result)) == written["stats"]["rounds"]
        assert statistics.median(per_call_ns(result)) == pytest.approx(1e9 * written["stats"]["median"], rel=1e-3)
        del written["stats"]["data"]
    whole["commit_info"] = {"id": "abc", "dirty": True}
    recorded = json_tools.pytest_benchmark(json.dumps(whole).encode())
    assert all(len(per_call_ns(result)) == 1 for result in recorded.results), "the median alone"
    assert "--benchmark-save-data" in recorded.unknown[0]
    assert recorded.machine["measured"] == {"commit": "abc with changes"}


def test_optimum_benchmark_each_target_is_a_result() -> None:
    written = content("optimum-benchmark-report.json")
    recorded = json_tools.optimum_benchmark(written)
    assert [(result.name, len(result.launches[0])) for result in recorded.results] == [("load", 1), ("forward", 10)]
    median_ns = statistics.median(per_call_ns(recorded.results[1]))
    assert median_ns == pytest.approx(1e9 * json.loads(written)["forward"]["latency"]["p50"])
    with pytest.raises(LevelfieldError, match="its unit of time is ms"):
        json_tools.optimum_benchmark(written.replace(b'"unit": "s"', b'"unit": "ms"'))


def test_loadgen_percentiles_of_single_stream() -> None:
    recorded = loadgen.parse(content("loadgen-6.0.17-single-stream.txt"))
    assert {result.name: result.launches[0][0].total_ns for result in recorded.results} == {
        "SingleStream, mean latency": 1_578_955,
        "SingleStream, 50.00 percentile latency": 504_231,
        "SingleStream, 90.00 percentile latency": 6_558_777,
        "SingleStream, 99.00 percentile latency": 12_493_564,
    }
    assert not any(result.failure for result in recorded.results)


def test_loadgen_offline_has_a_rate_alone() -> None:
    whole = content("loadgen-6.0.17-offline.txt")
    recorded = loadgen.parse(whole)
    (result,) = recorded.results
    assert result.scenario == "throughput"
    assert per_call_ns(result) == pytest.approx([1e9 / 619.195])
    assert recorded.left_out == ("latencies of Offline (all samples are one query)",)
    with pytest.raises(LevelfieldError, match="its mode is AccuracyOnly"):
        loadgen.parse(whole.replace(b"PerformanceOnly", b"AccuracyOnly"))
    with pytest.raises(LevelfieldError, match="neither VALID nor INVALID"):
        loadgen.parse(whole[:200])


def test_loadgen_invalid_is_a_failure_with_its_reasons() -> None:
    recorded = loadgen.parse(content("loadgen-6.0.17-server-invalid.txt"))
    assert {result.failure for result in recorded.results} == {
        "LoadGen says INVALID (Performance constraints satisfied, Early stopping satisfied)"
    }


@pytest.mark.parametrize(
    ("parse", "written", "tool"),
    [
        *((json_tools.pyperf, text, "pyperf") for text in (b"", b"[]", b'{"benchmarks": 1}')),
        (json_tools.pyperf, b'{"benchmarks": [{"runs": [{"values": ["x"]}]}]}', "pyperf"),
        (json_tools.hyperfine, b'{"results": [{"exit_codes": []}]}', "hyperfine"),
        (json_tools.pytest_benchmark, b'{"benchmarks": [{"stats": {}}]}', "pytest-benchmark"),
    ],
)
def test_other_forms_are_one_sentence(parse: Callable[[bytes], Recorded], written: bytes, tool: str) -> None:
    with pytest.raises(LevelfieldError, match=f"The output of {tool} cannot be read"):
        parse(written)


@pytest.mark.parametrize("written", [b"", b"\xff", b"[" * 100_000, b"[" + b"9" * 5_000 + b"]", b'["x"]'])
def test_whatever_it_is_it_is_one_sentence(written: bytes) -> None:
    with pytest.raises(LevelfieldError, match="cannot be read"):
        decode(written, list[int], "that tool")


def test_texts_are_bounded_and_printable() -> None:
    assert fact("a\x1b[2J b\n c") == "a\N{REPLACEMENT CHARACTER}[2J b c"
    assert len(str(fact("x" * 10_000))) == 200
    assert (fact(None), fact(10**30), fact(2.5)) == (NOT_SAID, NOT_SAID, 2.5)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-11-26 05:19:08.728723", "2026-11-26T05:19:08Z"),
        ("2026-11-26T07:19:08+02:00", "2026-11-26T05:19:08Z"),
        ("yesterday", NOT_SAID),
        ("0099-01-01T00:00:00", NOT_SAID),
        ("1970-01-01T00:00:00+01:00", NOT_SAID),
        ("1970-01-01", "1970-01-01T00:00:00Z"),
        (None, NOT_SAID),
    ],
)
def test_moments(written: str | None, read: str | Absent) -> None:
    assert moment(written) == read


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 1e-10, 1e300])
def test_what_is_no_time_is_no_sample(value: float) -> None:
    assert seconds(value) is None
    assert samples([value, 1.0]) == (Timed(10**9),)
    assert rate(value) is None or value == 1e-10


@pytest.mark.parametrize("calls", [0, -5, LARGEST_NS, 10**30])
def test_what_is_no_number_of_calls_is_no_sample(calls: int) -> None:
    assert seconds(1.0, calls) is None


@pytest.mark.parametrize("value", [0.0001, 0.5, 619.195, 56.38e9, 9e14])
def test_a_rate_and_the_time_of_a_loop_keep_their_digits(value: float) -> None:
    sample = rate(value)
    assert sample is not None
    assert 1e9 * sample.calls / sample.total_ns == pytest.approx(value, rel=1e-6)
    assert seconds(1.4e-9, 1_000_000) == Timed(1_400_000, 1_000_000)
