"""What a bisection makes of measured ratios, and of arms that cannot be bisected."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from levelfield.analysis.types import Estimate
from levelfield.compare.types import Gate, Row, Verdict
from levelfield.errors import LevelfieldError
from levelfield.plan import Selection, make
from levelfield.record.schema import Case
from levelfield.run.bisect import Effect, _only, effect_of, run_bisection, search
from levelfield.run.options import Options
from levelfield.scenarios import ScenarioName

OPTIONS = Options(selection=Selection(), reports=Path("nowhere"))


def row(low: float, value: float, high: float, verdict: Verdict = Verdict.SLOWER, model: str = "mlp") -> Row:
    return Row(
        case=Case(model, "latency", "fp32", 1, 2), metric="latency", old_arm="a", new_arm="b", verdict=verdict,
        outcome="worse", ratio=Estimate(value, low, high),
    )  # fmt: skip


@pytest.mark.parametrize(("scenario", "batch"), [("throughput", 1), ("throughput", 8), ("training", 4), ("latency", 1)])
def test_the_case_that_is_followed_is_measured_alone(scenario: ScenarioName, batch: int) -> None:
    """As it was measured: in a run of before, throughput may be of one item."""
    case = Case("mlp", scenario, "fp32", batch, 1)
    typed = msgspec.structs.replace(OPTIONS, selection=Selection(models=("bert", "mlp"), batches=(2, 4, 8)))
    made = make(_only(typed, msgspec.structs.replace(row(0.9, 1.0, 1.1), case=case)).selection, available=[0, 1])
    assert [block.case for block in made.blocks] == [case]


@pytest.mark.parametrize(
    ("overall", "found", "effect"),
    [
        (1.2, row(1.18, 1.2, 1.22), Effect.MAKES),
        (1.2, row(1.10, 1.15, 1.2), Effect.MAKES),
        (1.2, row(0.99, 1.0, 1.01), Effect.LEAVES),
        (1.2, row(0.7, 0.75, 0.8), Effect.LEAVES),
        (1.2, row(1.0, 1.1, 1.2), Effect.UNDECIDED),
        (0.8, row(0.79, 0.8, 0.81), Effect.MAKES),
        (0.8, row(0.99, 1.0, 1.01), Effect.LEAVES),
        (0.8, row(1.1, 1.2, 1.3), Effect.LEAVES),
        (0.8, row(0.8, 0.9, 1.0), Effect.UNDECIDED),
    ],
)
def test_more_than_half_of_the_difference_is_the_difference(overall: float, found: Row, effect: Effect) -> None:
    import math

    assert effect_of(found, math.log(overall)) is effect


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("onnxruntime", "openvino", "differ in more than their locks"),
        ("onnxruntime@1.30.0+spinning=off", "onnxruntime", "differ in more than their locks"),
        ("onnxruntime", "onnxruntime", "hold the same distributions"),
    ],
)
def test_what_cannot_be_bisected_is_refused_before_anything_is_measured(first: str, second: str, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        run_bisection(first, second, OPTIONS, Gate(), Console(quiet=True))


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
