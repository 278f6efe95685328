"""Scenarios in which a whole launch is the sample: cold start and peak memory."""

import msgspec
import numpy as np

from suite.analysis import eligibility
from suite.analysis.estimates import level
from suite.analysis.types import ColdBlock, ColdRow, MemoryBlock, MemoryRow
from suite.record.schema import Absent, Arm, Block, Launch, Startup


def cold_start(block: Block, known: eligibility.Known) -> ColdBlock:
    """Summarise how long each arm takes to its first answer.

    Making the seeded weights is our own work and counts in no phase. The total's interval is of the sum, launch by
    launch; phases are medians, so they need not add up to it exactly.

    Parameters
    ----------
    block
        A block of cold starts.
    known
        Parities from anywhere in the run by question, precision and arm, for arms that were not compared in this block.
    """
    return ColdBlock(case=block.case, rows=tuple(_cold_row(block, arm, known) for arm in _arms(block)))


def memory(block: Block, known: eligibility.Known) -> MemoryBlock:
    """Summarise each arm's peak resident memory, with the range over its launches.

    Parameters
    ----------
    block, known
        A block of peak memory; `known` as in `cold_start`.
    """
    return MemoryBlock(case=block.case, rows=tuple(_memory_row(block, arm, known) for arm in _arms(block)))


def total_ns(startup: Startup) -> int:
    """Sum the phases a user waits for: all but the making of our seeded weights."""
    return startup.start_ns + startup.import_ns + startup.load_ns + _first_call_ns(startup)


def _first_call_ns(startup: Startup) -> int:
    """Return the first call's duration, which every cold start has."""
    return 0 if isinstance(startup.first_call_ns, Absent) else startup.first_call_ns


def _arms(block: Block) -> tuple[Arm, ...]:
    return tuple(arm for arm in block.arms if arm.id != block.canary)


def _launches(block: Block, arm: Arm) -> list[Launch]:
    return [launch for generation in block.generations for launch in generation.launches if launch.arm == arm.id]


def _cold_row(block: Block, arm: Arm, known: eligibility.Known) -> ColdRow:
    launches = _launches(block, arm)
    startups = tuple(launch.startup for launch in launches if launch.startup is not None and launch.failure is None)
    failures = [launch.failure for launch in launches if launch.failure is not None]
    parity = eligibility.parity_of(block, arm, known)
    stands, reason = eligibility.assess(
        measured=len(startups), parity=parity, failures=failures, needed=None, started=bool(launches)
    )
    row = ColdRow(
        arm=arm.id,
        backend=arm.backend,
        standing=stands,
        reason=reason,
        launches=len(startups),
        parity=parity,
        failure=failures[-1] if failures else None,
        startups=startups,
    )
    if not startups:
        return row
    return msgspec.structs.replace(
        row,
        start_ns=float(np.median([startup.start_ns for startup in startups])),
        import_ns=float(np.median([startup.import_ns for startup in startups])),
        load_ns=float(np.median([startup.load_ns for startup in startups])),
        first_call_ns=float(np.median([_first_call_ns(startup) for startup in startups])),
        total_ns=level([float(total_ns(startup)) for startup in startups]),
    )


def _memory_row(block: Block, arm: Arm, known: eligibility.Known) -> MemoryRow:
    launches = _launches(block, arm)
    readings = tuple(launch.memory for launch in launches if launch.memory is not None)
    peaks = [reading.peak_rss_bytes for reading in readings if not isinstance(reading.peak_rss_bytes, Absent)]
    failures = [launch.failure for launch in launches if launch.failure is not None]
    parity = eligibility.parity_of(block, arm, known)
    stands, reason = eligibility.assess(
        measured=len(peaks), parity=parity, failures=failures, needed=None, started=bool(launches)
    )
    unread = [reading.peak_rss_bytes for reading in readings if isinstance(reading.peak_rss_bytes, Absent)]
    if not peaks and not failures and unread:
        reason = unread[-1].reason
    return MemoryRow(
        arm=arm.id,
        backend=arm.backend,
        standing=stands,
        reason=reason,
        launches=len(peaks),
        parity=parity,
        failure=failures[-1] if failures else None,
        readings=readings,
        source=readings[-1].source if readings else "",
        peak_bytes=float(np.median(peaks)) if peaks else None,
        least_bytes=float(min(peaks)) if peaks else None,
        most_bytes=float(max(peaks)) if peaks else None,
    )
