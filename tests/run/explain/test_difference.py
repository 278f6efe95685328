"""Operators of two arms, compared over profiles whose truth is known."""

import numpy as np
import pytest

from levelfield.backends.profiling.operators import Operator
from levelfield.run.explain.difference import Difference, compare_profiles
from levelfield.worker.messages import Profiled
from tests.statistics.rates import check_rate

CALLS = 10
TRUE_NS = {"MatMul": 50e6, "Gelu": 10e6, "Softmax": 3e6, "Add": 1e6}


def profile(times_ns: dict[str, float], rng: np.random.Generator, *, noise: float = 0.01) -> Profiled:
    """A launch in which each kind takes its time times a launch's own factor."""
    drawn = {kind: value * float(np.exp(noise * rng.standard_normal())) for kind, value in times_ns.items()}
    call = round(1.05 * sum(drawn.values()))
    operators = tuple(Operator(kind, "", CALLS, value) for kind, value in drawn.items())
    return Profiled("a profiler", operators, (call,) * CALLS, (round(1.2 * call),) * CALLS, "")


def compared(new: dict[str, float], seed: int, *, launches: int = 7) -> Difference:
    rng = np.random.default_rng(seed)
    pairs = [(profile(TRUE_NS, rng), profile(TRUE_NS | new, rng)) for _ in range(launches)]
    return compare_profiles("bert/latency", "old", "new", pairs)


def test_the_operator_that_takes_longer_is_named_with_its_interval() -> None:
    found = compared({"Gelu": 13e6}, 1)
    assert [each.name for each in found.operators if each.differs] == ["Gelu"]
    gelu = next(each for each in found.operators if each.name == "Gelu")
    assert gelu.low_us < 3000 < gelu.high_us
    assert gelu.difference_us == pytest.approx(gelu.new_us - gelu.old_us)
    assert found.call.differs
    assert found.slowdown == pytest.approx(1.2)


def test_the_largest_difference_comes_first_and_all_are_there() -> None:
    found = compared({"Add": 9e6}, 2)
    assert found.operators[0].name == "Add"
    assert {each.name for each in found.operators} == set(TRUE_NS)


def test_an_operator_that_only_one_arm_has_takes_no_time_in_the_other() -> None:
    found = compared({"FusedGelu": 4e6, "Gelu": 0.0}, 3)
    fused = next(each for each in found.operators if each.name == "FusedGelu")
    assert (fused.old_us, fused.differs) == (0.0, True)
    assert fused.new_us == pytest.approx(4000, rel=0.05)


def test_what_operators_account_for_is_a_share_of_the_call() -> None:
    found = compared({"MatMul": 60e6}, 4)
    assert found.accounted == pytest.approx(1 / 1.05, abs=0.1)


@pytest.mark.extended
def test_equal_arms_have_an_operator_that_differs_in_few_comparisons() -> None:
    """At a false discovery rate of 1 %, equal arms may show a difference in 1 % of comparisons."""
    wrong = sum(any(each.differs for each in compared({}, seed).operators) for seed in range(3000))
    check_rate(wrong, 3000, 0.01)


def test_profiles_without_operators_are_an_empty_table() -> None:
    rng = np.random.default_rng(5)
    pairs = [(profile({"x": 1e6}, rng), profile({"x": 1e6}, rng)) for _ in range(3)]
    bare = [tuple(Profiled(each.source, (), each.plain_ns, each.profiled_ns, "") for each in pair) for pair in pairs]
    assert compare_profiles("case", "old", "new", [(first, second) for first, second in bare]).operators == ()
