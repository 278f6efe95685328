"""The `latency`, `throughput` and `training` scenarios: windows in interleaved rounds, summarised launch by launch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from suite.analysis import collect, disturbances, estimates, places, standing
from suite.analysis.collect import ArmSummary, WindowSummary
from suite.analysis.types import Counts, Row, TimedBlock
from suite.records.schema import Absent, Arm, Block, Launch, Parity
from suite.statistics.calm import which_count
from suite.statistics.steady import SteadyState
from suite.statistics.student import MIN_LAUNCHES
from suite.statistics.windows import summarise

Known = Mapping[tuple[str, str, str], Parity]
"""(question, precision, arm) to the parity that speaks for it."""


@dataclass(frozen=True)
class _Counted:
    """One arm's windows that count, by generation, and what was left out."""

    summary: ArmSummary
    windows: dict[int, tuple[WindowSummary, ...]]
    warming: tuple[tuple[int, int], ...]
    counts: Counts

    @property
    def arm(self) -> Arm:
        return self.summary.arm


@dataclass(frozen=True)
class _Levels:
    """One value a launch: arm to generation to value."""

    medians_ns: dict[str, dict[int, float]]
    costs_ns: dict[str, dict[int, float]]
    """Time an item, from whole windows."""
    with_disturbed: dict[str, dict[int, float]]
    """What the block is about, time of a call or of an item, with disturbed rounds counted."""


def analyse(block: Block, known: Known, *, margin: float, sequential: bool) -> TimedBlock:
    """Summarise and rank a block.

    Every launch is reduced to one number, its windows' typical median with the rounds' common drift removed; the launch
    is the unit of replication. Rounds that outside signals called disturbed are left out, where enough others are there
    (`suite.statistics.calm`).

    Parameters
    ----------
    known
        Parity of each arm, for blocks whose own launches did not compare.
    margin
        Relative slowdown against the best that does not matter.
    sequential
        Whether precision was allowed to end the run; intervals are wider then.
    """
    counting = _counting(block)
    counted = _count(collect.arms(block), counting)
    levels = _levels(counted, block)
    rows = {entry.arm.id: _row(entry, block, levels, standing.parity_of(block, entry.arm, known)) for entry in counted}
    compared = levels.costs_ns if block.case.per_item else levels.medians_ns
    best, tied = places.assign(rows, compared, margin=margin, sequential=sequential)
    rounds = [round_ for generation in block.generations for round_ in generation.rounds]
    kept = [
        generation.index
        for generation in block.generations
        for round_ in generation.rounds
        if round_.disturbed and (generation.index, round_.index) in counting
    ]
    return TimedBlock(
        case=block.case,
        rows=tuple(sorted(rows.values(), key=places.order)),
        best=best,
        tied=tied,
        unranked_reason="" if best else places.why_nobody(rows.values()),
        generations=sum(bool(generation.rounds) for generation in block.generations),
        rounds=sum(not round_.disturbed for round_ in rounds),
        rounds_disturbed=sum(bool(round_.disturbed) for round_ in rounds),
        rounds_kept=len(kept),
        generations_kept=tuple(sorted(set(kept))),
        disturbances=disturbances.summarise(round_.disturbed for round_ in rounds),
        controls=places.controls(block, compared, sequential=sequential),
    )


def compared(block: Block) -> dict[str, dict[int, float]]:
    """Return what the arms of a block are compared by: the time of a call, or of an item where throughput is asked.

    Returns
    -------
    dict
        Arm to generation to the launch's value, nanoseconds.
    """
    levels = _levels(_count(collect.arms(block), _counting(block)), block)
    return levels.costs_ns if block.case.per_item else levels.medians_ns


def _counting(block: Block) -> set[tuple[int, int]]:
    """Return the rounds that count, each by its generation's number and its own."""
    generations = block.generations
    counts = which_count([[bool(each.disturbed) for each in generation.rounds] for generation in generations])
    return {
        (generation.index, each.index)
        for generation, of_rounds in zip(generations, counts, strict=True)
        for each, counting in zip(generation.rounds, of_rounds, strict=True)
        if counting
    }


def _count(summaries: Sequence[ArmSummary], counting: set[tuple[int, int]]) -> list[_Counted]:
    calm = {
        summary.arm.id: {
            launch.generation: tuple(each for each in launch.windows if (launch.generation, each.round) in counting)
            for launch in summary.launches
        }
        for summary in summaries
    }
    judged = estimates.settling(
        {
            arm: {
                (generation, window.round): window.median_ns
                for generation, windows in launches.items()
                for window in windows
            }
            for arm, launches in calm.items()
        }
    )
    return [_counted(summary, calm[summary.arm.id], judged[summary.arm.id]) for summary in summaries]


