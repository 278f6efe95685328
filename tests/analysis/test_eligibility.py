"""Which arms may be ranked: equal to the reference, with enough launches; all others with the reason."""

import msgspec
import pytest

from levelfield.analysis import analyse
from levelfield.statistics.student import MIN_LAUNCHES
from tests.analysis.changed import CRASHED, UNSUPPORTED, exact, replace_launches, rows
from tests.records_builder import BACKENDS, make_run


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
        assert row.call_ns is not None
        assert row.call_ns.low is None
        assert len(row.launch_medians_ns) == launches


def test_an_unequal_result_is_shown_as_such_and_never_ranked() -> None:
    analysis = analyse(exact(unequal=[("openvino", "resnet50")]))  # it would have been the fastest
    row = rows(analysis)["openvino"]
    assert row.standing == "unequal"
    assert row.rank is None
    assert row.ratio is None
    assert row.call_ns is not None
    assert analysis.timed[0].best == "onnxruntime"
    assert analysis.exit_code == 1
    assert len(analysis.status.unequal) == 4  # latency, throughput, cold start, memory
    assert analysis.status.answers_equal == analysis.status.answers - 1
    assert [warning.about for warning in analysis.warnings if warning.code == "not-equal"] == ["openvino/resnet50/fp32"]


def test_one_unequal_launch_is_enough() -> None:
    run = exact(scenarios=("latency",))
    worse = exact(scenarios=("latency",), unequal=[("jax", "resnet50")])
    generations = (*run.blocks[0].generations[:4], worse.blocks[0].generations[4])
    block = msgspec.structs.replace(run.blocks[0], generations=generations)
    row = rows(analyse(msgspec.structs.replace(run, blocks=(block,))))["jax"]
    assert row.standing == "unequal"


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
    assert analysis.exit_code == 0
    assert analysis.status.failed == ()
    assert len(analysis.status.absent) == 4
