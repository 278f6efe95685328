"""LoadGen in whole runs of real workers: tests and windows in turns, the search, and what a worker may not say."""

import functools
from pathlib import Path

import msgspec
import pytest

from levelfield import analysis
from levelfield import plan as planning
from levelfield.errors import LevelfieldError
from levelfield.plan.profiles import FULL, SMOKE
from levelfield.record.schema import Arm, Block, Case, Run
from levelfield.run.options import Options
from levelfield.schedule.resources import Driver
from levelfield_loadgen import turns
from tests.benches import once
from tests.canaries import ARMS, Harness, plan, site
from tests.records_builder import make_run

SETTINGS = make_run(models=["mlp"], backends=["jax"], generations=1, rounds=1).settings
SERVER = Block(case=Case("mlp", "loadgen-server", "fp32", 1, 2), arms=(Arm("jax", "jax"),), planned_generations=2)
SCENARIOS = ("loadgen-single-stream", "loadgen-multi-stream", "loadgen-server", "loadgen-offline")


def test_tests_are_as_long_as_was_asked_or_as_the_budget_allows() -> None:
    free = msgspec.structs.replace(SETTINGS, budget_seconds=None)
    assert turns.pace_of(FULL, free, SERVER, 2) == turns.Pace(30.0, None)
    short = msgspec.structs.replace(SETTINGS, budget_seconds=16.0)
    assert turns.pace_of(FULL, short, SERVER, 2).test_s == pytest.approx(1.0), "eight tests in a search"
    shortest = msgspec.structs.replace(SETTINGS, budget_seconds=0.001)
    assert turns.pace_of(SMOKE, shortest, SERVER, 2).test_s == turns.SHORTEST_S
    named = msgspec.structs.replace(SETTINGS, budget_seconds=1.0, loadgen_test_s=600.0, latency_target_ms=7.5)
    assert turns.pace_of(SMOKE, named, SERVER, 2) == turns.Pace(600.0, 7_500_000)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = plan("loadgen-single-stream", "loadgen-server", "loadgen-offline", arms=ARMS[:1])
    options = Options(seed=7, loadgen_test_s=0.3, latency_target_ms=0.001)
    return Harness(made, tmp_path_factory.mktemp("reports"), options=options).measure()


@pytest.mark.extended
def test_single_stream_stands_beside_windows_of_the_same_worker(run: Run) -> None:
    (launch,) = run.blocks[0].generations[0].launches
    tested = launch.loadgen
    assert tested is not None
    assert tested.version.startswith("6.0.17")
    assert len(tested.tests) == len(tested.own) in {turns.PAIRS, turns.FEWEST_PAIRS}
    for test, window in zip(tested.tests, tested.own, strict=True):
        assert test.queries >= 64
        assert len(window.samples_ns) >= 64
        assert 0.3 < test.percentiles_ns["50.00"] / sorted(window.samples_ns)[len(window.samples_ns) // 2] < 3
        assert "MLPerf Results Summary" in test.summary
    assert tested.settings["min_duration_ms"] == 300 / len(tested.tests)
    assert tested.rules["min_duration_ms"] == 600_000
    assert launch.parity is not None
    assert launch.parity_after is not None
    assert tested.noise is not None
    assert ":::MLLOG" in tested.detail


@pytest.mark.extended
def test_a_target_that_a_query_alone_exceeds_is_tried_once_and_said(run: Run) -> None:
    (block,) = (block for block in analysis.analyse(run).loadgen if block.scenario == "Server")
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
def test_what_workers_were_handed_is_in_the_record_once(run: Run) -> None:
    library, driver = sorted(file.name for file in run.artifacts if "loadgen" in file.name.lower())
    assert library.startswith("LoadGen 6.0.17 for Python")
    assert driver == "levelfield-loadgen"
    assert analysis.analyse(run).loadgen[-1].rows[0].per_second is not None


def test_a_worker_without_loadgen_is_absent_and_says_why(tmp_path: Path) -> None:
    harness = Harness(plan("loadgen-single-stream", arms=ARMS[:1]), tmp_path / "reports")
    where = site(harness.plan)
    root = where.artifacts.root
    (root / "nowhere").mkdir(exist_ok=True)
    (root / "nowhere" / "inside.py").write_bytes(Path(turns.__file__).with_name("inside.py").read_bytes())
    elsewhere = Driver((), "nowhere", functools.partial(turns.tests, "nowhere"))
    there = msgspec.structs.replace(where, driver=elsewhere)
    (launch,) = harness.measure(where=there).blocks[0].generations[0].launches
    assert launch.failure is not None
    assert launch.failure.kind == "unsupported"
    assert "LoadGen's library for Python" in launch.failure.message


def test_without_the_plug_in_the_run_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("levelfield.plugins.installed", lambda _: ())
    with pytest.raises(LevelfieldError, match="The scenario loadgen-server comes with levelfield-loadgen"):
        site(plan("loadgen-server", arms=ARMS[:1]))


@pytest.mark.docker
def test_all_scenarios_in_a_container(tmp_path: Path) -> None:
    chosen = planning.Selection(
        profile="smoke", models=("mlp",), backends=("onnxruntime",), scenarios=SCENARIOS, batches=(8,), control="none"
    )
    made, page, out, code, _ = once(chosen, tmp_path / "reports", "docker", loadgen_test_s=0.2)
    assert code == 0, out
    blocks = {block.scenario: block for block in analysis.analyse(made).loadgen}
    assert set(blocks) == {"SingleStream", "MultiStream", "Server", "Offline"}
    assert blocks["MultiStream"].case.batch == 8
    for scenario, block in blocks.items():
        (row,) = block.rows
        assert row.is_equal, (scenario, row)
        assert row.value_ns is not None, (scenario, row.out_of_reach)
        assert block.version.startswith("6.0.17")
    ratio = blocks["SingleStream"].rows[0].against_own
    assert ratio is not None
    assert ratio.value > 0.5
    assert len({point.held for point in blocks["Server"].rows[0].points}) == 2, "the search went to where it breaks"
    text = page.read_text(encoding="utf-8")
    assert "These are no MLPerf results" in text
    assert "mlperf_log_summary.txt" in text
    assert "These are no MLPerf results" in " ".join(out.split())
