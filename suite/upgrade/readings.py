"""Readings of other tools in the boots of an upgrade: bandwidths, latencies and results of tests.

A boot has the readings that `upgrade next --field-output` stored with it. Several of one name give their median, so
that a boot is one replicate of them, as it is of cases.

- *Numbers* are judged as costs are (`suite.statistics.bracket`): a time is a cost, and so is the inverse of a
  bandwidth. They are tested at `SHARE` of the upgrade's level, and the cases at the rest, so that the probability of
  any wrong verdict stays below the level whatever both have in common (Bonferroni).
- *Results in words*, and numbers of wrong values, have no spread to judge by. They are shown where boots differ. A
  test that passes in every boot of the old stack and fails in every boot of the new one is worse.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from suite.analysis.types import Estimate
from suite.compare.changes import are_readings
from suite.compare.reduction import Reduced
from suite.compare.types import ChangeGroup, Gate, Outcome, Reading, Verdict
from suite.fieldtools import nccl_tests
from suite.fieldtools.values import LARGEST
from suite.history.environment import text
from suite.record.schema import FieldOutput, FieldReading
from suite.report.units import plural
from suite.statistics import bracket
from suite.statistics.bracket import Costs
from suite.upgrade import judging

SHARE = 0.25
"""Part of the level that readings are tested at, where there are any to test."""
LEAST_STEPS = 4
"""Steps of a printed bandwidth that the margin holds at least: with fewer, rounding can look like a change."""
_NUMBERS = ("B/s", "ns")
_RUN_WITH = ("settings", "ranks")
"""Facts of an output that say how its tool was run; its other facts belong to the stack, or to the machine."""
_Key: TypeAlias = tuple[str, str, str]
"""Tool, name and unit."""


class Said(msgspec.Struct, frozen=True):
    """What a tool said of one thing in one boot."""

    value: float | str
    """A number above zero where the unit is that of a number; else a result in words."""
    how: dict[str, str]
    """Version of the tool, and how it was run."""


class Question(msgspec.Struct, frozen=True):
    """One reading of an upgrade."""

    row: Reading
    costs: Costs | None = None
    """None: the row stands as it is."""


def questions(
    before: Sequence[Reduced], new: Sequence[Reduced], after: Sequence[Reduced], margin: float
) -> tuple[Question, ...]:
    """Return the readings of an upgrade; of results in words those that are not the same in all boots.

    Parameters
    ----------
    before, new, after
        Runs of each phase.
    margin
        Relative difference that does not matter. It decides whether a bandwidth is printed finely enough.
    """
    phases = [[_of_boot(run.field_outputs) for run in runs] for runs in (before, new, after)]
    found: dict[_Key, list[list[Said]]] = {}
    for key in dict.fromkeys(key for boots in phases for boot in boots for key in boot):
        said = [[boot[key] for boot in boots if key in boot] for boots in phases]
        if not _is_coarse(key, said, margin):
            found[key] = said
    asked = (_question(key, said, ended=bool(after)) for key, said in found.items() if _bandwidth_of(key) not in found)
    return tuple(each for each in asked if each is not None)


def share(asked: Sequence[Question]) -> float:
    """Return the part of the level that the readings take: none where there is no number to test."""
    return SHARE if any(each.costs is not None for each in asked) else 0.0


def judge(asked: Sequence[Question], gate: Gate) -> tuple[Reading, ...]:
    """Judge all readings together.

    Parameters
    ----------
    asked
        The readings.
    gate
        Margin, and level of the whole upgrade.
    """
    tested = [each.costs for each in asked if each.costs is not None]
    found = iter(bracket.judge(tested, margin=gate.margin, level=gate.q * SHARE))
    return tuple(
        each.row if each.costs is None else judging.over_boots(each.row, next(found), each.costs) for each in asked
    )


def without(groups: Sequence[ChangeGroup], found: Sequence[Reading]) -> tuple[ChangeGroup, ...]:
    """Leave readings that have a row of their own out of what changed.

    Parameters
    ----------
    groups
        What changed.
    found
        The rows.
    """
    names = {each.name for each in found}
    return tuple(
        msgspec.structs.replace(group, changes=tuple(each for each in group.changes if each.name not in names))
        if are_readings(group)
        else group
        for group in groups
    )


def _of_boot(outputs: Sequence[FieldOutput]) -> dict[_Key, Said]:
    found: dict[_Key, list[Said]] = {}
    for output in outputs:
        how = {"version": text(output.version)} | {
            name: text(fact) for name, fact in output.facts.items() if name in _RUN_WITH
        }
        for reading in output.readings:
            value = _value(reading)
            if value is not None:
                found.setdefault((output.tool, reading.name, reading.unit), []).append(Said(value, how))
    return {key: _together(said) for key, said in found.items()}


def _value(reading: FieldReading) -> float | str | None:
    """Return what counts of a reading; None where nothing does, such as the largest error or a bandwidth of 0."""
    value = reading.value
    if reading.unit in _NUMBERS:
        return value if isinstance(value, float) and 1 / LARGEST <= value <= LARGEST else None
    if isinstance(value, float):
        return f"{value:.0f}" if reading.measure.endswith(nccl_tests.WRONG_VALUES) else None
    return value if isinstance(value, str) else None


def _together(said: Sequence[Said]) -> Said:
    words = dict.fromkeys(each.value for each in said if isinstance(each.value, str))
    value = " and ".join(words) if words else statistics.median(_numbers(said))
    return msgspec.structs.replace(said[0], value=value)


def _numbers(said: Sequence[Said]) -> list[float]:
    return [each.value for each in said if isinstance(each.value, float)]


def _is_coarse(key: _Key, phases: Sequence[Sequence[Said]], margin: float) -> bool:
    """Return whether a bandwidth is so small that the steps in which it is printed are large against the margin."""
    tool, _, unit = key
    if tool != nccl_tests.TOOL or unit != "B/s":
        return False
    largest = max(number for said in phases for number in _numbers(said))
    return largest * margin < LEAST_STEPS * nccl_tests.STEP_BYTES_PER_S


def _bandwidth_of(key: _Key) -> _Key | None:
    """Return the bus bandwidth that nccl-tests computes from a time: both are one measurement, which counts once."""
    tool, name, unit = key
    if tool != nccl_tests.TOOL or unit != "ns":
        return None
    return tool, name.replace(nccl_tests.TIME, nccl_tests.BUS_BANDWIDTH, 1), "B/s"


def _question(key: _Key, phases: Sequence[Sequence[Said]], *, ended: bool) -> Question | None:
    """Return a reading as it is to be judged; None where nothing is to be said of it.

    Parameters
    ----------
    key, phases
        Which one, and what was said of it in the boots before, new and after.
    ended
        Whether any boot after the way back was measured.
    """
    before, new, after = phases
    old = [*before, *after]
    row = Reading(
        tool=key[0],
        name=key[1],
        unit=key[2],
        verdict=Verdict.UNDECIDED,
        outcome="undecided",
        old=_typical(old),
        new=_typical(new),
        old_replicates=len(old),
        new_replicates=len(new),
    )
    if not old:
        return Question(_with(row, Verdict.ADDED, "aside", "the old stack has no such reading"))
    if not new:
        return Question(_with(row, Verdict.MISSING, "undecided", "the new stack has no such reading"))
    in_numbers = row.unit in _NUMBERS
    if not in_numbers and len({each.value for each in (*old, *new)}) == 1:
        return None
    if ended and not after:
        return Question(_with(row, Verdict.UNDECIDED, "undecided", "no boot after the way back has such a reading"))
    if not in_numbers:
        return Question(_in_words(row, *([str(each.value) for each in phase] for phase in phases)))
    if otherwise := next(_run_otherwise(old, new), ""):
        return Question(_with(row, Verdict.INCOMPARABLE, "undecided", f"{row.tool} was run otherwise: {otherwise}"))
    costs = Costs(*(tuple(_cost(value, row.unit) for value in _numbers(phase)) for phase in phases))
    ratio = _mean(costs.new) / _mean((*costs.before, *costs.after))
    return Question(msgspec.structs.replace(row, ratio=Estimate(ratio)), costs)


def _with(row: Reading, verdict: Verdict, outcome: Outcome, reason: str) -> Reading:
    return msgspec.structs.replace(row, verdict=verdict, outcome=outcome, reason=reason)


def _typical(said: Sequence[Said]) -> float | str | None:
    if numbers := _numbers(said):
        return _mean(numbers)
    counts = Counter(str(each.value) for each in said)
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(f"{word} ({plural(count, 'boot')})" for word, count in counts.items()) or None


def _mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def _cost(value: float, unit: str) -> float:
    return value if unit == "ns" else 1 / value


def _run_otherwise(old: Sequence[Said], new: Sequence[Said]) -> Iterator[str]:
    """Yield what differs between the sides, or within one, of how a tool was run."""
    for name in ("version", *_RUN_WITH):
        before, now = (sorted({each.how.get(name, "") for each in side}) for side in (old, new))
        if len({*before, *now}) > 1:
            yield f"{name} {' or '.join(before)} on the old stack, and {' or '.join(now)} on the new one"


def _in_words(row: Reading, before: Sequence[str], new: Sequence[str], after: Sequence[str]) -> Reading:
    old = [*before, *after]
    if after and set(before) != set(after):
        reason = "after the way back, the old stack does not give what it gave before"
        return _with(row, Verdict.DRIFTED, "undecided", reason)
    if all(map(_passes, old)) and all(map(_fails, new)):
        return _with(row, Verdict.FAILED, "worse", "it passes in every boot of the old stack")
    if all(map(_fails, old)) and all(map(_passes, new)):
        return _with(row, Verdict.RECOVERED, "aside", "it fails in every boot of the old stack")
    return _with(row, Verdict.UNDECIDED, "undecided", "the results differ")


def _passes(word: str) -> bool:
    return word in ("pass", "0")


def _fails(word: str) -> bool:
    return word == "fail" or (word.isdecimal() and word != "0")
