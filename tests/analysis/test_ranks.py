"""Ranks of a block's arms, their order, and controls."""

import msgspec
import pytest

from levelfield.analysis import analyse, ranks
from levelfield.analysis.types import PooledControls
from levelfield.record.schema import ControlDraw, Run
from levelfield.statistics.student import MIN_LAUNCHES
from tests.analysis.changed import CRASHED, UNSUPPORTED, exact, replace_launches, rows
from tests.known import known
from tests.records_builder import BACKENDS, make_run


def test_the_control_is_compared_and_not_ranked() -> None:
    analysis = analyse(make_run(models=("resnet50",), control="onnxruntime"))
    block = analysis.timed[0]
    assert rows(analysis)["onnxruntime#2"].standing == "control"
    assert "onnxruntime#2" not in {row.arm for row in block.rows if row.rank == 1}
    (control,) = block.controls
    assert (control.arm, control.of) == ("onnxruntime#2", "onnxruntime")
    assert control.ratio.low is not None
    assert control.ratio.value == pytest.approx(1, abs=0.1)


def test_identical_arms_share_the_first_rank() -> None:
    analysis = analyse(make_run(models=("resnet50",), scenarios=("latency",), slower={"onnxruntime": 21.3 / 21.9}))
    block = analysis.timed[0]
    assert {row.arm for row in block.rows if row.rank == 1} == {"onnxruntime", "openvino"}
    assert [row.rank for row in block.rows][:3] == [1, 1, 3]


def test_rows_stand_by_rank_and_ranks_never_contradict_the_estimates_beside_them() -> None:
    shared = 0
    for seed in range(20):
        for block in analyse(make_run(seed=seed, scenarios=("latency",), max_calls=5, rounds=2, noise_scale=3)).timed:
            ranked = [(row.rank, row.ratio.value) for row in block.rows if row.rank and row.ratio]
            assert ranked == sorted(ranked), "rank 2 never stands above rank 1"
            behind = [estimate for rank, estimate in ranked if rank > 1]
            assert behind == sorted(behind)
            first = {row.arm for row in block.rows if row.rank == 1}
            assert block.best in first
            shared += len(first) > 1
    assert shared


def test_the_order_of_arms_in_the_plan_changes_nothing() -> None:
    run = make_run(models=("resnet50",), scenarios=("latency",))
    block = msgspec.structs.replace(run.blocks[0], arms=run.blocks[0].arms[::-1])
    turned = analyse(msgspec.structs.replace(run, blocks=(block,)))
    assert [(row.arm, row.rank) for row in turned.timed[0].rows] == [
        (row.arm, row.rank) for row in analyse(run).timed[0].rows
    ]


@pytest.mark.parametrize("launches", range(1, MIN_LAUNCHES))
def test_too_few_launches_show_numbers_and_never_rank(launches: int) -> None:
    block = analyse(make_run(models=("resnet50",), generations=launches, scenarios=("latency",))).timed[0]
    assert block.best is None
    assert f"a ranking takes {MIN_LAUNCHES}" in block.unranked_reason
    assert [row.arm for row in block.rows] == list(BACKENDS)  # the order of the plan: nothing looks ranked
    for row in block.rows:
        assert row.standing == "shown"
        assert row.rank is None
        assert row.ratio is None
        assert known(row.call_ns).low is None
        assert len(row.launch_medians_ns) == launches


def test_an_unequal_result_is_shown_as_such_and_never_ranked() -> None:
    analysis = analyse(exact(unequal=[("openvino", "resnet50")]))  # it would have been the fastest
    row = rows(analysis)["openvino"]
    assert row.standing == "unequal"
    assert row.rank is None
    assert row.ratio is None
    assert row.call_ns is not None
    assert (analysis.timed[0].best, analysis.exit_code) == ("onnxruntime", 1)
    assert len(analysis.status.unequal) == 4  # latency, throughput, cold start, memory
    assert analysis.status.answers_equal == analysis.status.answers - 1
    assert [warning.about for warning in analysis.warnings if warning.code == "not-equal"] == ["openvino/resnet50/fp32"]


