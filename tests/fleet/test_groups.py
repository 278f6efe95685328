"""Nodes are grouped by hardware, and the newest run decides."""

from collections.abc import Callable

import msgspec

from levelfield.analysis.summary import Reduced
from levelfield.fleet.groups import by_hardware, differs_from
from tests.fleet.fleets import fleet, with_hardware, with_node


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
