"""Whole launches: cold start and peak memory as samples, and what one more generation would cost in time."""

import msgspec

from levelfield.analysis import collect, ranks
from levelfield.analysis.collect import median
from levelfield.analysis.estimates import level
from levelfield.analysis.types import ColdBlock, ColdRow, MemoryBlock, MemoryRow
from levelfield.record.schema import Absent, Block, Startup


def cold_start(block: Block, known: ranks.Known) -> ColdBlock:
    """Summarise how long each arm takes to its first answer.

    Making the seeded weights is our own work and counts in no phase. The total's interval is of the sum, launch by
    launch; phases are medians, so they need not add up to it exactly.
    """
    return ColdBlock(case=block.case, rows=tuple(_cold_row(block, arm, known) for arm in collect.arms(block)))


def memory(block: Block, known: ranks.Known) -> MemoryBlock:
    """Summarise each arm's peak resident memory, with the range over its launches."""
    return MemoryBlock(case=block.case, rows=tuple(_memory_row(block, arm, known) for arm in collect.arms(block)))


def total_ns(startup: Startup) -> int:
    """Sum the phases a user waits for: all but the making of our seeded weights."""
    return startup.start_ns + startup.import_ns + startup.load_ns + _first_call_ns(startup)


def _first_call_ns(startup: Startup) -> int:
    """Return the first call's duration, which every cold start has."""
    return 0 if isinstance(startup.first_call_ns, Absent) else startup.first_call_ns


def _cold_row(block: Block, summary: collect.ArmSummary, known: ranks.Known) -> ColdRow:
    startups = collect.startups(summary.workers)
    totals = [float(total_ns(startup)) for startup in startups]
    common = ranks.arm_row(block, summary, known, measured=len(startups), needed=None)
    return ColdRow(
        **msgspec.structs.asdict(common),
        launches=len(startups),
        launch_totals_ns=tuple(totals),
        start_ns=median([startup.start_ns for startup in startups]),
        import_ns=median([startup.import_ns for startup in startups]),
        load_ns=median([startup.load_ns for startup in startups]),
        first_call_ns=median([_first_call_ns(startup) for startup in startups]),
        total_ns=level(totals),
    )


def _memory_row(block: Block, summary: collect.ArmSummary, known: ranks.Known) -> MemoryRow:
    readings = tuple(launch.memory for launch in summary.workers if launch.memory is not None)
    peaks = collect.peaks_bytes(summary.workers)
    common = ranks.arm_row(block, summary, known, measured=len(peaks), needed=None)
    unread = [reading.peak_rss_bytes for reading in readings if isinstance(reading.peak_rss_bytes, Absent)]
    if not peaks and not summary.failures and unread:
        common = msgspec.structs.replace(common, reason=unread[-1].reason)
    return MemoryRow(
        **msgspec.structs.asdict(common),
        launches=len(peaks),
        launch_peaks_bytes=tuple(peaks),
        source=readings[-1].source if readings else "",
        peak_bytes=median(peaks),
        least_bytes=min(peaks, default=None),
        most_bytes=max(peaks, default=None),
    )


def generation_seconds(block: Block) -> float:
    """Return about how long one more generation of a block would take; zero where it has none yet.

    It counts what the record holds: start-up, warm-up, and the turns. A turn lasts as long as the supervisor measured,
    with the unrecorded calls before its window: these are not added up, since a page does not carry all of them.
    """
    if not block.generations:
        return 0.0
    spent_ns = 0
    for generation in block.generations:
        for launch in generation.launches:
            if launch.startup is not None and launch.arm != block.canary:
                spent_ns += total_ns(launch.startup) + launch.startup.weights_ns
                spent_ns += sum(window.window_ns for window in launch.warmup)
            if launch.convergence is not None and launch.convergence.points:
                spent_ns += launch.convergence.points[-1].elapsed_ns
        for turn in (turn for each in generation.rounds for turn in each.turns):
            if turn.window is not None:
                spent_ns += turn.noise.elapsed_ns if turn.noise is not None else turn.window.window_ns
                spent_ns += sum(wait.waited_ns for wait in (turn.settling, turn.settled) if wait is not None)
    return spent_ns / 1e9 / len(block.generations)