def _counted(
    summary: ArmSummary, calm: Mapping[int, tuple[WindowSummary, ...]], judged: Mapping[int, SteadyState]
) -> _Counted:
    warming = {generation: state.left_out for generation, state in judged.items()}
    windows = {generation: entries[warming.get(generation, 0) :] for generation, entries in calm.items() if entries}
    taken = sum(len(launch.windows) for launch in summary.launches)
    return _Counted(
        summary=summary,
        windows=windows,
        warming=tuple((generation, left_out) for generation, left_out in sorted(warming.items()) if left_out),
        counts=Counts(
            launches=len(windows),
            launches_failed=sum(launch.failure is not None for launch in summary.launches),
            windows=sum(map(len, windows.values())),
            windows_disturbed=taken - sum(map(len, calm.values())),
            windows_warming=sum(warming.values()),
            windows_failed=sum(launch.windows_failed for launch in summary.launches),
            launches_unsteady=sum(not state.steady for state in judged.values()),
            calls=sum(window.calls for entries in windows.values() for window in entries),
        ),
    )


def _levels(counted: Sequence[_Counted], block: Block) -> _Levels:
    def item_ns(window: WindowSummary) -> float:
        return window.window_ns / (window.calls * block.case.batch)

    def call_ns(window: WindowSummary) -> float:
        return window.median_ns

    chosen = item_ns if block.case.per_item else call_ns
    return _Levels(
        medians_ns=estimates.levels(_values(counted, call_ns)),
        costs_ns=estimates.levels(_values(counted, item_ns)),
        with_disturbed=estimates.levels(
            {
                entry.arm.id: {
                    (launch.generation, window.round): chosen(window)
                    for launch in entry.summary.launches
                    for window in launch.windows
                }
                for entry in counted
            }
        ),
    )


def _values(
    counted: Sequence[_Counted], value: Callable[[WindowSummary], float]
) -> dict[str, dict[tuple[int, int], float]]:
    return {
        entry.arm.id: {
            (generation, window.round): value(window)
            for generation, windows in entry.windows.items()
            for window in windows
        }
        for entry in counted
    }


def _row(entry: _Counted, block: Block, levels: _Levels, parity: Parity | None) -> Row:
    arm = entry.arm
    stands, reason = standing.judge(
        measured=len(entry.windows),
        parity=parity,
        failures=entry.summary.failures,
        needed=MIN_LAUNCHES,
        started=bool(entry.summary.launches),
    )
    if stands == "ranked" and places.original(arm, block) is not None:
        stands, reason = "control", "the same arm a second time, to see what no difference looks like"
    launches = [launch.launch for launch in entry.summary.launches]
    row = Row(
        arm=arm.id,
        backend=arm.backend,
        version=next((launch.framework_version for launch in launches if launch.framework_version), ""),
        standing=stands,
        reason=reason,
        counts=entry.counts,
        parity=parity,
        failure=entry.summary.failures[-1] if entry.summary.failures else None,
        settings=next((launch.settings for launch in launches if launch.settings), {}),
    )
    if not entry.windows:
        return row
    windows = [window for entries in entry.windows.values() for window in entries]
    calls = summarise(np.concatenate([window.samples_ns for window in windows]))
    medians = list(levels.medians_ns[arm.id].values())
    rates = [1e9 / cost for cost in levels.costs_ns[arm.id].values()]
    everything = levels.with_disturbed[arm.id].values()
    throughput = block.case.per_item
    return msgspec.structs.replace(
        row,
        median_ns=estimates.level(medians),
        launch_medians_ns=tuple(medians),
        warming=entry.warming,
        p90_ns=calls.p90,
        p99_ns=calls.p99,
        items_per_second=estimates.level(rates),
        launch_items_per_second=tuple(rates),
        with_disturbed=(
            estimates.level([1e9 / cost for cost in everything] if throughput else list(everything))
            if entry.counts.windows_disturbed
            else None
        ),
        cpu_cores=sum(window.cpu_ns for window in windows) / sum(window.window_ns for window in windows),
        peak_bytes=_peak_bytes(launches) if block.case.trains else None,
    )


def _peak_bytes(launches: Sequence[Launch]) -> float | None:
    """Return the median over launches of the peak resident memory, which a training's own launches tell of it alone."""
    told = [launch.memory.peak_rss_bytes for launch in launches if launch.memory is not None]
    peaks = [peak for peak in told if not isinstance(peak, Absent)]
    return float(np.median(peaks)) if peaks else None
