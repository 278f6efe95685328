"""Nodes are grouped by hardware; what one has that most peers have not; and what names nobody."""

from collections.abc import Callable

import msgspec
import pytest

from levelfield.analysis.summary import Reduced
from levelfield_fleet.groups import MOST, by_hardware, differences, differs_from
from levelfield_fleet.types import Difference
from tests.fleet.fleets import Nodes, fleet, with_facts, with_hardware, with_node


def _differing(nodes: Nodes) -> dict[str, tuple[Difference, ...]]:
    (group,), _ = by_hardware(nodes)
    return {node: found for node, found in differences(group).items() if found}


def _with(change: Callable[[Reduced], Reduced], nodes: int = 5) -> Nodes:
    return with_node(fleet(nodes), "n01", change)


def _later(one: Reduced) -> Reduced:
    return msgspec.structs.replace(one, facts=msgspec.structs.replace(one.facts, started="2027-01-01T00:00:00Z"))


def test_like_hardware_is_one_group_in_which_nothing_differs() -> None:
    (group,), notes = by_hardware(fleet(3))
    assert list(group.nodes) == ["n00", "n01", "n02"]
    assert "AMD EPYC 9R45" in group.title
    assert not notes
    assert not _differing(fleet(3))


def test_unlike_hardware_is_never_one_group_and_the_largest_comes_first() -> None:
    gpus = {f"gpu device {index} name": "H100" for index in range(8)}
    every = {name: [with_hardware(**gpus)(run) for run in runs] for name, runs in fleet(4).items()}
    seven = with_hardware(**{name: gpus[name] for name in list(gpus)[:7]})
    for nodes, says in (
        (_with(with_hardware(cpu_model="Xeon"), 4), "cpu model (Xeon and AMD EPYC 9R45)"),
        (every | {"n01": [seven(run) for run in fleet(4)["n01"]]}, "gpu device 7 name (none and H100)"),
    ):
        (first, second), _ = by_hardware(nodes)
        assert list(first.nodes) == ["n00", "n02", "n03"]
        assert list(second.nodes) == ["n01"]
        assert differs_from(second, first) == says


def test_the_newest_run_decides() -> None:
    found = fleet(2)
    found["n01"][1] = _later(with_hardware(memory="12 GiB")(found["n01"][1]))
    groups, notes = by_hardware(found)
    assert sorted(len(runs) for group in groups for runs in group.nodes.values()) == [1, 3]
    assert notes == ("2 of 3 runs of n01 were made on other hardware than its newest run, and are left out.",)


def test_processors_that_are_not_known_are_no_peers_and_a_node_without_a_run_is_left_out() -> None:
    found = {name: [with_hardware(cpu_model="not asked")(run) for run in runs] for name, runs in fleet(3).items()}
    groups, _ = by_hardware(found)
    assert [len(group.nodes) for group in groups] == [1, 1, 1]
    assert by_hardware({"n00": []}) == ((), ())


@pytest.mark.parametrize(
    ("group", "facts", "majority"),
    [
        ("kernel", {"release": "6.12.0"}, "6.1.0-37-amd64"),
        ("image jax", {"extra": "1.0"}, "not there"),
        ("kernel", {"release": ""}, ""),
        ("kernel", {"timer step ns": "17"}, ""),
        ("memory", {"total bytes": "17"}, ""),
    ],
)
def test_another_value_is_a_difference_unless_it_is_measured_anew_or_not_recorded(
    group: str, facts: dict[str, str], majority: str
) -> None:
    ((name, value),) = facts.items()
    expected = {"n01": (Difference(group, name, value, majority, 1.0),)} if majority else {}
    assert _differing(_with(with_facts(group, **facts))) == expected


@pytest.mark.parametrize(("others", "named"), [(1, True), (2, True), (3, False), (8, False)])
def test_a_majority_must_be_clear(others: int, named: bool) -> None:
    found = fleet(8)
    for node in range(others):
        found = with_node(found, f"n{node:02}", with_facts("cpu", microcode=f"0x{node}"))
    assert set(_differing(found)) == ({f"n{node:02}" for node in range(others)} if named else set())


@pytest.mark.parametrize(("nodes", "named"), [(2, False), (3, True)])
def test_of_two_nodes_neither_is_named(nodes: int, named: bool) -> None:
    assert bool(_differing(_with(with_facts("kernel", release="6.12.0"), nodes))) == named


def test_layers_are_left_out_where_the_lock_says_it_and_the_driver_comes_first() -> None:
    found = _with(with_facts("image jax", **{"layer 1": "x", "size bytes": "3"}))
    assert [each.name for each in _differing(found)["n01"]] == ["layer 1", "size bytes"]
    found = with_node(found, "n01", with_facts("image jax", lock="y"))
    for node in list(found):
        found = with_node(found, node, with_facts("gpu", driver="570" if node == "n01" else "580"))
    assert [(each.group, each.name) for each in _differing(found)["n01"]] == [("gpu", "driver"), ("image jax", "lock")]


def test_no_node_has_more_differences_than_can_be_read() -> None:
    many = {f"p{index}": "1" for index in range(2 * MOST)}
    assert len(_differing(_with(with_facts("image jax", **many)))["n01"]) == MOST
