"""The order of a run: whose turn it is, and which cases the same launches answer one after the other."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from suite.outcomes import Outcome
from suite.records.schema import Arm, Block

Sitting: TypeAlias = list[tuple[Block, int]]
"""Blocks, each with the number of its next generation, that the same launches answer one after the other."""


def remaining(blocks: Sequence[Block]) -> list[Sitting]:
    """Return what is left to measure: every block's first generation before any block's second.

    A model's peak memory, latency, throughput and training share their launches, in this order, since to start and to
    load costs more than to measure. A launch is the unit of the statistics of each case all the same: no case has one
    twice.
    """
    sittings: dict[tuple[int, tuple[str, ...]], Sitting] = {}
    for block in blocks:
        complete = sum(generation.complete for generation in block.generations)
        next_index = max((generation.index for generation in block.generations), default=-1) + 1
        for extra in range(max(0, block.planned_generations - complete)):
            sittings.setdefault((complete + extra, _company(block, complete + extra)), []).append(
                (block, next_index + extra)
            )
    return [sitting for _, sitting in sorted(sittings.items(), key=lambda entry: entry[0][0])]


def going_on(arms: Sequence[Arm], living: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Return those of the living that answer the next case too, by arm id.

    An arm that stands twice, as a control does, goes on only if its twin can: the two must have the same past.
    """
    strangers = {_alike(arm) for arm in arms if arm.id not in living}
    wanted = {arm.id for arm in arms if _alike(arm) not in strangers}
    return {name: outcome for name, outcome in living.items() if name in wanted}


def _alike(arm: Arm) -> str:
    """Return what an arm has in common with its twin."""
    return msgspec.structs.replace(arm, ordinal=1, inject="").id


def _company(block: Block, generation: int) -> tuple[str, ...]:
    """Return what blocks have in common whose cases one launch answers.

    A cold start has launches of its own, and so has a training the first time: its peak memory is told with its speed.
    """
    case = block.case
    if case.scenario == "cold-start" or case.converges or (case.trains and generation == 0):
        return (case.id,)
    return (case.model, case.precision, str(case.threads), case.device, str(case.processes))
