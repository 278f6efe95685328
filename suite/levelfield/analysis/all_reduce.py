"""How fast the engines of training sum over processes: time and bandwidth of one vector as long as all gradients.

References
----------
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md (algorithm and bus bandwidth)
"""

from collections.abc import Iterator

import msgspec
import numpy as np

from levelfield.record.schema import AllReduce, Case, Run


class AllReduceRow(msgspec.Struct, frozen=True):
    """One arm of one case."""

    arm: str
    backend: str
    launches: int
    median_ns: float
    """Median over launches of their own medians."""
    lowest_ns: float
    highest_ns: float
    """Of the launches' medians."""
    bus_bytes_per_s: float
    """What each process sends, and receives, in a second if the vector goes round a ring: 2·(n - 1)/n of its length."""


class AllReduceBlock(msgspec.Struct, frozen=True):
    case: Case
    vector_bytes: int
    rows: tuple[AllReduceRow, ...]


def summarise(run: Run) -> tuple[AllReduceBlock, ...]:
    """Return a summary of every training whose engines were asked; empty where there is none."""
    return tuple(_blocks(run))


def _blocks(run: Run) -> Iterator[AllReduceBlock]:
    for block in run.blocks:
        found = [
            (launch.arm, launch.all_reduce)
            for generation in block.generations
            for launch in generation.launches
            if isinstance(launch.all_reduce, AllReduce) and launch.all_reduce.samples_ns
        ]
        if not found:
            continue
        processes = block.case.processes
        vector_bytes = found[0][1].vector_bytes
        rows = []
        for arm in block.arms:
            medians = [float(np.median(each.samples_ns)) for name, each in found if name == arm.id]
            if medians:
                median_ns = float(np.median(medians))
                sent_bytes = 2 * (processes - 1) / processes * vector_bytes
                rows.append(
                    AllReduceRow(
                        arm=arm.id,
                        backend=arm.backend,
                        launches=len(medians),
                        median_ns=median_ns,
                        lowest_ns=min(medians),
                        highest_ns=max(medians),
                        bus_bytes_per_s=1e9 * sent_bytes / median_ns if median_ns > 0 else 0.0,
                    )
                )
        yield AllReduceBlock(block.case, vector_bytes, tuple(rows))
