import pytest

from suite.imported import readings
from tests.imported.recorded import READINGS


def test_times_of_nccl_tests() -> None:
    found = readings.parse_nccl_tests((READINGS / "nccl-tests-allreduce-8x-a100.log").read_bytes())
    read = {result.name: result for result in found.results}
    assert len(read) == len(found.results) == 64
    assert {result.scenario for result in found.results} == {"latency"}, "bandwidth follows from the time"
    assert read["out-of-place time, 4 bytes, float sum"].launches[0][0].total_ns == 34_730
    assert not any(result.failure for result in found.results)
    assert not found.left_out


def test_wrong_values_are_a_failure() -> None:
    whole = (READINGS / "nccl-tests-2.18.2-2x-gh200.log").read_text()
    line = next(each for each in whole.splitlines() if each.split()[-1:] == ["0"] and each.split()[0].isdigit())
    spoiled = whole.replace(line, line[: line.rindex("0")] + "7")
    found = readings.parse_nccl_tests(spoiled.encode())
    failed = {result.name for result in found.results if result.failure}
    assert len(failed) == 2
    assert all(line.split()[0] in name for name in failed)


def test_bandwidths_of_nvbandwidth() -> None:
    found = readings.parse_nvbandwidth((READINGS / "nvbandwidth-v0.8-4x-rtx-5090.json").read_bytes())
    result = next(each for each in found.results if each.name == "host_to_device_memcpy_ce, CPU 0, GPU 0")
    (sample,) = result.launches[0]
    assert result.scenario == "throughput"
    assert 1e9 * sample.calls / sample.total_ns == pytest.approx(56.38e9, rel=0.05)
