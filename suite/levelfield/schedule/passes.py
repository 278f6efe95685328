"""How many passes over all cases a run has: a function of the time that they take, and of nothing that they measure."""

import math
from collections.abc import Sequence

import msgspec

from levelfield.plan.profiles import Profile
from levelfield.record.schema import Block, Settings

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
    """Return the clock of a run.

    Whoever names no budget gets the launches that a rank needs, and no more than a reader has use for.
    """
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
