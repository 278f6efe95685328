"""The real LoadGen against steps that are known: it sees what they take, and nothing of theirs goes through it."""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from levelfield.backends.protocol import Unsupported
from levelfield.record.measured import LoadGenScenario
from levelfield.schedule import loadgen_log
from levelfield.worker import loadgen
from levelfield.worker.messages import Drive, Driven
from tests.loadgens import library

BATCH = [{"features": np.arange(12, dtype=np.float32).reshape(4, 3) + 100 * number} for number in range(2)]
SINGLE = [{"features": np.full((1, 3), number, np.float32)} for number in range(3)]


def request(scenario: LoadGenScenario, folder: Path, **settings: float) -> Drive:
    return Drive(
        library=str(folder),
        scenario=scenario,
        model="*",
        settings={"min_duration_ms": 50, "min_query_count": 64} | settings,
    )


def spin(seconds: float) -> Any:
    def step(_: object) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    return step


def result(driven: Driven) -> loadgen_log.Result:
    return loadgen_log.parse(driven.detail)


def test_single_stream_takes_one_sample_after_the_other() -> None:
    seen: list[float] = []

    def step(inputs: Any) -> None:
        assert inputs["features"].shape == (1, 3)
        seen.append(float(inputs["features"][0, 0]))
        spin(0.0005)(inputs)

    driven = loadgen.drive(request("SingleStream", library(), single_stream_expected_latency_ns=5e5), step, SINGLE, 1)
    found = result(driven)
    assert found.valid, found.why_invalid
    assert set(seen) == {0.0, 1.0, 2.0}, "all samples were chosen"
    assert driven.answered == found.queries == len(seen) - 1, "one call came before the test"
    assert found.percentiles_ns["50.00"] >= 500_000
    assert driven.rules["min_duration_ms"] == 600_000, "what MLPerf's rules ask for"
    assert driven.rules["performance_sample_count_override"] == 0
    assert "Result is : VALID" in driven.summary
    assert driven.elapsed_ns > 50_000_000


def test_samples_of_a_large_query_are_put_into_whole_batches() -> None:
    rows: list[float] = []

    def step(inputs: Any) -> None:
        assert inputs["features"].shape == (4, 3)
        rows.extend(float(row) for row in inputs["features"][:, 0])

    driven = loadgen.drive(request("Offline", library(), min_query_count=10, offline_expected_qps=1.0), step, BATCH, 4)
    assert driven.answered == result(driven).samples == 10, "two whole batches, and two samples of a third"
    assert len(rows) == 4 + 12, "one batch came before the test"
    assert set(rows) <= {0.0, 3.0, 6.0, 9.0, 100.0, 103.0, 106.0, 109.0}


def test_server_counts_whom_it_serves_late_and_whom_not_at_all() -> None:
    rate = {"server_target_qps": 400.0, "server_target_latency_ns": 5_000_000}
    light = loadgen.drive(request("Server", library(), **rate), spin(0.0001), SINGLE, 1)
    assert light.answered == result(light).queries
    assert light.not_served == 0
    heavy = request("Server", library(), **rate)
    patient = loadgen.drive(heavy, spin(0.01), SINGLE, 1)
    late = result(patient).late
    assert isinstance(late, int)
    assert late > 0.5 * patient.answered
    assert not result(patient).valid
    hasty = loadgen.drive(
        Drive(heavy.library, "Server", "*", heavy.settings, give_up_ns=20_000_000), spin(0.01), SINGLE, 1
    )
    assert hasty.not_served > 0
    assert hasty.answered + hasty.not_served == result(hasty).queries


@pytest.mark.parametrize("scenario", ["SingleStream", "Server"])
def test_what_a_call_raises_ends_the_test_and_not_the_worker(scenario: LoadGenScenario) -> None:
    calls = 0

    def step(_: object) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise RuntimeError("the third call was too much")

    with pytest.raises(RuntimeError, match="the third call was too much"):
        loadgen.drive(request(scenario, library(), min_query_count=8, server_target_qps=400.0), step, SINGLE, 1)
    again = loadgen.drive(request("SingleStream", library()), spin(0.0001), SINGLE, 1)
    assert again.answered >= 64


def test_settings_that_loadgen_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="no setting 'min_duration_days'"):
        loadgen.drive(request("SingleStream", library(), min_duration_days=1), spin(0), SINGLE, 1)


def test_rules_of_a_model_are_loadgens_own() -> None:
    slow = request("Server", library(), server_target_qps=100.0, server_target_latency_ns=1_000_000)
    driven = loadgen.drive(Drive(slow.library, "Server", "bert", slow.settings), spin(0), SINGLE, 1)
    assert driven.rules["server_target_latency_ns"] == 130_000_000


def test_a_worker_without_a_library_says_for_which_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, loadgen.MODULE, raising=False)
    with pytest.raises(Unsupported, match=r"LoadGen's library for Python 3\.\d+ is not in"):
        loadgen.library(tmp_path)
