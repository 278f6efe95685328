"""The `latency`, `throughput` and `training` scenarios: windows in interleaved rounds, summarised launch by launch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from suite.analysis import disturbances, eligibility, estimates, ranks
from suite.analysis.collect import ArmSummary, WindowSummary
from suite.analysis.launch_levels import Reduction, how_precise, reduce
from suite.analysis.types import Counts, Row, SlowStart, TimedBlock
from suite.record.schema import Absent, Arm, Block, Launch, Parity
from suite.statistics.stopping import DEFAULT_TARGET
from suite.statistics.student import MIN_LAUNCHES
from suite.statistics.warming import Start
from suite.statistics.windows import tails


@dataclass(frozen=True)
class _Counted:
    """One arm's windows that count, by generation, and what was left out."""

    summary: ArmSummary
    windows: dict[int, tuple[WindowSummary, ...]]
    warming: tuple[tuple[int, int], ...]
    start: Start
    counts: Counts

    @property
    def arm(self) -> Arm:
        return self.summary.arm


def analyse(block: Block, known: eligibility.Known, *, margin: float, sequential: bool) -> TimedBlock:
    """Summarise and rank a block.

    Every launch is reduced to one number, its windows' typical median with the rounds' common drift removed; the launch
    is the unit of replication. Rounds that outside signals called disturbed are left out, where enough others are there
    (`suite.statistics.calm`).

    Parameters
    ----------
    block
        A block that is timed in windows.
    known
        Parity of each arm, for blocks whose own launches did not compare.
    margin
        Relative difference that does not matter.
    sequential
        Whether precision was allowed to end the run; intervals are wider then.
    """
    found = reduce(block)
    counted = [_count(found, number) for number in range(len(found.arms))]
    rows = {entry.arm.id: _row(entry, found, eligibility.parity_of(block, entry.arm, known)) for entry in counted}
    compared = found.compared
    best, also_first = ranks.assign(rows, compared, margin=margin, sequential=sequential)
    rounds = [round_ for generation in block.generations for round_ in generation.rounds]
    kept = [
        generation.index
        for place, generation in enumerate(block.generations)
        for column, round_ in enumerate(generation.rounds)
        if round_.disturbed and found.counting.rounds[place, column]
    ]
    return TimedBlock(
        case=block.case,
        rows=tuple(sorted(rows.values(), key=ranks.order)),
        best=best,
        also_first=also_first,
        unranked_reason="" if best else ranks.why_nobody(rows.values()),
        generations=sum(bool(generation.rounds) for generation in block.generations),
        rounds=sum(not round_.disturbed for round_ in rounds),
        rounds_disturbed=sum(bool(round_.disturbed) for round_ in rounds),
        rounds_kept=len(kept),
        generations_kept=tuple(sorted(set(kept))),
        disturbances=disturbances.summarise(round_.disturbed for round_ in rounds),
        controls=ranks.controls(block, compared, sequential=sequential),
        half_width=how_precise(found.matrix, target=DEFAULT_TARGET).half_width if sequential else None,
    )


def _count(found: Reduction, number: int) -> _Counted:
    """Sort the windows of the arm with this number into those that count and those that do not."""
    summary, counting = found.arms[number], found.counting
    windows: dict[int, tuple[WindowSummary, ...]] = {}
    warming: list[tuple[int, int]] = []
    disturbed = 0
    for launch in summary.launches:
        calm = [each for each in launch.windows if counting.rounds[found.places[launch.generation, each.round]]]
        disturbed += len(launch.windows) - len(calm)
        kept = tuple(each for each in calm if found.counts(number, launch, each))
        if kept:
            windows[launch.generation] = kept
        if len(kept) < len(calm):
            warming.append((launch.generation, len(calm) - len(kept)))
    return _Counted(
        summary=summary,
        windows=windows,
        warming=tuple(sorted(warming)),
        start=counting.starts[number],
        counts=Counts(
            launches=len(windows),
            launches_failed=sum(launch.failure is not None for launch in summary.launches),
            windows=sum(map(len, windows.values())),
            windows_disturbed=disturbed,
            windows_warming=sum(left_out for _, left_out in warming),
            windows_failed=sum(launch.windows_failed for launch in summary.launches),
            launches_unsteady=sum(state is not None and not state.steady for state in counting.steady[number]),
            calls=sum(window.calls for entries in windows.values() for window in entries),
        ),
    )


def _row(entry: _Counted, found: Reduction, parity: Parity | None) -> Row:
    arm, block = entry.arm, found.block
    stands, reason = eligibility.assess(
        measured=len(entry.windows),
        parity=parity,
        failures=entry.summary.failures,
        needed=MIN_LAUNCHES,
        started=bool(entry.summary.launches),
    )
    if stands == "ranked" and ranks.original(arm, block) is not None:
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
    p90_ns, p99_ns = tails(np.concatenate([window.samples_ns for window in windows]))
    medians = list(found.median_ns[arm.id].values())
    rates = [1e9 / cost for cost in found.item_ns[arm.id].values()]
    everything = found.with_disturbed[arm.id].values()
    throughput = block.case.per_item
    return msgspec.structs.replace(
        row,
        median_ns=estimates.level(medians),
        launch_medians_ns=tuple(medians),
        warming=entry.warming,
        slow_start=(
            SlowStart(entry.start.slow_rounds, math.expm1(entry.start.excess), settled=entry.start.settled)
            if entry.start.excess is not None
            else None
        ),
        p90_ns=p90_ns,
        p99_ns=p99_ns,
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
