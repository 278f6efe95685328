"""Nodes are grouped by hardware; what one has that most peers have not; and what names nobody."""

from collections.abc import Callable

import msgspec
import pytest

from levelfield.analysis.summary import Reduced
from levelfield_fleet.groups import MOST, Peers, by_hardware, differences, differs_from
from levelfield_fleet.types import Difference
from tests.fleet.fleets import Nodes, fleet, with_facts, with_hardware, with_node


def _later(one: Reduced) -> Reduced:
    return msgspec.structs.replace(one, facts=msgspec.structs.replace(one.facts, started="2027-01-01T00:00:00Z"))


def test_like_hardware_is_one_group() -> None:
    (group,), notes = by_hardware(fleet(3))
    assert list(group.nodes) == ["n00", "n01", "n02"]
    assert "AMD EPYC 9R45" in group.title
    assert not notes


def test_unlike_hardware_is_never_one_group_and_the_largest_comes_first() -> None:
    found = with_node(fleet(4), "n00", with_hardware(cpu_model="Xeon"))
    (first, second), _ = by_hardware(found)
    assert list(first.nodes) == ["n01", "n02", "n03"]
    assert list(second.nodes) == ["n00"]
    assert differs_from(second, first) == "cpu model (Xeon and AMD EPYC 9R45)"


def test_a_lost_gpu_makes_a_group_of_its_own_and_is_told() -> None:
    def with_gpus(number: int) -> Callable[[Reduced], Reduced]:
        def change(one: Reduced) -> Reduced:
            gpus = {f"gpu device {index} name": "H100" for index in range(number)}
            return msgspec.structs.replace(one, hardware=one.hardware | gpus)

        return change

    found = {name: [with_gpus(7 if name == "n02" else 8)(each) for each in runs] for name, runs in fleet(4).items()}
    (first, second), _ = by_hardware(found)
    assert list(second.nodes) == ["n02"]
    assert differs_from(second, first) == "gpu device 7 name (none and H100)"


def test_the_newest_run_decides() -> None:
    found = fleet(2)
    found["n01"][1] = _later(with_hardware(memory="12 GiB")(found["n01"][1]))
    groups, notes = by_hardware(found)
    assert [list(group.nodes) for group in groups] in ([["n00"], ["n01"]], [["n01"], ["n00"]])
    assert {len(runs) for group in groups for runs in group.nodes.values()} == {1, 3}
    assert notes == ("2 of 3 runs of n01 were made on other hardware than its newest run, and are left out.",)


def test_processors_that_are_not_known_are_no_peers() -> None:
    found = {name: [with_hardware(cpu_model="not asked")(each) for each in runs] for name, runs in fleet(3).items()}
    groups, _ = by_hardware(found)
    assert [len(group.nodes) for group in groups] == [1, 1, 1]


def test_a_node_without_a_run_is_left_out() -> None:
    assert by_hardware({"n00": []}) == ((), ())


def _group(found: Nodes) -> Peers:
    (group,), _ = by_hardware(found)
    return group


def test_like_nodes_differ_in_nothing() -> None:
    assert set(differences(_group(fleet(4))).values()) == {()}


def test_another_value_names_the_node_and_what_most_have() -> None:
    found = with_node(fleet(6), "n03", with_facts("kernel", release="6.12.0"))
    named = differences(_group(found))
    assert named["n03"] == (Difference("kernel", "release", "6.12.0", "6.1.0-37-amd64", 1.0),)
    assert not any(each for node, each in named.items() if node != "n03")


@pytest.mark.parametrize(("others", "named"), [(1, True), (2, True), (3, False)])
def test_a_majority_must_be_clear(others: int, named: bool) -> None:
    found = fleet(8)
    for node in range(others):
        found = with_node(found, f"n{node:02}", with_facts("cpu", microcode=f"0x{node}"))
    assert bool(differences(_group(found))["n00"]) == named


def test_of_two_nodes_neither_is_named() -> None:
    found = with_node(fleet(2), "n00", with_facts("kernel", release="6.12.0"))
    assert set(differences(_group(found)).values()) == {()}
    assert differences(_group(with_node(fleet(3), "n00", with_facts("kernel", release="6.12.0"))))["n00"]


def test_a_fact_that_every_node_has_of_its_own_names_nobody() -> None:
    found = fleet(5)
    for node in list(found):
        found = with_node(found, node, with_facts("gpu", serial=node))
    assert set(differences(_group(found)).values()) == {()}


def test_what_is_measured_anew_names_nobody() -> None:
    found = with_node(fleet(5), "n01", with_facts("kernel", **{"timer step ns": "17"}))
    found = with_node(found, "n01", with_facts("memory", **{"total bytes": "17"}))
    assert set(differences(_group(found)).values()) == {()}


def test_a_fact_that_a_record_lacks_is_no_difference_and_a_package_is() -> None:
    found = with_node(fleet(5), "n01", with_facts("kernel", release=""))
    assert not differences(_group(found))["n01"]
    found = with_node(fleet(5), "n01", with_facts("image jax", extra="1.0"))
    assert differences(_group(found))["n01"] == (Difference("image jax", "extra", "1.0", "not there", 1.0),)


def test_layers_are_left_out_where_the_lock_says_it() -> None:
    changed = {"layer 1": "x", "size bytes": "3"}
    found = with_node(fleet(5), "n01", with_facts("image jax", **changed))
    assert [each.name for each in differences(_group(found))["n01"]] == ["layer 1", "size bytes"]
    found = with_node(found, "n01", with_facts("image jax", lock="y"))
    assert [each.name for each in differences(_group(found))["n01"]] == ["lock"]


def test_no_node_has_more_differences_than_can_be_read() -> None:
    found = with_node(fleet(5), "n01", with_facts("image jax", **{f"p{index}": "1" for index in range(2 * MOST)}))
    assert len(differences(_group(found))["n01"]) == MOST


def test_the_driver_comes_before_an_image() -> None:
    found = with_node(fleet(5), "n01", with_facts("image jax", lock="y"))
    for node in list(found):
        found = with_node(found, node, with_facts("gpu", driver="570" if node == "n01" else "580"))
    assert [each.group for each in differences(_group(found))["n01"]] == ["gpu", "image jax"]
