import pytest

from levelfield.errors import LevelfieldError
from levelfield.imported import loadgen
from tests.imported.recorded import content


def test_percentiles_of_single_stream() -> None:
    found = loadgen.parse(content("loadgen-6.0.17-single-stream.txt"))
    assert {result.name: result.launches[0][0].total_ns for result in found.results} == {
        "SingleStream, mean latency": 1_578_955,
        "SingleStream, 50.00 percentile latency": 504_231,
        "SingleStream, 90.00 percentile latency": 6_558_777,
        "SingleStream, 99.00 percentile latency": 12_493_564,
    }
    assert not any(result.failure for result in found.results)


def test_offline_has_a_rate_alone() -> None:
    found = loadgen.parse(content("loadgen-6.0.17-offline.txt"))
    (result,) = found.results
    (sample,) = result.launches[0]
    assert result.scenario == "throughput"
    assert 1e9 * sample.calls / sample.total_ns == pytest.approx(619.195)
    assert found.left_out == ("latencies of Offline (all samples are one query)",)


def test_invalid_is_a_failure_with_its_reasons() -> None:
    found = loadgen.parse(content("loadgen-6.0.17-server-invalid.txt"))
    assert {result.failure for result in found.results} == {
        "LoadGen says INVALID (Performance constraints satisfied, Early stopping satisfied)"
    }


def test_runs_for_accuracy_and_cut_files_are_refused() -> None:
    whole = content("loadgen-6.0.17-offline.txt")
    with pytest.raises(LevelfieldError, match="its mode is AccuracyOnly"):
        loadgen.parse(whole.replace(b"PerformanceOnly", b"AccuracyOnly"))
    with pytest.raises(LevelfieldError, match="neither VALID nor INVALID"):
        loadgen.parse(whole[:200])
