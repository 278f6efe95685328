"""What the order of runs in time makes of a step of the machine: false changes of lumps and of turns, simulated."""

import math
from datetime import datetime, timedelta

import msgspec
import numpy as np
import pytest
from scipy.stats import binom

from levelfield.analysis.summary import Answer, Reduced
from levelfield.compare import order_in_time
from levelfield.compare.comparison import compare_runs
from levelfield.compare.effects import from_paired_runs, from_runs
from levelfield.compare.policy import change_policy, judge
from levelfield.compare.types import Gate
from levelfield.statistics.arrays import Floats
from levelfield.statistics.verdicts import Verdict
from tests.compare.runs import side
from tests.known import known

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
    assert false_changes(stepped([0] * runs + [1] * runs, runs)) == pytest.approx(about, abs=0.03)


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
        share = known(order_in_time.share_of_step(*times(order)))
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


# ---- pairs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "pairs"),
    [
        ("ABBAAB", ((0, 0), (1, 1), (2, 2))),
        ("AB", ((0, 0),)),
        ("ABABAB", ()),  # the old side always came first: a drift would be in each difference
        ("AABB", ()),
        ("", ()),
    ],
)
def test_pairs_follow_from_the_order(order: str, pairs: tuple[tuple[int, int], ...]) -> None:
    assert order_in_time.pairs_in_turns(*times(order)) == pairs


def machine(world: str, rng: np.random.Generator, runs: int) -> Floats:
    """What the machine adds to the log of each run, in order of time."""
    match world:
        case "days":
            return np.repeat(rng.normal(0.0, STEP, runs // 2), 2)
        case "a step":
            return np.where(np.arange(runs) >= rng.integers(1, runs), STEP, 0.0)
        case "a ramp":
            return np.linspace(0.0, 5 * STEP, runs)
        case "a walk":
            return np.cumsum(rng.normal(0.0, STEP / 2, runs))
        case _:
            return np.zeros(runs)


@pytest.mark.parametrize("world", ["the same", "days", "a step", "a ramp", "a walk"])
@pytest.mark.parametrize("pairs", [5, 8])
def test_pairs_of_the_same_thing_differ_as_rarely_as_is_said(world: str, pairs: int) -> None:
    """In as many comparisons as the level says, where pairs are exchangeable; in no more, whatever the machine does."""
    rng = np.random.default_rng(pairs)
    missed = np.zeros(EXPERIMENTS, dtype=bool)
    for number in range(EXPERIMENTS):
        order = np.array(turns(pairs))
        costs = np.exp(machine(world, rng, order.size) + rng.normal(0.0, RUN_SD, order.size))
        missed[number] = from_paired_runs(costs[order == 0], costs[order == 1]).p_value < GATE.q
    fewest, most = binom.ppf([0.0005, 0.9995], EXPERIMENTS, GATE.q) / EXPERIMENTS
    assert missed.mean() <= most
    if world in ("the same", "days"):
        assert missed.mean() >= fewest


def test_pairs_take_the_days_out_of_the_interval() -> None:
    """The figure of the module's docstring."""
    rng = np.random.default_rng(6)
    widths = []
    for _ in range(500):
        days = rng.normal(0.0, STEP, 5)
        old, new = (np.exp(days + rng.normal(0.0, RUN_SD, 5)) for _ in range(2))
        widths.append([how(old, new).half_width(0.99) for how in (from_paired_runs, from_runs)])
    paired, alone = np.median(widths, axis=0)
    assert paired / alone == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize(("order", "paired"), [("ABBAABBAAB", True), ("ABABABABAB", False), ("ABBAAB", False)])
def test_a_comparison_uses_the_pairs_of_its_runs(order: str, paired: bool) -> None:
    count = len(order) // 2
    old, new = times(order)
    sides = made(side("a", count), old), made(side("b", count, 11), new)
    rows = compare_runs(*sides).rows
    assert {row.paired for row in rows} == {paired}
    for row in rows:
        costs = [[run.answers[row.old_arm, row.case.id].cost or math.nan for run in runs] for runs in sides]
        effect = (from_paired_runs if paired else from_runs)(*costs)
        assert row.p_value == pytest.approx(effect.p_value)
        assert known(row.ratio).value == pytest.approx(math.exp(effect.log_ratio))
    assert ("made in turns" in compare_runs(*sides).method) is paired


def test_a_run_without_an_answer_takes_its_pair_with_it() -> None:
    old, new = times("ABBAABBAABBA")
    first, second = made(side("a", 6), old), made(side("b", 6, 11), new)
    ((arm, case), *_) = first[2].answers
    absent = {(arm, case): Answer("absent")}
    first[2] = msgspec.structs.replace(first[2], answers=first[2].answers | absent)
    replicates = {row.old_arm: row.new_replicates for row in compare_runs(first, second).rows if row.paired}
    assert replicates == {"jax": 6, "onnxruntime": 6} | {arm: 5}
