"""Groups of cases that differ in one property alone."""

from functools import partial

from levelfield.analysis import analyse
from levelfield.analysis.launch_levels import launch_levels
from levelfield.analysis.scaling import Member, apart_in
from levelfield.record.schema import Run
from tests.records_builder import make_run

made = partial(make_run, models=("mlp",), backends=("jax", "openvino"), scenarios=("latency",), rounds=2, max_calls=9)


def by_threads(run: Run) -> tuple[tuple[Member, ...], ...]:
    return apart_in(run, analyse(run).blocks, "threads")


def test_cases_that_share_the_rest_are_one_group_in_the_order_of_the_run() -> None:
    groups = by_threads(made(models=("mlp", "bert"), threads=(4, 1, 2)))
    assert [[(member.case.model, member.case.threads) for member in group] for group in groups] == [
        [("mlp", 4), ("mlp", 1), ("mlp", 2)],
        [("bert", 4), ("bert", 1), ("bert", 2)],
    ]


def test_a_member_holds_its_block_and_the_analysis_of_that_very_block() -> None:
    (group,) = by_threads(made(threads=(1, 2)))
    for member in group:
        assert member.found.case == member.block.case == member.case
        assert member.costs_ns() == launch_levels(member.block)
        assert set(member.costs_ns()) >= {"jax", "openvino"}


def test_a_control_is_no_row_of_a_group() -> None:
    (group,) = by_threads(made(threads=(1, 2), control="jax"))
    for member in group:
        assert "jax#2" in {row.arm for row in member.found.rows}
        assert {row.arm for row in member.rows()} == {"jax", "openvino"}
