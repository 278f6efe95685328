"""LoadGen in whole runs of real workers: tests and windows in turns, the search, and what a worker may not say."""

from pathlib import Path

import msgspec
import pytest

from levelfield import analysis
from levelfield.plan.profiles import FULL, SMOKE
from levelfield.record.schema import Arm, Block, Case, Run
from levelfield.run.options import Options
from levelfield.schedule import loadgen
from tests.canaries import ARMS, Harness, plan, site
from tests.records_builder import make_run

SETTINGS = make_run(models=["mlp"], backends=["jax"], generations=1, rounds=1).settings
SERVER = Block(case=Case("mlp", "loadgen-server", "fp32", 1, 2), arms=(Arm("jax", "jax"),), planned_generations=2)


def test_tests_are_as_long_as_was_asked_or_as_the_budget_allows() -> None:
    free = msgspec.structs.replace(SETTINGS, budget_seconds=None)
    assert loadgen.pace_of(FULL, free, SERVER, 2) == loadgen.Pace(30.0, None)
    short = msgspec.structs.replace(SETTINGS, budget_seconds=16.0)
    assert loadgen.pace_of(FULL, short, SERVER, 2).test_s == pytest.approx(1.0), "eight tests in a search"
    shortest = msgspec.structs.replace(SETTINGS, budget_seconds=0.001)
    assert loadgen.pace_of(SMOKE, shortest, SERVER, 2).test_s == loadgen.SHORTEST_S
    named = msgspec.structs.replace(SETTINGS, budget_seconds=1.0, loadgen_test_s=600.0, latency_target_ms=7.5)
    assert loadgen.pace_of(SMOKE, named, SERVER, 2) == loadgen.Pace(600.0, 7_500_000)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = plan("loadgen-single-stream", "loadgen-server", "loadgen-offline", arms=ARMS[:1])
    options = Options(seed=7, loadgen_test_s=0.3, latency_target_ms=0.001)
    return Harness(made, tmp_path_factory.mktemp("reports"), options=options).measure()


@pytest.mark.extended
def test_single_stream_stands_beside_windows_of_the_same_worker(run: Run) -> None:
    (launch,) = run.blocks[0].generations[0].launches
    found = launch.loadgen
    assert found is not None
    assert found.version.startswith("6.0.17")
    assert len(found.tests) == len(found.own) in {loadgen.PAIRS, loadgen.FEWEST_PAIRS}
    for test, window in zip(found.tests, found.own, strict=True):
        assert test.queries >= 64
        assert len(window.samples_ns) >= 64
        assert 0.3 < test.percentiles_ns["50.00"] / sorted(window.samples_ns)[len(window.samples_ns) // 2] < 3
        assert "MLPerf Results Summary" in test.summary
    assert found.settings["min_duration_ms"] == 300 / len(found.tests)
    assert found.rules["min_duration_ms"] == 600_000
    assert launch.parity is not None
    assert launch.parity_after is not None
    assert found.noise is not None
    assert ":::MLLOG" in found.detail


@pytest.mark.extended
def test_a_target_that_a_query_alone_exceeds_is_tried_once_and_said(run: Run) -> None:
    (block,) = (each for each in analysis.analyse(run).loadgen if each.scenario == "Server")
    assert block.target_ns == 1_000
    (row,) = block.rows
    assert row.out_of_reach.startswith("no rate can hold 0.001 ms: a query alone takes")
    assert row.reason == row.out_of_reach
    (point,) = row.points
    assert point.late_share == 1.0
    assert not point.held
    assert block.settings["server_target_latency_ns"] == 1_000
    assert block.rules["server_target_latency_ns"] == 10_000_000, "what LoadGen asks of a model that has no rule"


@pytest.mark.extended
def test_the_library_is_an_artifact_of_the_record(run: Run) -> None:
    (library,) = [each for each in run.artifacts if each.name.startswith("LoadGen")]
    assert library.made_by["wheel"]
    assert analysis.analyse(run).loadgen[-1].rows[0].per_second is not None


def test_a_worker_without_loadgen_is_absent_and_says_why(reports: Path) -> None:
    harness = Harness(plan("loadgen-single-stream", arms=ARMS[:1]), reports)
    where = site(harness.plan)
    assert where.loadgen is not None
    elsewhere = msgspec.structs.replace(where, loadgen=msgspec.structs.replace(where.loadgen, folder="nowhere"))
    (launch,) = harness.measure(where=elsewhere).blocks[0].generations[0].launches
    assert launch.failure is not None
    assert launch.failure.kind == "unsupported"
    assert "LoadGen's library for Python" in launch.failure.message
