"""The rule of a derived gate on one case."""

import msgspec
import numpy as np
import pytest

from levelfield.analysis.types import Estimate
from levelfield.compare.noise_gate.judging import judged, why_not_judged
from levelfield.compare.types import Derived, Gate, Row, Verdict
from levelfield.record.schema import Case
from levelfield.statistics import prediction

OLD = [100.0, 101.0, 99.0, 100.5, 99.5]
ID = "torch/mlp/latency/fp32/b1/t2/cpu"
DERIVED = Derived("good", "2026-01-01T00:00:00Z", 5, (ID,), 0.01, 0.9, at_hand=True)


def row(new: list[float], **criteria: float) -> Row:
    case = Case(model="mlp", scenario="latency", precision="fp32", batch=1, threads=2)
    draft = Row(
        case=case,
        metric="latency",
        old_arm="torch",
        new_arm="torch",
        verdict=Verdict.UNDECIDABLE,
        outcome="undecided",
        old=100.0,
        new=new[0],
        ratio=Estimate(1.0),
        old_replicates=5,
        new_replicates=len(new),
    )
    return judged(draft, (OLD, new), Gate(**criteria, derived=DERIVED), DERIVED)


def limit(new: int) -> float:
    earlier = prediction.from_runs(np.log(OLD))
    return float(np.exp(earlier.mean + earlier.reach(new, 0.01)))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_worse_is_more_than_half_above_the_limit(count: int) -> None:
    above, below = 1.001 * limit(count), 0.999 * limit(count)
    needed = count // 2 + 1
    enough = [above] * needed + [100.0] * (count - needed)
    too_few = [above] * (needed - 1) + [below] * (count - needed + 1)
    assert row(enough).verdict is Verdict.SLOWER
    assert row(enough).outcome == "worse"
    assert row(too_few).verdict is Verdict.WITHIN
    assert row(too_few).outcome == "fine"
    assert row(enough).limit == pytest.approx(limit(count))


def test_one_bad_run_of_two_or_three_is_no_alarm() -> None:
    assert row([1000.0]).outcome == "worse"
    assert row([1000.0, 100.0]).outcome == "fine"
    assert row([1000.0, 100.0, 100.2]).outcome == "fine"


def test_the_interval_agrees_with_the_verdict() -> None:
    found = row([1.001 * limit(1)]).ratio
    assert found is not None
    assert found.low == pytest.approx(1.001)
    assert row([100.0]).confidence == pytest.approx(0.98)


def test_faster_is_said_and_fine() -> None:
    assert (row([80.0]).verdict, row([80.0]).outcome) == (Verdict.FASTER, "fine")


def test_a_largest_slowdown_is_exceeded_ruled_out_or_not_decided() -> None:
    assert row([100.0], max_slowdown=0.2).outcome == "fine"
    assert row([150.0], max_slowdown=0.2).outcome == "worse"
    found = row([100.0], max_slowdown=0.02)
    assert (found.verdict, found.outcome) == (Verdict.WITHIN, "undecided")
    assert "2.0\u00a0% was asked, and it finds" in found.reason
    assert "2 new runs would" not in row([100.0, 100.0], max_slowdown=0.02).reason
    assert "derive the gate from more runs" in row([100.0], max_slowdown=0.001).reason


def test_what_can_be_found_is_decided() -> None:
    """By symmetry, the smallest change that is found is the smallest that runs without a change rule out as often."""
    finds = (row([100.0]).finds or 0.0) - 1
    generator = np.random.default_rng(2)
    spread = prediction.from_runs(np.log(OLD)).spread
    decided = 0
    for _ in range(300):
        logs = np.log(100) + spread * generator.standard_normal(6)
        old, new = list(np.exp(logs[:5])), list(np.exp(logs[5:]))
        made = msgspec.structs.replace(row([100.0]), old=None)
        decided += judged(made, (old, new), Gate(max_slowdown=finds, derived=DERIVED), DERIVED).outcome == "fine"
    assert decided / 300 > 0.9 - 0.06


def test_what_is_not_judged() -> None:
    assert why_not_judged(ID, DERIVED, ()) == ""
    assert why_not_judged("other", DERIVED, ()) == "the gate has no limit for it"
    assert "smoke" in why_not_judged(ID, DERIVED, ("smoke",))
