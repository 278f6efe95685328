"""The two records: the classes by the bare loop, and what `ab` made of the pairs whose class is known."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from studies.ab import AbRecord, Decision, decision
from studies.record import Extensible
from studies.regressions.pairs import Frozen, Pair
from studies.regressions.rule import Class, Classified, Side
from suite.compare.types import Comparison, Verdict
from suite.statistics.proportions import Proportion, proportion

DIFFERENT = frozenset({Verdict.FASTER, Verdict.SLOWER})


class Process(msgspec.Struct, frozen=True):
    """One process of the bare loop."""

    side: Side
    median_ns: float
    calls: int


class Measured(msgspec.Struct, frozen=True):
    """One pair, classified."""

    pair: Pair
    model_sha256: str
    """Of the ONNX file."""
    started: str
    seconds: float
    threads: int
    processes: tuple[Process, ...]
    """In the order in which they ran."""
    found: Classified | None
    """None where the pair could not be measured."""
    problem: str = ""
    """Why not."""


class Classes(Extensible, frozen=True, kw_only=True):
    """What the bare loop says of every pair."""

    TRIAL: ClassVar = "regressions' classes"

    seed: int
    load_before: tuple[float, float, float]
    load_after: tuple[float, float, float]
    pairs: tuple[Measured, ...] = ()


class Outcome(Decision, frozen=True, kw_only=True):
    """What `ab` said of one pair."""

    pair: Pair
    frozen: Frozen
    run: str
    started: str
    seconds: float
    """Machine time, launches and all; images were made before."""

    @property
    def right(self) -> bool:
        """Whether the verdict is the class."""
        expected = {Class.SLOWER: Verdict.SLOWER, Class.FASTER: Verdict.FASTER, Class.UNCHANGED: Verdict.SAME}
        return self.verdict is expected.get(self.frozen.class_)


class Summary(msgspec.Struct, frozen=True):
    """How often `ab` was right, with exact intervals."""

    found: Proportion | None
    """Of the pairs that differ: called different, in the right direction; None: there was no such pair."""
    wrong_direction: int
    called_same: int
    """Of the pairs that differ."""
    undecided_changed: int
    false_alarms: Proportion | None
    """Of the pairs without a change: called different; None: there was no such pair."""
    shown_same: int
    """Of the pairs without a change."""
    undecided_unchanged: int
    seconds: float
    """Machine time of all of them."""


class Record(AbRecord, frozen=True, kw_only=True):
    """What `ab` made of the frozen list."""

    TRIAL: ClassVar = "regressions"

    classes_sha256: str
    """Of the record of the classes."""
    outcomes: tuple[Outcome, ...] = ()
    summary: Summary | None = None


def outcome_of(pair: Pair, frozen: Frozen, comparison: Comparison, seconds: float) -> Outcome:
    """Reduce one comparison, of one case, to what the record keeps of it."""
    facts = comparison.new.runs[0]
    [row] = comparison.rows
    return Outcome(pair=pair, frozen=frozen, run=facts.id, started=facts.started, seconds=seconds, **decision(row))


def summary(outcomes: Sequence[Outcome]) -> Summary:
    """Count what was said of pairs that differ and of pairs that do not."""
    changed = [each for each in outcomes if each.frozen.class_ is not Class.UNCHANGED]
    unchanged = [each for each in outcomes if each.frozen.class_ is Class.UNCHANGED]
    found = sum(each.right for each in changed)
    wrong = sum(each.verdict in DIFFERENT and not each.right for each in changed)
    alarms = sum(each.verdict in DIFFERENT for each in unchanged)
    same = [sum(each.verdict is Verdict.SAME for each in side) for side in (changed, unchanged)]
    return Summary(
        found=proportion(found, len(changed)) if changed else None,
        wrong_direction=wrong,
        called_same=same[0],
        undecided_changed=len(changed) - found - wrong - same[0],
        false_alarms=proportion(alarms, len(unchanged)) if unchanged else None,
        shown_same=same[1],
        undecided_unchanged=len(unchanged) - alarms - same[1],
        seconds=sum(each.seconds for each in outcomes),
    )
