"""The order of a run: which generation is next, and which cases the same launches answer one after the other."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from levelfield.record.schema import Arm, Block
from levelfield.schedule.outcomes import Outcome

Entry: TypeAlias = tuple[Block, int]
"""A block, and the number of its next generation."""
LaunchGroup: TypeAlias = list[Entry]
"""What the same launches answer, one after the other."""


class Pass(msgspec.Struct, frozen=True):
    """One generation of every case that is measured in it: the cases of one launch group after those of another."""

    number: int
    """From 0; of a run that goes on, the first has the number of the pass that was cut off."""
    groups: list[LaunchGroup]


def remaining_passes(blocks: Sequence[Block]) -> list[Pass]:
    """Return what is left to measure as planned: every block's first generation before any block's second.

    A model's latency, throughput and training share their launches, in this order, since to start and to load costs
    more than to measure. Where the beginning of a launch is itself measured (a cold start, peak memory, the peak of a
    training) it comes first in its group, one of these in each: what a launch does afterwards changes nothing of what
    was read before. A launch is the unit of the statistics of each case all the same: no case has one twice.
    """
    numbered = [entry for together in by_launch(blocks) for entry in _grouped(together)]
    passes: dict[int, list[LaunchGroup]] = {}
    for number, group in sorted(numbered, key=lambda entry: entry[0]):
        passes.setdefault(number, []).append(group)
    return [Pass(*each) for each in passes.items()]


def further_pass(blocks: Sequence[Block]) -> Pass:
    """Return one more generation of each of these blocks."""
    groups = [[(block, _next_index(block)) for block in together] for together in by_launch(blocks)]
    return Pass(max((len(block.generations) for block in blocks), default=0), groups)


def fitting(passes: Sequence[Pass], seconds: Mapping[str, float], left_s: float) -> list[Pass]:
    """Return passes with as many of their groups, from the first, as there is time for in all of these passes."""

    def needed_s(count: int) -> float:
        entries = (entry for each in passes for group in each.groups[:count] for entry in group)
        return sum(seconds.get(block.case.id, 0.0) for block, _ in entries)

    most = max((len(each.groups) for each in passes), default=0)
    count = next((count for count in range(most, 0, -1) if needed_s(count) <= left_s), most)
    return [msgspec.structs.replace(each, groups=each.groups[:count]) for each in passes]


def by_launch(blocks: Sequence[Block]) -> list[list[Block]]:
    """Return blocks whose cases the same launches answer, together, in the order of the first of each."""
    found: dict[tuple[str, ...], list[Block]] = {}
    for block in blocks:
        found.setdefault(_arms_of(block), []).append(block)
    return list(found.values())


def _grouped(blocks: Sequence[Block]) -> list[tuple[int, LaunchGroup]]:
    """Return the launch groups of blocks that have the same arms, each with the number of its turn."""
    groups: dict[int, LaunchGroup] = {}
    first_calls: list[tuple[int, Entry]] = []
    for block in blocks:
        if block.case.definition.first_calls:
            first_calls += _to_come(block)
            continue
        for turn, entry in _to_come(block):
            groups.setdefault(turn, []).append(entry)
    own: list[tuple[int, LaunchGroup]] = []
    free = sorted(groups)
    for turn, entry in sorted(first_calls, key=lambda each: each[0]):
        if free:
            groups[free.pop(0)].insert(0, entry)
        else:
            own.append((turn, [entry]))
    for block in blocks:
        if block.case.trains and not _peak_is_known(block):
            entries = {turn: entry for turn, group in groups.items() for entry in group if entry[0] is block}
            begin = next((turn for turn in free if turn in entries), None)
            if begin is not None:
                free.remove(begin)
                groups[begin].sort(key=lambda each: each is not entries[begin])  # it comes first
            elif entries:
                turn = min(entries)
                groups[turn].remove(entries[turn])
                own.append((turn, [entries[turn]]))
    return sorted([*own, *groups.items()], key=lambda each: each[0])


def _to_come(block: Block) -> list[tuple[int, Entry]]:
    """Return what is left of a block: the turn of each generation, counting complete ones, and its number."""
    complete = sum(generation.complete for generation in block.generations)
    next_index = _next_index(block)
    left = max(0, block.planned_generations - complete)
    return [(complete + extra, (block, next_index + extra)) for extra in range(left)]


def _next_index(block: Block) -> int:
    return max((generation.index for generation in block.generations), default=-1) + 1


def _peak_is_known(block: Block) -> bool:
    """Say whether every arm has had a launch that did nothing before it trained."""
    complete = [generation for generation in block.generations if generation.complete]
    fresh = {launch.arm for generation in complete for launch in generation.launches if not launch.served}
    return bool(complete) and fresh.issuperset(arm.id for arm in block.arms)


def reusable_workers(arms: Sequence[Arm], running: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Return the workers that are reused for the next case.

    A worker of an arm that occurs twice, as a control does, is reused only if that of its twin can be: both must have
    the same past.
    """
    unmatched = {_alike(arm) for arm in arms if arm.id not in running}
    reused = {arm.id for arm in arms if _alike(arm) not in unmatched}
    return {name: outcome for name, outcome in running.items() if name in reused}


def _alike(arm: Arm) -> str:
    """Return what an arm has in common with its twin."""
    return msgspec.structs.replace(arm, ordinal=1, inject="").id


def _arms_of(block: Block) -> tuple[str, ...]:
    """Return what blocks have in common whose cases one launch answers; a training to a target has its own launches."""
    case = block.case
    if case.converges:
        return (case.id,)
    return (case.launched_for, case.precision, str(case.threads), case.device, str(case.processes))
