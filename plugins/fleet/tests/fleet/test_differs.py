"""What is not what most peers have; and what names nobody."""

import pytest
from levelfield_fleet.differs import MOST, differences
from levelfield_fleet.groups import Peers, by_hardware
from levelfield_fleet.types import Difference
from tests.fleet.fleets import Nodes, fleet, with_facts, with_node


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
