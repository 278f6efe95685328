"""Which change makes the difference: on worlds whose answer is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelfield.run.delta_debugging import Effect, Finding, search

NAMES = tuple("abcdefgh")


class World:
    """A judge that knows the culprits: the difference is there when one of the groups is there whole."""

    def __init__(self, *groups: str, needs: dict[str, str] | None = None, blurred: tuple[str, ...] = ()) -> None:
        self.groups = [frozenset(group) for group in groups]
        self.needs = needs or {}
        self.blurred = [frozenset(each) for each in blurred]
        self.asked: list[frozenset[str]] = []

    def __call__(self, chosen: frozenset[str]) -> Effect:
        assert chosen not in self.asked, "measuring is dear: no set is asked about twice"
        assert chosen
        self.asked.append(chosen)
        if any(name in chosen and other not in chosen for name, other in self.needs.items()):
            return Effect.IMPOSSIBLE
        if chosen in self.blurred:
            return Effect.UNDECIDED
        return Effect.MAKES if any(group <= chosen for group in self.groups) else Effect.LEAVES


@pytest.mark.parametrize("culprit", NAMES)
def test_one_culprit_is_named_and_the_rest_acquitted(culprit: str) -> None:
    world = World(culprit)
    found = search(NAMES, world)
    assert found.names == (culprit,)
    assert found.single
    assert found.rest is Effect.LEAVES
    assert len(world.asked) <= 7, "two questions for every halving of eight, and one about the rest"


def test_two_that_make_it_only_together_are_named_together() -> None:
    found = search(NAMES, World("bg"))
    assert found.names == ("b", "g")
    assert not found.single
    assert found.rest is Effect.LEAVES


def test_two_that_each_make_it_leave_a_rest_that_makes_it_too() -> None:
    found = search(NAMES, World("b", "g"))
    assert found.single
    assert found.rest is Effect.MAKES


def test_a_culprit_that_cannot_stand_alone_is_named_with_what_it_needs() -> None:
    found = search(NAMES, World("c", needs={"c": "f"}))
    assert found.names == ("c", "f")
    assert ("c",) in found.impossible


def test_what_nobody_can_tell_narrows_nothing() -> None:
    found = search(("a", "b"), World("a", blurred=("a", "b")))
    assert found.names == ("a", "b")
    assert {tried.effect for tried in found.tried} == {Effect.UNDECIDED}


def test_a_single_change_needs_no_question() -> None:
    assert search(("a",), World("a")) == Finding(names=("a",), rest=None, tried=())


def test_nothing_to_search_among() -> None:
    with pytest.raises(ValueError, match="nothing to search"):
        search((), World())


@given(
    st.lists(st.sets(st.sampled_from(NAMES), min_size=1, max_size=3), min_size=1, max_size=3),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(NAMES), max_size=3),
    st.permutations(NAMES),
)
def test_what_is_named_was_measured_to_make_it(groups: list[set[str]], needs: dict[str, str], names: list[str]) -> None:
    world = World(*("".join(sorted(group)) for group in groups), needs=needs)
    found = search(names, world)
    chosen = frozenset(found.names)
    assert any(group <= chosen for group in world.groups)
    assert chosen == frozenset(NAMES) or chosen in world.asked
    assert len(found.tried) == len(world.asked)
    for name in found.names:
        if len(found.names) > 1:
            without = chosen - {name}
            fresh = World(*("".join(sorted(group)) for group in groups), needs=needs)
            assert fresh(without) is not Effect.MAKES, "each of them is needed"
