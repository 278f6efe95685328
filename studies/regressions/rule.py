"""The rule that says, before `ab` sees a pair, whether its versions differ.

It is fixed here before anything is classified. Processes of the two versions run in pairs, one after the other, and
the interval of their ratio is Student's over the pairs' log ratios, at 99 %. The margin is that of `ab`, so a pair that
is neither surely beyond it nor surely inside it, where `ab` may rightly say either, is not used.
"""

import enum
import math
import random
from collections.abc import Sequence
from typing import Literal

import msgspec

from suite.statistics.ratios import ratio_interval

PROCESSES = 20
"""Of each version."""
CONFIDENCE = 0.99
MARGIN = 0.02
Side = Literal["old", "new"]


class Class(enum.StrEnum):
    """What the bare loop says of a pair."""

    SLOWER = "slower"
    """The whole interval lies above 1 + margin."""
    FASTER = "faster"
    """The whole interval lies below 1 ÷ (1 + margin)."""
    UNCHANGED = "unchanged"
    """The whole interval lies inside the margin."""
    UNDECIDED = "undecided"


class Classified(msgspec.Struct, frozen=True):
    """The class of one pair, and the interval that it follows from."""

    name: Class
    ratio: float
    """New over old."""
    low: float
    high: float


def order(processes: int, seed: int) -> list[Side]:
    """Return in which order the processes run: pairs of neighbours, two of them as ABBA or BAAB, at random."""
    draw = random.Random(seed)  # noqa: S311  (an order, no secret)
    turns: list[Side] = []
    while len(turns) < 2 * processes:
        turns += ["old", "new", "new", "old"] if draw.random() < 1 / 2 else ["new", "old", "old", "new"]
    return turns[: 2 * processes]


def classify(old_ns: Sequence[float], new_ns: Sequence[float], *, margin: float = MARGIN) -> Classified:
    """Class a pair by the medians of its processes.

    Examples
    --------
    >>> found = classify([100, 101, 99, 100, 102, 100], [111, 110, 109, 112, 111, 110])
    >>> found.name, round(found.ratio, 2)
    (<Class.SLOWER: 'slower'>, 1.1)
    """
    logs = [[math.log(each) for each in side] for side in (new_ns, old_ns)]
    found = ratio_interval(logs[0], logs[1], confidence=CONFIDENCE)
    upper, lower = 1 + margin, 1 / (1 + margin)
    if found.low > upper:
        name = Class.SLOWER
    elif found.high < lower:
        name = Class.FASTER
    elif lower < found.low and found.high < upper:
        name = Class.UNCHANGED
    else:
        name = Class.UNDECIDED
    return Classified(name=name, ratio=found.ratio, low=found.low, high=found.high)
