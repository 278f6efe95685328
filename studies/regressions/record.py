"""What `ab` made of the pairs whose class is known: the record, its counts, and its tables."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import msgspec

from levelfield.compare.types import Comparison, Gate, Verdict
from levelfield.report import units
from levelfield.report.tables import markdown as table
from levelfield.report.units import interval
from levelfield.statistics.proportions import Proportion, proportion
from studies.commands import MachineRecord, share
from studies.regressions.pairs import Class, Frozen, Pair

DIFFERENT = frozenset({Verdict.FASTER, Verdict.SLOWER})


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What `ab` said of one pair."""

    verdict: Verdict
    reason: str
    launches: int
    ratio: float | None
    low: float | None
    high: float | None
    confidence: float | None
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


class Record(MachineRecord, frozen=True, kw_only=True):
    """What `ab` made of the frozen list."""

    TRIAL: ClassVar = "regressions"

    updated: str
    settings: dict[str, str]
    """What everything in the record shares; later calls may add to it (`--add`)."""
    gate: Gate
    classes_sha256: str
    """Of the record of the classes."""
    outcomes: tuple[Outcome, ...] = ()
    summary: Summary | None = None


def outcome_of(pair: Pair, frozen: Frozen, comparison: Comparison, seconds: float) -> Outcome:
    """Reduce one comparison, of one case, to what the record keeps of it."""
    facts = comparison.new.runs[0]
    [row] = comparison.rows
    return Outcome(
        pair=pair,
        frozen=frozen,
        run=facts.id,
        started=facts.started,
        seconds=seconds,
        verdict=row.verdict,
        reason=row.reason,
        launches=row.new_replicates,
        ratio=row.ratio.value if row.ratio else None,
        low=row.ratio.low if row.ratio else None,
        high=row.ratio.high if row.ratio else None,
        confidence=row.confidence,
    )


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


NUMBER = "{:.3f}".format


def markdown(record: Record) -> str:
    """Return the summary, and every pair beside its class."""
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    yield f"# Known changes of speed, by `levelfield ab`, {record.updated[:10]}"
    yield ""
    if record.summary is not None:
        yield from (f"- {sentence}" for sentence in _sentences(record.summary))
        yield ""
    rows = [
        (
            f"{each.pair.workload}, {each.pair.backend} {each.pair.old} → {each.pair.new}",
            f"{each.frozen.class_}, {interval(each.frozen.ratio, each.frozen.low, each.frozen.high, NUMBER)}",
            interval(each.ratio, each.low, each.high, NUMBER),
            each.verdict,
            units.duration(each.seconds),
        )
        for each in record.outcomes
    ]
    yield from table(("pair", "class", "new/old:", "verdict", "time"), rows)


def _sentences(summary: Summary) -> Iterator[str]:
    if summary.found is not None:
        yield (
            f"Known changes found, in the right direction: {share(summary.found)}; wrong direction "
            f"{summary.wrong_direction}, called same {summary.called_same}, undecided {summary.undecided_changed}."
        )
    if summary.false_alarms is not None:
        yield (
            f"False alarms where nothing changed: {share(summary.false_alarms)}; shown to be same "
            f"{summary.shown_same}, undecided {summary.undecided_unchanged}."
        )
    yield f"{units.duration(summary.seconds)} of machine time."
