"""The order of a run: whose turn it is, and which cases the same launches answer one after the other."""

from collections.abc import Sequence
from typing import TypeAlias

from suite.plan import ALONE
from suite.records.schema import Block

Sitting: TypeAlias = list[tuple[Block, int]]
"""Blocks, each with the number of its next generation, that the same launches answer one after the other."""


def remaining(blocks: Sequence[Block]) -> list[Sitting]:
    """Return what is left to measure: every block's first generation before any block's second.

    A model's latency and its throughput share their launches, since to start and to load costs more than to measure.
    A launch is the unit of the statistics of each case all the same: no case has one twice.
    """
    sittings: dict[tuple[int, tuple[str, ...]], Sitting] = {}
    for block in blocks:
        complete = sum(generation.complete for generation in block.generations)
        next_index = max((generation.index for generation in block.generations), default=-1) + 1
        for extra in range(max(0, block.planned_generations - complete)):
            sittings.setdefault((complete + extra, _company(block)), []).append((block, next_index + extra))
    return [sitting for _, sitting in sorted(sittings.items(), key=lambda entry: entry[0][0])]


def _company(block: Block) -> tuple[str, ...]:
    """Return what blocks have in common whose cases one launch answers; a case of launches alone has its own."""
    case = block.case
    if case.scenario in ALONE:
        return (case.id,)
    return (case.model, case.precision, str(case.threads), case.device)
