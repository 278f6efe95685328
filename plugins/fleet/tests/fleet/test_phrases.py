"""Phrases that every format of a fleet shares."""

import msgspec
from levelfield_fleet import phrases
from levelfield_fleet.types import NodeVerdict
from tests.fleet.samples import DRIVER, fleet


def test_nodes_are_counted_by_verdict_the_most_serious_first() -> None:
    assert list(phrases.counted(fleet())) == list(NodeVerdict)
    assert [node.verdict for node in phrases.not_fine(fleet())] == list(NodeVerdict)[:-1]


def test_what_is_striking_is_neither_fine_nor_undecided() -> None:
    found = {cell.verdict for cell in phrases.striking(fleet())}
    assert found == set(NodeVerdict) - {NodeVerdict.FINE, NodeVerdict.UNDECIDED}
    assert phrases.striking(fleet())[0].verdict is NodeVerdict.WRONG


def test_a_fact_is_told_once_with_all_its_nodes() -> None:
    nodes = tuple(msgspec.structs.replace(node, differences=(DRIVER,)) for node in fleet().nodes)
    (found,) = phrases.shared(msgspec.structs.replace(fleet(), nodes=nodes))
    assert found.nodes == tuple(node.name for node in nodes)
    cells = [cell.replace("\u00a0", " ") for cell in phrases.fact_cells(found)]
    assert cells[:4] == ["gpu", "driver", "580.95", "570.12 (88 % of the peers)"]
    assert phrases.nodes(f"n{number}" for number in range(10)).endswith("n7 and 2 more")


def test_a_cell_finds_the_facts_of_its_case() -> None:
    find = phrases.facts(fleet())
    for cell in fleet().cells:
        found = find(cell)
        assert found is not None
        assert found.result == cell.result
    assert find(msgspec.structs.replace(fleet().cells[0], node="unknown")) is None