def test_one_unequal_launch_is_enough() -> None:
    run = exact(scenarios=("latency",))
    worse = exact(scenarios=("latency",), unequal=[("jax", "resnet50")])
    generations = (*run.blocks[0].generations[:4], worse.blocks[0].generations[4])
    block = msgspec.structs.replace(run.blocks[0], generations=generations)
    assert rows(analyse(msgspec.structs.replace(run, blocks=(block,))))["jax"].standing == "unequal"


def test_an_output_that_was_not_compared_is_not_ranked() -> None:
    analysis = analyse(replace_launches(exact(scenarios=("latency",)), "openvino", parity=None))
    row = rows(analysis)["openvino"]
    assert row.standing == "shown"
    assert "not compared" in row.reason
    assert analysis.timed[0].best == "onnxruntime"


def test_a_cold_start_takes_its_parity_from_the_arms_other_blocks() -> None:
    run = exact(scenarios=("latency", "cold-start"), unequal=[("jax", "resnet50")])
    latency, cold = run.blocks
    silent = replace_launches(msgspec.structs.replace(run, blocks=(cold,)), "jax", parity=None).blocks[0]
    found = analyse(msgspec.structs.replace(run, blocks=(latency, silent))).cold[0]
    assert {row.arm: row.standing for row in found.rows}["jax"] == "unequal"


def test_a_crash_costs_its_own_case_only() -> None:
    analysis = analyse(make_run(models=("mlp", "resnet50"), failures={("jax", "mlp"): CRASHED}))
    assert analysis.exit_code == 1
    assert {name.split("/")[1] for name in analysis.status.failed} == {"mlp"}
    failed, fine = (rows(analysis, place)["jax"] for place in (0, 2))
    assert (failed.standing, failed.reason, failed.call_ns) == ("failed", CRASHED.message, None)
    assert fine.standing == "ranked"
    assert {row.standing for row in analysis.timed[0].rows} == {"ranked", "failed"}


def test_what_is_not_supported_is_absent_with_its_reason_and_no_failure() -> None:
    analysis = analyse(make_run(models=("mlp",), failures={("torch-compile", "mlp"): UNSUPPORTED}))
    row = rows(analysis)["torch-compile"]
    assert (row.standing, row.reason) == ("absent", UNSUPPORTED.message)
    assert (analysis.exit_code, analysis.status.failed, len(analysis.status.absent)) == (0, (), 4)


def with_control(*earlier: ControlDraw) -> Run:
    run = make_run(models=("resnet50",), scenarios=("latency",), control="onnxruntime")
    return msgspec.structs.replace(run, earlier_controls=earlier)


def draw(number: int, ratio: float, *, half: float | None = 0.02) -> ControlDraw:
    bounds = (None, None) if half is None else (ratio * (1 - half), ratio * (1 + half))
    return ControlDraw(f"run-{number}", "2026-11-20T10:00:00Z", "onnxruntime", "a case", ratio, *bounds)


def pooled(run: Run) -> PooledControls:
    return known(analyse(run).identical)


def test_a_run_without_a_control_has_nothing_to_pool() -> None:
    assert analyse(make_run(models=("mlp",), scenarios=("latency",))).identical is None


def test_a_run_s_own_control_is_one_draw() -> None:
    run = with_control()
    (own,) = ranks.control_draws(run, analyse(run).blocks)
    found = pooled(run)
    assert found.draws == 1
    assert found.ratio.value == pytest.approx(own.ratio)
    assert found.ratio.low is None
    assert found.different is not None
    assert (found.different.successes, found.different.trials) == (0, 1)


def test_earlier_draws_count_each_once_and_a_false_alarm_stays_one() -> None:
    found = pooled(with_control(draw(1, 1.0), draw(2, 0.95), draw(3, 1.05), draw(4, 1.01), draw(5, 0.99)))
    assert found.draws == 6
    assert found.different is not None
    assert (found.different.successes, found.different.trials) == (2, 6)
    assert known(found.ratio.low) < 1 < known(found.ratio.high)


def test_a_run_taken_up_again_does_not_meet_itself() -> None:
    run = with_control()
    own = ranks.control_draws(run, analyse(run).blocks)
    assert pooled(msgspec.structs.replace(run, earlier_controls=own)).draws == 1
