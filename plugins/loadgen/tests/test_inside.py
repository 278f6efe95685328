"""The real LoadGen against steps that are known: it sees what they take, and nothing of theirs goes through it."""

import functools
import platform
import sys
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from levelfield.backends.protocol import Unsupported
from levelfield.paths import cache_folder
from levelfield.worker.sources import imported
from levelfield_loadgen import detail_log, inside, library

BATCH = [{"features": np.arange(12, dtype=np.float32).reshape(4, 3) + 100 * number} for number in range(2)]
SINGLE = [{"features": np.full((1, 3), number, np.float32)} for number in range(3)]


@functools.cache
def driver() -> Any:
    """What a worker runs: the file that it is handed, beside the library for this Python."""
    root = cache_folder("artifacts")
    python = ".".join(platform.python_version_tuple()[:2])
    folder = cast("functools.partial[Any]", library.prepare([python], root, lambda _: None).measure).args[0]
    return imported(str(root / folder / "inside.py"), "inside")


def drive(scenario: str, step: Any, placed: Any = SINGLE, batch: int = 1, **settings: float) -> tuple[Any, int]:
    request = {
        "scenario": scenario,
        "model": settings.pop("model", "*"),
        "give_up_ns": settings.pop("give_up_ns", 0),
        "settings": {"min_duration_ms": 50, "min_query_count": 64} | settings,
        "rewarm_ns": 0,
        "rewarm_calls": 1,
    }
    answer, elapsed_ns = driver().drive(request, step, placed, batch)
    return answer, elapsed_ns


def spin(seconds: float) -> Any:
    def step(_: object) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    return step


def test_single_stream_takes_one_sample_after_the_other() -> None:
    seen: list[float] = []

    def step(inputs: Any) -> None:
        assert inputs["features"].shape == (1, 3)
        seen.append(float(inputs["features"][0, 0]))
        spin(0.0005)(inputs)

    answer, elapsed_ns = drive("SingleStream", step, single_stream_expected_latency_ns=5e5)
    result = detail_log.parse(answer["detail"]).test
    assert result.valid, result.why_invalid
    assert set(seen) == {0.0, 1.0, 2.0}, "all samples were chosen"
    assert answer["answered"] == result.queries == len(seen) - 1, "one call came before the test"
    assert result.percentiles_ns["50.00"] >= 500_000
    assert answer["rules"]["min_duration_ms"] == 600_000, "what MLPerf's rules ask for"
    assert answer["rules"]["performance_sample_count_override"] == 0
    assert "Result is : VALID" in answer["summary"]
    assert elapsed_ns > 50_000_000


def test_samples_of_a_large_query_are_put_into_whole_batches() -> None:
    rows: list[float] = []

    def step(inputs: Any) -> None:
        assert inputs["features"].shape == (4, 3)
        rows.extend(float(row) for row in inputs["features"][:, 0])

    answer, _ = drive("Offline", step, BATCH, 4, min_query_count=10, offline_expected_qps=1.0)
    samples = detail_log.parse(answer["detail"]).test.samples
    assert answer["answered"] == samples == 10, "two whole batches, and two samples of a third"
    assert len(rows) == 4 + 12, "one batch came before the test"
    assert set(rows) <= {0.0, 3.0, 6.0, 9.0, 100.0, 103.0, 106.0, 109.0}


def test_server_counts_whom_it_serves_late_and_whom_not_at_all() -> None:
    rate: Any = {"server_target_qps": 400.0, "server_target_latency_ns": 5_000_000}
    light, patient, hasty = (
        drive("Server", spin(seconds), give_up_ns=give_up_ns, **rate)[0]
        for seconds, give_up_ns in ((0.0001, 0), (0.01, 0), (0.01, 20_000_000))
    )
    assert light["answered"] == detail_log.parse(light["detail"]).test.queries
    assert light["not_served"] == 0
    late = detail_log.parse(patient["detail"]).test
    assert isinstance(late.late, int)
    assert late.late > 0.5 * patient["answered"]
    assert not late.valid
    assert hasty["not_served"] > 0
    assert hasty["answered"] + hasty["not_served"] == detail_log.parse(hasty["detail"]).test.queries


@pytest.mark.parametrize("scenario", ["SingleStream", "Server"])
def test_what_a_call_raises_ends_the_test_and_not_the_worker(scenario: str) -> None:
    calls = 0

    def step(_: object) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise RuntimeError("the third call was too much")

    with pytest.raises(RuntimeError, match="the third call was too much"):
        drive(scenario, step, min_query_count=8, server_target_qps=400.0)
    assert drive("SingleStream", spin(0.0001))[0]["answered"] >= 64


def test_settings_are_loadgens_own() -> None:
    with pytest.raises(ValueError, match="no setting 'min_duration_days'"):
        drive("SingleStream", spin(0), min_duration_days=1)
    target: Any = {"model": "bert", "server_target_qps": 100.0, "server_target_latency_ns": 1_000_000}
    assert drive("Server", spin(0), **target)[0]["rules"]["server_target_latency_ns"] == 130_000_000


def test_a_worker_without_a_library_says_for_which_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, inside.MODULE, raising=False)
    with pytest.raises(Unsupported, match=r"LoadGen's library for Python 3\.\d+ is not in"):
        inside.library(tmp_path)
