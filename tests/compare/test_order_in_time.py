"""What the order of runs in time makes of a step of the machine: false changes of lumps and of turns, simulated."""

import math
from datetime import datetime, timedelta

import numpy as np
import pytest

from levelfield.compare import order_in_time
from levelfield.compare.effects import from_runs
from levelfield.compare.policy import change_policy, judge
from levelfield.compare.types import Gate
from levelfield.statistics.arrays import Floats
from levelfield.statistics.verdicts import Verdict

STEP = math.log(1.02)
RUN_SD = 0.01
EXPERIMENTS = 2000
GATE = Gate()


def false_changes(shifts: tuple[Floats, Floats], *, seed: int = 1, cases: int = 1) -> float:
    """Return the share of comparisons that call a change, of runs that differ by shifts of the machine alone.

    Parameters
    ----------
    shifts
        What the machine adds to the log of each run, of either side.
    """
    rng = np.random.default_rng(seed)
    called = 0
    for _ in range(EXPERIMENTS):
        effects = []
        for _ in range(cases):
            old, new = (shift + rng.normal(0.0, RUN_SD, shift.size) for shift in shifts)
            effects.append(from_runs(np.exp(old), np.exp(new)))
        called += any(each.verdict in (Verdict.SLOWER, Verdict.FASTER) for each in judge(effects, change_policy(GATE)))
    return called / EXPERIMENTS


def turns(pairs: int) -> list[int]:
    """Old, new, new, old and so on, as docs/method.md advises."""
    return ([0, 1, 1, 0] * pairs)[: 2 * pairs]


def stepped(order: list[int], after: int) -> tuple[Floats, Floats]:
    """Shift all runs after a number of them, and hand them to their sides."""
    shifts = np.where(np.arange(len(order)) >= after, STEP, 0.0)
    sides = np.array(order)
    return shifts[sides == 0], shifts[sides == 1]


@pytest.mark.parametrize(("runs", "about"), [(3, 0.09), (5, 0.42)])
def test_a_step_between_two_lumps_looks_like_a_change(runs: int, about: float) -> None:
    """The figures of the module's docstring, of docs/versions.md and of docs/method.md."""
    lumps = [0] * runs + [1] * runs
    assert false_changes(stepped(lumps, runs)) == pytest.approx(about, abs=0.03)


@pytest.mark.extended
@pytest.mark.parametrize("runs", [3, 5])
def test_runs_in_turns_keep_their_promise_wherever_the_step_is(runs: int) -> None:
    allowed = GATE.q + 3 * math.sqrt(GATE.q * (1 - GATE.q) / EXPERIMENTS)
    for after in range(1, 2 * runs):
        assert false_changes(stepped(turns(runs), after), seed=after) <= allowed


# ---- the order, recognised -------------------------------------------------------------------------------------------


def times(order: str) -> tuple[list[str], list[str]]:
    begun = datetime.fromisoformat("2026-11-21T10:00:00+00:00")
    made = {"A": [], "B": []}  # type: dict[str, list[str]]
    for number, name in enumerate(order):
        made[name].append((begun + timedelta(hours=number)).strftime("%Y-%m-%dT%H:%M:%SZ"))
    return made["A"], made["B"]


@pytest.mark.parametrize(
    ("order", "share", "name"),
    [
        ("AAABBB", 1.0, "lumps"),
        ("AABABB", 2 / 3, "uneven"),
        ("ABABAB", 1 / 3, "turns"),
        ("ABBAAB", 1 / 3, "turns"),
        ("AB", 1.0, "lumps"),
    ],
)
def test_the_share_of_a_step_follows_from_the_order(order: str, share: float, name: str) -> None:
    found = order_in_time.share_of_step(*times(order))
    assert found == pytest.approx(share)
    assert order_in_time.order_of(found) == name


def test_a_step_shows_with_that_share_of_its_size_at_most() -> None:
    for order in ("AAABBB", "AABABB", "ABABAB", "ABBAAB", "ABABBA"):
        share = order_in_time.share_of_step(*times(order))
        assert share is not None
        numbers = ["AB".index(name) for name in order]
        moved = [stepped(numbers, after) for after in range(len(order) + 1)]
        assert max(abs(new.mean() - old.mean()) for old, new in moved) == pytest.approx(share * STEP)


@pytest.mark.parametrize("bad", [["yesterday"], ["2026-11-21T10:00:00Z", "?"], []])
def test_times_that_cannot_be_read_say_nothing(bad: list[str]) -> None:
    assert order_in_time.share_of_step(bad, ["2026-11-21T10:00:00Z"]) is None
    assert order_in_time.order_of(None) == "unknown"
    assert "is not known" in order_in_time.sentence(None, 3)
