"""A run at a glance: what of it is shown."""

from pathlib import Path

from levelfield.analysis import analyse
from levelfield.share.runs import Matrix, matrix_of, read_runs
from tests.analysis.probed import agreeing, probed
from tests.compare import pairs
from tests.records_builder import kept, make_run
from tests.report.test_states import HARDLY_CALM
from tests.share.shelves import made


def test_latencies_are_shown_and_the_best_marked() -> None:
    found = matrix_of(analyse(made(1)))
    assert {column.case.scenario for column in found.columns} == {"latency"}
    (case,) = found.ranks
    (best,) = (line.arm for line in found.lines if line.cells[0].best)
    assert found.ranks[case][best] == 1


def test_where_no_latency_is_ranked_all_is_shown_and_without_ranks_nothing() -> None:
    without = matrix_of(analyse(make_run(models=("mlp",), scenarios=("throughput",))))
    assert {column.case.scenario for column in without.columns} == {"throughput"}
    once = make_run(models=("mlp",), scenarios=("latency",), generations=1)
    assert matrix_of(analyse(once)) == Matrix()


def test_a_run_of_two_arms_is_listed_with_their_comparison(tmp_path: Path) -> None:
    run = pairs.ended(make_run(models=("mlp",), scenarios=("latency",), backends=("jax", "torch"), labels=("ab",)))
    found = read_runs([kept(run, tmp_path / run.id).parent], lambda _: None, lambda *_: None)
    assert [each.title for each in found.entries] == ["torch is faster than jax in the only case."]


def test_a_run_of_a_contended_machine_says_so_where_it_is_listed(tmp_path: Path) -> None:
    measured = make_run(models=("mlp",), backends=("openvino", "jax"), scenarios=("latency",), rounds=3)
    run = agreeing(probed(measured, lambda *_: ("contended",)), HARDLY_CALM)
    (found,) = read_runs([kept(run, tmp_path / run.id).parent], lambda _: None, lambda *_: None).entries
    assert found.title.endswith(". On a contended machine.")
