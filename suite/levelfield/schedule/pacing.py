"""How much a run measures, and in which order: rounds of a launch, passes over all cases, and who shares a launch.

Rounds are worth their time where the variance lies between windows, launches where it lies between launches (Kalibera &
Jones 2013). What looks at results (rounds) is called between generations only; passes are decided by time alone.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from levelfield.analysis import launch_levels
from levelfield.plan.profiles import Profile
from levelfield.record.schema import Arm, Block, Settings
from levelfield.schedule.outcomes import Outcome
from levelfield.statistics.arrays import InsufficientData
from levelfield.statistics.power import VarianceSplit, optimal_rounds, split_variance

FEWEST_ROUNDS = 2
"""Below this a launch cannot show its own spread between windows."""
MOST_ROUNDS = 24
"""Launch effects dominate long before; more would only delay the next look at the budget."""


TYPICAL = VarianceSplit(launch_sd=0.03, window_sd=0.048, round_sd=0.01, generations=0, rounds=0, arms=0)
"""Where the variance lies on a shared two-core machine, until a block shows its own: the medians over the 16 cases of
three default runs of November 2026. Windows of a launch vary 1.6 times as much as launches."""
WEIGHT = 4
"""Generations that `TYPICAL` counts for: of a few, the estimate of a variance between launches may be zero."""


def split(block: Block) -> VarianceSplit:
    """Return where a block's variance lies: `TYPICAL` at first, and more and more what the block itself shows."""
    try:
        own = split_variance(launch_levels.reduce(block).log_counted)
    except InsufficientData:
        return TYPICAL
    share = own.generations / (own.generations + WEIGHT)

    def between(typical: float, found: float) -> float:
        return math.sqrt((1 - share) * typical**2 + share * found**2)

    return msgspec.structs.replace(
        own, launch_sd=between(TYPICAL.launch_sd, own.launch_sd), window_sd=between(TYPICAL.window_sd, own.window_sd)
    )


def rounds_for(block: Block, *, launch_s: float, window_s: float) -> int:
    """Return how many rounds the next generation of a block is worth.

    `launch_s`, `window_s`: what one arm's launch and one of its windows cost, in seconds; zero: not known yet, or
    nothing.
    """
    if launch_s <= 0 or window_s <= 0:
        return FEWEST_ROUNDS
    best = optimal_rounds(split(block), launch_seconds=launch_s, window_seconds=window_s)
    return min(max(best, FEWEST_ROUNDS), MOST_ROUNDS)


def rounds_within(rounds: int, *, seconds: float, launch_s: float, round_s: float) -> int:
    """Return how many rounds fit into a generation's share of a budget, seconds: launches come before rounds."""
    if round_s <= 0 or math.isinf(seconds):
        return rounds
    return int(min(rounds, max(FEWEST_ROUNDS, (seconds - launch_s) // round_s)))


FIRST_LOOK_S = 30.0
"""What `ab` measures before its first look: launches within less time may share one state of the machine."""
SLOWER = 1.25
"""A pass may take so many times as long as the one before it."""


class Clock(msgspec.Struct, frozen=True):
    """What decides by time alone how many passes there are."""

    seconds: float
    """No pass is begun that would end later."""
    fewest: int
    """Passes that are made in any case."""
    most: int | None
    """None: as many as there is time for."""

    def another(self, taken: int, spent_s: float, pass_s: float) -> bool:
        """Return whether another pass is begun."""
        if taken < self.fewest:
            return True
        return (self.most is None or taken < self.most) and spent_s + pass_s <= self.seconds

    def may_be_last(self, taken: int, spent_s: float, pass_s: float) -> bool:
        """Return whether none may follow the pass that begins now, should it take up to `SLOWER` times as long."""
        slow_s = SLOWER * pass_s
        return not self.another(taken + 1, spent_s + slow_s, slow_s)

    def rest_s(self, taken: int, spent_s: float, pass_s: float, *, planned_s: float) -> float:
        """Return how long the rest of a run may take, in seconds."""
        left_s = max(0.0, self.seconds - spent_s)
        if self.most is not None:
            left_s = min(left_s, (self.most - taken) * pass_s)
        return max(left_s, planned_s) if self.fewest > 1 else left_s


def clock(profile: Profile, settings: Settings, blocks: Sequence[Block]) -> Clock:
    """Return the clock of a run: who names no budget gets the launches that a rank needs."""
    planned = max((block.planned_generations for block in blocks), default=0)
    budget_s = settings.budget_seconds
    if settings.clock_seconds is not None:
        if budget_s is not None:
            return Clock(budget_s, fewest=1, most=None)
        return Clock(settings.clock_seconds, fewest=planned, most=max(planned, profile.most_generations))
    return Clock(math.inf if budget_s is None else budget_s, fewest=1, most=planned)


def apart_s(
    profile: Profile, settings: Settings, *, passes_left: int, spent_s: float, longest_s: float, alone: bool
) -> float:
    """Return how far apart generations of a case lie: pauses cost a verdict no time, and a budget no planned launch."""
    if alone and (settings.ends_on_verdict or settings.precision_target is not None):
        return 0.0
    if settings.budget_seconds is None or passes_left < 1:
        return profile.apart_seconds
    left_s = (settings.budget_seconds - spent_s) / passes_left - longest_s
    return min(profile.apart_seconds, max(0.0, left_s))


def completed(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks of a run by the clock that goes on, the pass in which it was cut off planned for all."""
    most = max((sum(each.complete for each in block.generations) for block in blocks if block.case.timed), default=0)
    return tuple(
        msgspec.structs.replace(block, planned_generations=max(block.planned_generations, most))
        if block.case.timed
        else block
        for block in blocks
    )


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
    """Return passes with the cases alone, from the first, that there is time for in all of these passes.

    `seconds`: what the last generation of each case took, by its id.
    """
    kept: set[tuple[str, ...]] = set()
    for kind in dict.fromkeys(_kind(group) for each in passes for group in each.groups):
        groups = [group for each in passes for group in each.groups if _kind(group) == kind]
        needed_s = sum(seconds.get(block.case.id, 0.0) for group in groups for block, _ in group)
        if needed_s <= left_s:
            left_s -= needed_s
            kept.add(kind)
    left = [Pass(each.number, [group for group in each.groups if _kind(group) in kept]) for each in passes]
    return [each for each in left if each.groups]


def after(passes: Sequence[Pass], made: Pass, blocks: Sequence[Block]) -> list[Pass]:
    """Return what is left of passes after one, in the order of blocks: generations that it left out move up."""
    found: list[Pass] = []
    in_it = set(map(_kind, made.groups))
    for kind in dict.fromkeys(map(_arms_of, blocks)):
        own = [Pass(each.number, [group for group in each.groups if _kind(group) == kind]) for each in passes]
        for position, each in enumerate([each for each in own if each.groups][kind in in_it :]):
            if position == len(found):
                found.append(each)
            else:
                found[position] = Pass(
                    max(each.number, found[position].number), [*found[position].groups, *each.groups]
                )
    return found


def _kind(group: LaunchGroup) -> tuple[str, ...]:
    return _arms_of(group[0][0])


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


def expected_loads_ns(seen: Mapping[tuple[str, str], float], model: str, arms: Sequence[str]) -> dict[str, float]:
    """Return how long arms took to load a model last time, in nanoseconds; a model that is new: another model.

    `seen`: by model and arm.
    """
    others = {arm: load_ns for (_, arm), load_ns in seen.items()}
    own = {arm: load_ns for (which, arm), load_ns in seen.items() if which == model}
    return {arm: (others | own)[arm] for arm in arms if arm in others}


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
