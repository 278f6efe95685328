"""What peak memory leaves of a worker's limit, and of the machine's memory."""

from collections.abc import Iterable

from levelfield.analysis.types import BlockAnalysis, Headroom, MemoryBlock
from levelfield.record.schema import Run


def derive(run: Run, blocks: Iterable[BlockAnalysis]) -> tuple[Headroom, ...]:
    """Return the smallest and the largest peak of every memory case, with the known limits."""
    machine = run.machine.get("memory", {}).get("total bytes")
    limit = run.settings.worker_memory_bytes
    works = {(work.model, work.batch): work for work in run.work if not work.question}
    found: list[Headroom] = []
    for block in blocks:
        if not isinstance(block, MemoryBlock):
            continue
        peaks = {
            row.arm: row.peak_bytes
            for row in block.rows
            if row.peak_bytes is not None and row.peak_bytes > 0 and row.standing == "shown"
        }
        if not peaks:
            continue
        least, most = min(peaks, key=peaks.__getitem__), max(peaks, key=peaks.__getitem__)
        work = works.get((block.case.model, block.case.batch))
        found.append(
            Headroom(
                case=block.case,
                least_arm=least,
                least_bytes=peaks[least],
                most_arm=most,
                most_bytes=peaks[most],
                limit_bytes=limit if limit is not None and limit > 0 else None,
                machine_bytes=machine if isinstance(machine, int) and machine > 0 else None,
                weight_bytes=work.weight_bytes if work is not None else None,
            )
        )
    return tuple(found)
