"""What the machine did meanwhile: the canary, signals from outside, what disturbed rounds, and the states it was in."""

from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from levelfield.analysis import collect, estimates, ranks, types
from levelfield.analysis.collect import ArmSummary
from levelfield.analysis.estimates import LaunchLevels
from levelfield.analysis.launch_levels import Reduction, States
from levelfield.record.schema import Absent, Block, Noise, Run
from levelfield.record.states import judge, knowledge, levels_of, probes_of
from levelfield.statistics.segments import LEAST, has_shifted
from levelfield.statistics.student import EndedBy

FEWEST_CONTENDED = 2
"""Launches with contended windows of both arms, below which nothing is said of their ratio then; or with windows of an
arm in both states, below which nothing is said of what contention does to it."""


def windows_of(block: Block, found: States) -> types.WindowsOf:
    """Return what windows the figures of a block are of, by its reductions."""
    known = levels_of(block)
    if known is None:
        return ""
    match knowledge(known):
        case "contended throughout":
            return "contended throughout"
        case _ if found.starved:
            return "all"
        case "one state seen":
            return "one state"
        case _:
            return "calm"


def left_out(found: Reduction, summary: ArmSummary) -> tuple[tuple[int, int, int], ...]:
    """Return the windows of an arm that a reduction is not of: generation, round, and number of the attempt."""
    rounds = {generation.index: generation.rounds for generation in found.block.generations}
    return tuple(
        (launch.generation, rounds[launch.generation][window.position[1]].index, window.attempt)
        for launch in summary.launches
        for window in launch.windows
        if not found.selects(window)
    )


def summarise(block: Block, rows: Iterable[types.Row], best: str | None) -> types.BlockStates | None:
    """Return what is known of the machine's states in a block; None where nothing probed it."""
    known = levels_of(block)
    if known is None:
        return None
    turns = (turn for *_, turn in collect.turns(block) if turn.arm != block.canary and turn.window is not None)
    judged = [judge(turn, known) for turn in turns]
    return types.BlockStates(
        knowledge=knowledge(known),
        calm=sum(each is not None and each.state == "calm" for each in judged),
        probes=known.probes,
        low_share=known.low_share,
        ranks_differ=tuple(row.arm for row in rows if row.arm != best and _is_faster_when_contended(row)),
    )


def of_run(run: Run, blocks: Iterable[types.BlockAnalysis]) -> types.BlockStates | Absent | None:
    """Return the states by most of a run's probes, or why none is known; None: nothing was timed here in windows."""
    known = [block.states for block in blocks if isinstance(block, types.TimedBlock) and block.states is not None]
    if known:
        return max(known, key=lambda each: each.probes)
    timed = [turn for block in run.blocks for *_, turn in collect.turns(block) if turn.window is not None]
    if not timed or run.imported is not None:
        return None
    around = (probe for turn in timed for probe in (turn.probed_before, turn.probed_after))
    failed = next((probe for probe in around if isinstance(probe, Absent)), None)
    few = Absent("its probes are too few") if probes_of(timed) else Absent("an earlier version did not probe it")
    return failed or few


def with_contended(ranking: "ranks.Ranking[types.Row]", found: States, ended: EndedBy) -> "ranks.Ranking[types.Row]":
    """Return a ranking whose rows say what contention does to their ratio to the leading arm and to their own cost."""
    best = ranking["best"]
    if found.contended is None:
        return ranking
    contended, calm = found.contended.compared, found.calm.compared

    def over(numerator: LaunchLevels, denominator: LaunchLevels) -> types.Estimate | None:
        if len(numerator.keys() & denominator.keys()) < FEWEST_CONTENDED:
            return None
        return estimates.ratio(numerator, denominator, ended=ended)

    def with_both(row: types.Row) -> types.Row:
        beside = best is not None and row.rank is not None and row.arm != best and not found.starved
        of_best = contended[best] if best is not None and beside else {}
        slowed = over(contended[row.arm], calm[row.arm])
        return msgspec.structs.replace(
            row, contended=over(contended[row.arm], of_best), slowed=slowed.value if slowed is not None else None
        )

    return ranks.mapped(ranking, with_both)


def _is_faster_when_contended(row: types.Row) -> bool:
    """Return whether an arm that is slower when calm is faster than the leading one when the machine is contended."""
    if row.contended is None or row.contended.high is None:
        return False
    return row.contended.high < 1


MIN_POINTS = 6
"""Fewest generations of the canary from which a drift is reported: two in each third."""


def canary(run: Run) -> types.Canary | None:
    """Follow the canary through all blocks in the order of time, or None where it took no part."""
    points: list[types.CanaryPoint] = []
    name = ""
    for block in run.blocks:
        for launch in collect.summaries(block, block.canary):
            if launch.windows:
                name = block.canary or name
                median_ns = float(np.median([window.median_ns for window in launch.windows]))
                points.append(types.CanaryPoint(block.case.id, launch.generation, launch.launch.started, median_ns))
    if not points:
        return None
    points.sort(key=lambda point: point.started)
    medians = np.array([point.median_ns for point in points])
    third = len(points) // 3
    return types.Canary(
        arm=name,
        points=tuple(points),
        median_ns=float(np.median(medians)),
        spread=float(medians.max() / medians.min() - 1),
        drift=float(np.median(medians[-third:]) / np.median(medians[:third]) - 1)
        if len(points) >= MIN_POINTS
        else None,
        moved=len(points) >= LEAST and has_shifted(np.log(medians)),
    )


def noise(run: Run) -> types.NoiseSummary | None:
    """Sum the outside signals over all windows, as shares of one core's time; None where none were read."""
    readings = [turn.noise for block in run.blocks for *_, turn in collect.turns(block) if turn.noise is not None]
    elapsed_ns = sum(reading.elapsed_ns for reading in readings)
    if not elapsed_ns:
        return None
    return types.NoiseSummary(
        windows=len(readings),
        elapsed_ns=elapsed_ns,
        steal_share=_share(readings, lambda reading: reading.steal_ns),
        pressure_share=_share(readings, lambda reading: reading.pressure_ns),
        others_share=_share(readings, lambda reading: reading.others_ns),
        idle_workers_share=_share(readings, lambda reading: reading.idle_workers_ns),
        throttled=_sum(reading.throttled for reading in readings),
        quota_throttled=_sum(reading.quota_throttled for reading in readings),
    )


def _sum(values: Iterable[int | Absent]) -> int | Absent:
    known = collect.known(values)
    return known if isinstance(known, Absent) else sum(known)


def _share(readings: Iterable[Noise], signal: Callable[[Noise], int | Absent]) -> float | Absent:
    """Add a signal over the windows in which it was read, over those windows' time."""
    return collect.per_ns((signal(reading), reading.elapsed_ns) for reading in readings)


def fate(disturbed: int, kept: int) -> str:
    """Say what became of disturbed rounds, as the end of a sentence that begins with them."""
    if kept == disturbed:
        return "count all the same, since their generations had no others"
    if not kept:
        return "are left out"
    return f"{disturbed - kept} of these are left out; the other {kept} count, since their generations have no others"
