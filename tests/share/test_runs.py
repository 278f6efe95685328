"""A run at a glance: what of it is shown."""

from levelfield.analysis import analyse
from levelfield.share.runs import Matrix, matrix_of
from tests.records_builder import make_run
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
