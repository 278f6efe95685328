"""What the order of runs in time makes of a step of the machine: false changes of lumps and of turns, simulated."""

import math
from datetime import datetime, timedelta

import msgspec
import numpy as np
import pytest

from suite.compare import order_in_time
from suite.compare.comparison import compare_runs
from suite.compare.effects import from_runs
from suite.compare.reduction import Reduced
from suite.compare.types import Gate
from suite.compare.verdicts import change_policy, judge
from suite.run.bench import turns
from suite.statistics.arrays import Floats
from suite.statistics.verdicts import Verdict
from tests.compare.runs import side

STEP = math.log(1.02)
RUN_SD = 0.01
CASES = 10
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
        assert false_changes(stepped(turns(runs, after), after), seed=after) <= allowed


@pytest.mark.parametrize("runs", [3, 5])
def test_days_of_their_own_do_no_harm_to_pairs(runs: int) -> None:
    """Every pair of runs on a day of its own, days that scatter by 2 %."""
    rng = np.random.default_rng(5)
    called = 0
    for seed in range(EXPERIMENTS):
        days = rng.normal(0.0, STEP, runs)
        old, new = (days + rng.normal(0.0, RUN_SD, runs) for _ in range(2))
        (found,) = judge([from_runs(np.exp(old), np.exp(new))], change_policy(GATE))
        called += found.verdict in (Verdict.SLOWER, Verdict.FASTER)
        del seed
    assert called / EXPERIMENTS <= GATE.q


@pytest.mark.extended
def test_over_many_cases_too() -> None:
    """A step moves all cases at once: of ten, some is called changed more often than one alone."""
    lumps = (np.zeros(3), np.full(3, STEP))
    mixed = (np.array([0.0, 0.0, STEP]), np.array([0.0, STEP, STEP]))
    assert false_changes(lumps, cases=CASES) > 0.05
    assert false_changes(mixed, cases=CASES) <= GATE.q + 3 * math.sqrt(GATE.q / EXPERIMENTS)


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
        ("BBBAAA", 1.0, "lumps"),
        ("AABABB", 2 / 3, "uneven"),
        ("AAABB", 1.0, "lumps"),
        ("ABABAB", 1 / 3, "turns"),
        ("ABBAAB", 1 / 3, "turns"),
        ("ABBAABBAAB", 1 / 5, "turns"),
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


def made(runs: list[Reduced], started: list[str]) -> list[Reduced]:
    return [
        msgspec.structs.replace(run, facts=msgspec.structs.replace(run.facts, started=each))
        for run, each in zip(runs, started, strict=True)
    ]


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ("AAABBB", "All runs of one side were made before all runs of the other"),
        ("AABABB", "up to 67 % of a step of the machine looks like a change"),
        ("ABBAAB", "Runs of both sides were made in turns: at most 33 % of a step"),
    ],
)
def test_a_comparison_says_in_which_order_its_runs_were_made(order: str, says: str) -> None:
    old, new = times(order)
    found = compare_runs(made(side("a", 3), old), made(side("b", 3, 11), new))
    assert found.order == order_in_time.order_of(order_in_time.share_of_step(old, new))
    (note,) = [note for note in found.notes if "of a step" in note or "a step of the machine" in note]
    assert says in note
    assert "That holds where old and new runs are exchangeable" in found.method


def test_nothing_is_said_of_an_order_where_nothing_is_judged() -> None:
    found = compare_runs(side("a", 1), side("b", 1, 11))
    assert not any("step of the machine" in note for note in found.notes)


# ---- turns of two sides ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [2, 3, 5, 8])
def test_two_sides_take_turns(pairs: int) -> None:
    firsts = []
    for seed in range(200):
        order = turns(pairs, seed)
        assert all(set(order[place : place + 2]) == {0, 1} for place in range(0, 2 * pairs, 2))
        share = order_in_time.share_of_step(*times("".join("AB"[each] for each in order)))
        assert share == pytest.approx(1 / pairs)
        led = order[::2].count(0)
        assert abs(led - pairs / 2) <= 0.5
        firsts.append(order[0])
    assert 60 < sum(firsts) < 140
    assert turns(pairs, 1) == turns(pairs, 1)
