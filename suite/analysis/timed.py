"""The `latency` and `throughput` scenarios: windows in interleaved rounds, summarised launch by launch."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from suite.analysis import collect, estimates, standing
from suite.analysis.collect import ArmSummary, WindowSummary
from suite.analysis.types import Control, Counts, Estimate, Row, TimedBlock
from suite.records.schema import Arm, Block, Parity
from suite.statistics import ranking
from suite.statistics.steady import SteadyState
from suite.statistics.student import MIN_LAUNCHES
from suite.statistics.windows import summarise

Known = Mapping[tuple[str, str, str], Parity]
"""(model, precision, arm) to the parity that speaks for it."""


@dataclass(frozen=True)
class _Counted:
    """One arm's windows that count, by generation, and what was left out."""

    summary: ArmSummary
    windows: dict[int, tuple[WindowSummary, ...]]
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


def analyse(block: Block, known: Known, margin: float) -> TimedBlock:
    """Summarise and rank a block.

    Every launch is reduced to one number, its windows' typical median with the rounds' common drift removed; the launch
    is the unit of replication. Rounds that outside signals called disturbed are left out (in a generation that has no
    other, they are kept).

    Parameters
    ----------
    known
        Parity of each arm, for blocks whose own launches did not compare.
    margin
        Relative slowdown against the best that does not matter.
    """
    counted = _count(collect.arms(block))
    levels = _levels(counted, block)
    rows = {entry.arm.id: _row(entry, block, levels, standing.parity_of(block, entry.arm, known)) for entry in counted}
    compared = levels.costs_ns if block.case.scenario == "throughput" else levels.medians_ns
    best, tied = _rank(rows, compared, margin)
    rounds = [round_ for generation in block.generations for round_ in generation.rounds]
    return TimedBlock(
        case=block.case,
        rows=tuple(sorted(rows.values(), key=_order)),
        best=best,
        tied=tied,
        unranked_reason="" if best else _why_nobody(rows.values()),
        generations=sum(bool(generation.rounds) for generation in block.generations),
        rounds=sum(not round_.disturbed for round_ in rounds),
        rounds_disturbed=sum(bool(round_.disturbed) for round_ in rounds),
        disturbances=tuple(dict.fromkeys(round_.disturbed for round_ in rounds if round_.disturbed)),
        controls=_controls(block, compared),
    )


def _count(summaries: Sequence[ArmSummary]) -> list[_Counted]:
    calm = {
        summary.arm.id: {launch.generation: _calm(launch.windows) for launch in summary.launches}
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


def _calm(windows: tuple[WindowSummary, ...]) -> tuple[WindowSummary, ...]:
    return tuple(window for window in windows if not window.disturbed) or windows


def _counted(
    summary: ArmSummary, calm: Mapping[int, tuple[WindowSummary, ...]], judged: Mapping[int, SteadyState]
) -> _Counted:
    warming = {generation: state.left_out for generation, state in judged.items()}
    windows = {generation: entries[warming.get(generation, 0) :] for generation, entries in calm.items() if entries}
    taken = sum(len(launch.windows) for launch in summary.launches)
    return _Counted(
        summary=summary,
        windows=windows,
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

    chosen = item_ns if block.case.scenario == "throughput" else call_ns
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
    if stands == "ranked" and _original(arm, block) is not None:
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
    throughput = block.case.scenario == "throughput"
    return msgspec.structs.replace(
        row,
        median_ns=estimates.level(medians),
        launch_medians_ns=tuple(medians),
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
    )


def _rank(
    rows: dict[str, Row], compared: dict[str, dict[int, float]], margin: float
) -> tuple[str | None, tuple[str, ...]]:
    """Give the rankable rows their ranks, in place; return the leader and those that tie with it."""
    arms = [arm for arm, row in rows.items() if row.standing == "ranked"]
    if not arms:
        return None, ()
    # How many generations there are was decided before the run, or by its budget, never by how narrow an interval is.
    standings = ranking.rank(estimates.matrix({arm: compared[arm] for arm in arms}), margin=margin, sequential=False)
    for place in standings:
        arm = arms[place.arm]
        if place.rank is None or place.ratio is None:
            rows[arm] = msgspec.structs.replace(rows[arm], standing="shown", reason=(place.reason or "").rstrip("."))
        else:
            rows[arm] = msgspec.structs.replace(
                rows[arm],
                rank=place.rank,
                ratio=Estimate(place.ratio, place.low, place.high),
                verdict=place.verdict,
            )
    leaders = [arms[place.arm] for place in standings if place.in_best_set]
    return (leaders[0], tuple(leaders[1:])) if leaders else (None, ())


def _original(arm: Arm, block: Block) -> str | None:
    """Return the arm that this one repeats, or None where it stands for itself."""
    if arm.ordinal == 1:
        return None
    first = msgspec.structs.replace(arm, ordinal=1)
    return first.id if first in block.arms else None


def _controls(block: Block, compared: dict[str, dict[int, float]]) -> tuple[Control, ...]:
    found: list[Control] = []
    for arm in block.arms:
        original = _original(arm, block)
        if original is None or original not in compared or arm.id not in compared:
            continue
        ratio = estimates.ratio(compared[arm.id], compared[original])
        if ratio is not None:
            found.append(Control(arm=arm.id, of=original, ratio=ratio))
    return tuple(found)


_STANDINGS = ("ranked", "control", "shown", "unequal", "failed", "absent")


def _order(row: Row) -> tuple[int, int, float]:
    """Ranked first, best first; the others keep the order of the plan, so that nothing unranked looks ranked."""
    return _STANDINGS.index(row.standing), row.rank or 0, row.ratio.value if row.ratio else 0.0


def _why_nobody(rows: Iterable[Row]) -> str:
    shown = [row.reason for row in rows if row.standing == "shown"]
    if shown:
        return Counter(shown).most_common(1)[0][0]
    return "no arm gave an answer equal to the reference"
