"""Which tool stands beside what."""

import pytest

from studies.peers.cells import BARE, CELLS, WORKER, Cell


def test_every_tool_of_the_trial_has_a_cell() -> None:
    assert [each.tool for each in CELLS] == ["torch.utils.benchmark", "pyperf", "benchmark_app", "optimum-benchmark"]


@pytest.mark.parametrize("cell", CELLS, ids=lambda each: each.tool)
def test_every_arm_is_held_against_the_bare_loop(cell: Cell) -> None:
    contrasts = cell.contrasts()
    assert [each.first for each in contrasts] == [cell.tool, WORKER][: len(contrasts)]
    assert {each.second for each in contrasts} == {BARE}
    assert len(contrasts) == 1 + cell.worker
    assert all(each.limit.share is None and each.limit.ns is None for each in contrasts)
    assert not contrasts[-1].one_process or not cell.worker


def test_a_quick_cell_has_one_short_round() -> None:
    usual, quick = (CELLS[0].effort(8, quick=quick) for quick in (False, True))
    assert (usual.launches, quick.launches) == (8, 8)
    assert usual.rounds > quick.rounds == 1
    assert quick.pace.window_ns < usual.pace.window_ns
