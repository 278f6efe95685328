"""Streams with a known structure, as the rigor trial would have recorded them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from levelfield.record.schema import Case
from studies.rigor.record import Floats, Generation, Outside, Pair, Round, Setup, Stream, Table, Window

CALL_NS = 22_000_000
WINDOW_S = 0.25
LAUNCH_S = 1.0
CALLS = 9


@dataclass(frozen=True)
class Machine:
    """Standard deviations on the log scale."""

    launch: float = 0.007
    window: float = 0.02
    call: float = 0.01
    rounds: float = 0.0
    """Common to all arms of a round, independent from round to round."""
    walk: float = 0.0
    """A random walk: what the whole machine drifts by from one generation to the next."""


def log_medians(machine: Machine, generations: int, rounds: int, arms: int, seed: int) -> Floats:
    """Return log times relative to `CALL_NS`, shape (generations, rounds, arms)."""
    draw = np.random.default_rng(seed)
    launch = machine.launch * draw.standard_normal((generations, 1, arms))
    window = machine.window * draw.standard_normal((generations, rounds, arms))
    common = machine.rounds * draw.standard_normal((generations, rounds, 1))
    walk = machine.walk * draw.standard_normal((generations, 1, 1)).cumsum(axis=0)
    return launch + window + common + walk


def table(
    machine: Machine,
    *,
    generations: int = 100,
    rounds: int = 5,
    arms: int = 12,
    seed: int = 1,
    disturbed: Sequence[tuple[int, int, int]] = (),
) -> Table:
    """Return a stream as rules see it; `disturbed` names generation, round and lane."""
    draw = np.random.default_rng(seed + 1000)
    medians = CALL_NS * np.exp(log_medians(machine, generations, rounds, arms, seed))
    calls = medians[..., None] * np.exp(machine.call * draw.standard_normal((*medians.shape, CALLS)))
    marks = np.zeros((generations, rounds, arms // 2), dtype=np.bool_)
    for place in disturbed:
        marks[place] = True
    return Table(
        median_ns=medians,
        mean_ns=medians * 1.01,
        wall_s=np.full_like(medians, WINDOW_S),
        calls_ns=tuple(
            tuple(tuple(tuple(int(call) for call in window) for window in row) for row in each) for each in calls
        ),
        disturbed=marks,
        launch_s=np.full(generations, LAUNCH_S),
        canary_ns=None,
    )


def generation(index: int, medians: Floats) -> Generation:
    """Return a generation whose windows have these medians, shape (rounds, arms); the canary never moves."""
    start_ns = index * 60_000_000_000
    places = iter(range(1, 10_000))

    def window(arm: int, median_ns: float) -> Window:
        began_ns, ns = start_ns + 2_000_000_000 + next(places) * 250_000_000, round(median_ns)
        return Window(arm, began_ns, 250_000_000, CALLS, ns, ns + 1000, ns - 1000, ns + 1000, (ns,) * CALLS)

    def pair(lane: int, row: Floats) -> Pair:
        windows = (window(2 * lane + 1, row[2 * lane + 1]), window(2 * lane, row[2 * lane]))
        return Pair(lane, windows, Outside(500_000_000, 0, 1_000_000, 0, None, 100_000))

    return Generation(
        index=index,
        started="2026-11-21T10:00:00Z",
        start_ns=start_ns,
        launch_ns=1_500_000_000,
        warm_up_ns=500_000_000,
        rounds=tuple(
            Round(tuple(pair(lane, row) for lane in reversed(range(len(row) // 2))), window(-1, 1e6)) for row in medians
        ),
    )


def stream(machine: Machine, *, generations: int = 12, rounds: int = 4, arms: int = 4, seed: int = 1) -> Stream:
    """Return a whole record."""
    medians = CALL_NS * np.exp(log_medians(machine, generations, rounds, arms, seed))
    return Stream(
        schema=Stream.SCHEMA,
        started="2026-11-21T10:00:00Z",
        updated="2026-11-21T11:00:00Z",
        tool_version="0",
        setup=Setup(
            Case("resnet50", "latency", "fp32", 1, 2), "onnxruntime", arms, rounds, 200_000_000, 3, 7, canary=True
        ),
        machine={"cpu": {"model": "A processor"}},
        images=(),
        artifacts=(),
        generations=tuple(generation(index, each) for index, each in enumerate(medians)),
    )
