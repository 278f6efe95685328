"""Scenarios in which a whole launch is the sample: cold start and peak memory."""

import msgspec

from levelfield.analysis import collect, eligibility
from levelfield.analysis.collect import median
from levelfield.analysis.estimates import level
from levelfield.analysis.types import ColdBlock, ColdRow, MemoryBlock, MemoryRow
from levelfield.record.schema import Absent, Block, Startup


def cold_start(block: Block, known: eligibility.Known) -> ColdBlock:
    """Summarise how long each arm takes to its first answer.

    Making the seeded weights is our own work and counts in no phase. The total's interval is of the sum, launch by
    launch; phases are medians, so they need not add up to it exactly.
    """
    return ColdBlock(case=block.case, rows=tuple(_cold_row(block, arm, known) for arm in collect.arms(block)))


def memory(block: Block, known: eligibility.Known) -> MemoryBlock:
    """Summarise each arm's peak resident memory, with the range over its launches."""
    return MemoryBlock(case=block.case, rows=tuple(_memory_row(block, arm, known) for arm in collect.arms(block)))


def total_ns(startup: Startup) -> int:
    """Sum the phases a user waits for: all but the making of our seeded weights."""
    return startup.start_ns + startup.import_ns + startup.load_ns + _first_call_ns(startup)


def _first_call_ns(startup: Startup) -> int:
    """Return the first call's duration, which every cold start has."""
    return 0 if isinstance(startup.first_call_ns, Absent) else startup.first_call_ns


def _cold_row(block: Block, summary: collect.ArmSummary, known: eligibility.Known) -> ColdRow:
    startups = collect.startups(summary.workers)
    common = eligibility.arm_row(block, summary, known, measured=len(startups), needed=None)
    return ColdRow(
        **msgspec.structs.asdict(common),
        launches=len(startups),
        startups=startups,
        start_ns=median([startup.start_ns for startup in startups]),
        import_ns=median([startup.import_ns for startup in startups]),
        load_ns=median([startup.load_ns for startup in startups]),
        first_call_ns=median([_first_call_ns(startup) for startup in startups]),
        total_ns=level([float(total_ns(startup)) for startup in startups]),
    )


def _memory_row(block: Block, summary: collect.ArmSummary, known: eligibility.Known) -> MemoryRow:
    readings = tuple(launch.memory for launch in summary.workers if launch.memory is not None)
    peaks = collect.peaks_bytes(summary.workers)
    common = eligibility.arm_row(block, summary, known, measured=len(peaks), needed=None)
    unread = [reading.peak_rss_bytes for reading in readings if isinstance(reading.peak_rss_bytes, Absent)]
    if not peaks and not summary.failures and unread:
        common = msgspec.structs.replace(common, reason=unread[-1].reason)
    return MemoryRow(
        **msgspec.structs.asdict(common),
        launches=len(peaks),
        readings=readings,
        source=readings[-1].source if readings else "",
        peak_bytes=median(peaks),
        least_bytes=min(peaks, default=None),
        most_bytes=max(peaks, default=None),
    )
