"""A gate: its file, and the verdict on a case by it, which is that more than half of the new runs are above the limit.

The file is TOML that people and other tools read. It holds the costs of the runs that it was derived from, so that the
limits of any number of new runs follow from it alone. What it says about them (`limit`, `finds` …) is for the number of
runs that was asked for, and must agree with the costs. A limit that was edited by hand is refused: it would not be what
noise gives any more.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from levelfield import scenarios, untrusted
from levelfield.analysis.status import SMOKE
from levelfield.analysis.summary import Reduced
from levelfield.analysis.types import Estimate, MeasuredIn
from levelfield.compare import phrases
from levelfield.compare.baselines import Pointer
from levelfield.compare.order_in_time import moments
from levelfield.compare.policy import change_policy, of_interval, of_metric
from levelfield.compare.sides import NOT_MEASURED
from levelfield.compare.types import Derived, Gate, Outcome, Row, Verdict
from levelfield.errors import UNPRINTABLE, LevelfieldError, explained
from levelfield.record.files import LEAST_SHARE, MOST_SHARE
from levelfield.record.schema import Arm, Case
from levelfield.report import units
from levelfield.statistics import prediction, verdicts
from levelfield.statistics.prediction import Earlier
from levelfield.untrusted import convert

FORMAT = 1
MAX_BYTES = 4 << 20
_AGREEMENT = 1e-3
"""Relative difference between a figure of the file and the same figure computed again: other releases of the numerical
libraries round differently."""

Text = Annotated[str, msgspec.Meta(max_length=1024)]
Texts = Annotated[tuple[Text, ...], msgspec.Meta(max_length=100)]
Share = Annotated[float, msgspec.Meta(ge=LEAST_SHARE, le=MOST_SHARE)]
Positive = Annotated[float, msgspec.Meta(gt=0, lt=1e30)]
Facts = Annotated[dict[Text, Text], msgspec.Meta(max_length=1000)]


class Evidence(Pointer, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run that the gate was derived from: `file`, relative to the folder of reports, and its `sha256`."""

    id: Text
    started: Text
    """ISO 8601."""


class GateCase(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Limits of one case and arm."""

    id: Text
    metric: Text
    unit: Text
    """Of costs: `ns`, `ns per item` or `bytes`."""
    cost: Positive
    """Geometric mean over the runs."""
    spread: Positive
    """Standard deviation of one run's log cost: 0.01 is 1 %."""
    spread_low: Positive
    """95 % interval of the spread, for normal noise."""
    spread_high: Positive
    freedom: int
    """Degrees of freedom of the spread."""
    worse_above: Positive
    """Ratio of a run's cost to `cost`; worse is that more than half of the new runs lie above it."""
    limit: Positive
    """The same as a cost."""
    finds: Positive
    """Smallest ratio that is called worse with the stated power."""
    costs: Annotated[tuple[Positive, ...], msgspec.Meta(min_length=prediction.FEWEST, max_length=prediction.MOST)]
    """Of the runs, in the order of the evidence."""
    arm: Arm
    question: Case
    inputs: Texts = ()
    """Digests of what was computed; the new runs must have the same."""
    weights: Texts = ()
    onnx: Texts = ()
    target: Texts = ()
    latency_target: Texts = ()
    windows_of: tuple[MeasuredIn, ...] = ()
    """Of what windows each of the costs is (`analysis.types.MeasuredIn`)."""

    @property
    def earlier(self) -> Earlier:
        """What the runs say about the next."""
        return prediction.from_runs(np.log(self.costs))


class Without(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A case that has no limit."""

    id: Text
    reason: Text


class NoiseGate(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Limits that a baseline of unchanged runs gives for later ones."""

    format: int
    made: Text
    """UTC, ISO 8601."""
    version: Text
    """Of Levelfield."""
    baseline: Text
    false_alarms: Share
    """Probability that a comparison of unchanged runs calls any of the cases worse, all of them together."""
    power: Share
    """Probability with which a change of `finds` is called worse."""
    runs_each: Annotated[int, msgspec.Meta(ge=1, le=100)]
    """New runs that `worse_above`, `limit` and `finds` are for."""
    launcher: Text
    hardware: Facts
    settings: Facts
    evidence: Annotated[tuple[Evidence, ...], msgspec.Meta(min_length=prediction.FEWEST, max_length=prediction.MOST)]
    case: Annotated[tuple[GateCase, ...], msgspec.Meta(min_length=1, max_length=10_000)]
    without: Annotated[tuple[Without, ...], msgspec.Meta(max_length=10_000)] = ()
    accepted: Texts = ()
    """Differences between the runs that were accepted when the gate was derived."""

    @property
    def level(self) -> float:
        """Probability of a false alarm of one case: its share of the stated rate (Bonferroni)."""
        return self.false_alarms / len(self.case)


def figures(costs: tuple[float, ...], new: int, level: float, power: float) -> dict[str, float | int]:
    """Return what a gate says of a case whose runs cost this, for so many new runs."""
    earlier = prediction.from_runs(np.log(costs))
    low, high = earlier.spread_interval()
    cost, reach = math.exp(earlier.mean), earlier.reach(new, level)
    return {
        "cost": cost,
        "spread": earlier.spread,
        "spread_low": low,
        "spread_high": high,
        "freedom": earlier.runs - 1,
        "worse_above": ratio(reach),
        "limit": cost * ratio(reach),
        "finds": ratio(earlier.finds(new, level, power)),
    }


def ratio(log: float) -> float:
    """Return e^log, kept within what a reader can hold: three runs that lie far apart give limits of any size."""
    return math.exp(min(max(log, -60.0), 60.0))


_HEADING = (
    "Limits from the noise of runs without a change, made by `levelfield baseline derive`. Do not edit the figures:",
    "they follow from `costs`, and `levelfield compare --gate` checks that. Worse is a case of which more than half of",
    "the new runs cost more than `limit` (`cost` × `worse_above`). `false_alarms` is the probability that a comparison",
    "without a change calls any case worse. A change of `finds` is called worse with the probability `power`.",
)


def content(gate: NoiseGate) -> bytes:
    """Return the gate as TOML."""
    return as_toml(msgspec.to_builtins(gate), _HEADING).encode()


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def as_toml(values: Mapping[str, Any], heading: Sequence[str] = ()) -> str:
    """Return a table as TOML 1.0, in which any text is only text: plain values, then tables, then lists of tables.

    A table in a list is written with its own tables on one line each; a name whose value is None is left out.
    """
    plain = {}
    lines = []
    for name, value in sorted(values.items(), key=lambda entry: isinstance(entry[1], Sequence)):
        if isinstance(value, Mapping):
            lines += ["", f"[{_toml_key(name)}]", *_pairs(value)]
        elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
            for entry in value:
                lines += ["", f"[[{_toml_key(name)}]]", *_pairs(entry)]
        else:
            plain[name] = value
    first = [f"# {line}".rstrip() for line in heading]
    return "\n".join([*first, *_pairs({name: plain[name] for name in values if name in plain}), *lines, ""])


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{_toml_key(name)} = {_toml_value(value)}" for name, value in table.items() if value is not None]


def _toml_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml_text(name)


def _toml_value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(_pairs(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return _toml_text(value) if isinstance(value, str) else json.dumps(value)


def _toml_text(text: str) -> str:
    escaped = json.dumps(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text), ensure_ascii=False)
    return UNPRINTABLE.sub(lambda found: f"\\U{ord(found[0]):08x}", escaped)


def read(path: Path) -> NoiseGate:
    """Read a gate, which may be a stranger's.

    Raises LevelfieldError: it cannot be read, is no gate, is of a newer format, or its figures do not follow from its
    costs.
    """
    wrote, malformed = "Name a file that `baseline derive` wrote.", "Derive it with `baseline derive`."
    with explained(f"{path} cannot be read", wrote), explained(f"{path} is not a gate", malformed, ValueError):
        table = untrusted.read_toml(path, MAX_BYTES)
    if isinstance(table.get("format"), int) and table["format"] > FORMAT:
        raise LevelfieldError(
            f"{path} has format {table['format']}, and this Levelfield reads {FORMAT}.", fix="Install a newer one."
        )
    with explained(f"{path} is not a gate", malformed, msgspec.ValidationError, RecursionError):
        gate = convert(table, NoiseGate)
    _check(gate, path)
    return gate


def _check(gate: NoiseGate, path: Path) -> None:
    ids = [case.id for case in gate.case]
    if gate.format != FORMAT or len(set(ids)) < len(ids):
        raise LevelfieldError(f"{path} is damaged.", fix="Derive it again with `baseline derive`.")
    for case in gate.case:
        same_run = {len(case.costs), len(case.windows_of or case.costs)} == {
            len(gate.evidence)
        } and case.id == f"{case.arm.id}/{case.question.id}"
        if not same_run or case.metric != case.question.scenario or case.unit != unit_of(case.question):
            raise LevelfieldError(
                f"{path} is damaged: {case.id} does not fit its evidence.",
                fix="Derive it again with `baseline derive`.",
            )
        expected = figures(case.costs, gate.runs_each, gate.level, gate.power)
        for name, value in expected.items():
            if not math.isclose(getattr(case, name), value, rel_tol=_AGREEMENT):
                raise LevelfieldError(
                    f"{path} was edited: {name} of {case.id} is not what its costs give.",
                    fix="Derive it again with `baseline derive`, and ask for another rate with --false-alarms.",
                )


def unit_of(case: Case) -> str:
    """Return the unit of a case's costs."""
    if scenarios.get(case.scenario).unit == "bytes":
        return "bytes"
    return "ns per item" if case.per_item else "ns"


MOST_NAMED = 5
"""Differences, or absent runs, that a message names."""
DAY_APART_S = 12 * 3600.0
"""Runs that begin so long apart are of two days, whatever the calendar says."""
FEW_DAYS = 2
"""Days of a gate's runs from which, and below, the rate of false alarms on another day is not the stated one."""


def gate_notes(old: Sequence[Reduced], new: Sequence[Reduced], rows: Sequence[Row], derived: Derived) -> Iterator[str]:
    """Yield sentences: what can be found, what the spread covers, and what is not compared."""
    found = [row.finds - 1 for row in rows if row.finds is not None]
    if found:
        runs = units.plural(max(row.new_replicates for row in rows), "new run")
        span = units.percent_range(min(found), max(found)) if len(found) > 1 else units.percent(found[0])
        yield f"Slowdowns that {runs} would show with a probability of {units.percent(derived.power)}: {span}."
    started = [run.moment for run in old]
    span_s, since_s = span_seconds(started), since_seconds(started, [run.moment for run in new])
    if span_s is not None and since_s is not None and since_s > 0:
        yield (
            f"The runs of the gate began within {units.roughly(span_s)}, and the new ones {units.roughly(since_s)} "
            "later. What the machine did between counts as the change: only what varied within that time is in the "
            "limits."
        )
        if days(started) <= FEW_DAYS and since_s >= DAY_APART_S:
            yield (
                f"The gate's runs are of {units.plural(days(started), 'day')} and the new ones of another: where the "
                "machine differs from day to day, a case without a change is called worse far more often than in the "
                "stated share. Confirm a change with `levelfield ab`, or derive the gate from runs of more days."
            )
    if not derived.at_hand:
        some = derived.absent[:MOST_NAMED]
        more = f" and {len(derived.absent) - len(some)} more" if len(derived.absent) > len(some) else ""
        checked = all(run.imported is None for run in new)
        yield (
            f"Of the gate's {derived.runs} runs, {len(derived.absent)} {'is' if len(derived.absent) == 1 else 'are'} "
            f"not at hand ({phrases.clean(', '.join(some), 1000)}{more}), so that only costs are compared: the gate "
            "holds no environment and no outputs."
            f"{' Whether outputs are equal to the reference was checked in the new runs.' if checked else ''}"
        )


def span_seconds(started: Sequence[str]) -> float | None:
    """Return the time from the first start to the last; None where one cannot be read."""
    times = moments(started)
    return None if not times else max(times) - min(times)


def days(started: Sequence[str]) -> int:
    """Return how many days runs are of: starts that lie `DAY_APART_S` apart; 0 where one cannot be read."""
    found = 0
    last = -math.inf
    for time in sorted(moments(started)):
        if time - last >= DAY_APART_S:
            found, last = found + 1, time
    return found


def since_seconds(old: Sequence[str], new: Sequence[str]) -> float | None:
    """Return the time from the last old start to the first new one; None where one cannot be read."""
    first, second = moments(old), moments(new)
    return None if not first or not second else min(second) - max(first)


def why_no_limit(id_: str, derived: Derived, labels: Iterable[str]) -> str:
    """Say why a case is not compared with a limit; empty where it is."""
    if SMOKE in labels:
        return NOT_MEASURED
    return "" if id_ in derived.cases else "the gate has no limit for it"


def judged_by_limit(row: Row, costs: tuple[list[float], list[float]], gate: Gate, derived: Derived) -> Row:
    """Return a row with its verdict.

    The interval of the ratio has the limit's reach on both ends, so that its lower bound is above 1 where more than
    half of the new runs are above the limit. With a largest slowdown, the interval is compared with that, as always.
    """
    earlier = prediction.from_runs(np.log(costs[0]))
    new = sorted(math.log(cost) - earlier.mean for cost in costs[1])
    needed = prediction.majority(len(new))
    reach = earlier.reach(len(new), derived.level)
    low, high = ratio(new[-needed] - reach), ratio(new[needed - 1] + reach)
    verdict, outcome = of_interval(low, high, change_policy(gate))
    inside = verdict is verdicts.Verdict.UNDECIDED
    if inside and gate.max_slowdown is None:
        outcome = "fine"
    finds = ratio(earlier.finds(len(new), derived.level, derived.power))
    middle = math.exp(float(np.median(new)))
    limit = math.exp(earlier.mean) * ratio(reach)
    draft = msgspec.structs.replace(
        row,
        verdict=Verdict.WITHIN if inside else of_metric(verdict, row.metric),
        outcome=outcome,
        new=math.exp(earlier.mean) * middle,
        ratio=Estimate(middle, low, high),
        confidence=1 - 2 * derived.level,
        limit=limit,
        finds=finds,
    )
    return msgspec.structs.replace(draft, reason=_reason(draft, earlier, outcome, gate, derived))


def _reason(row: Row, earlier: Earlier, outcome: Outcome, gate: Gate, derived: Derived) -> str:
    """`limit 5.9 µs (× 1.13) for 1 run: 8 runs of baseline good spread by 1.35 %`, and why it is not decided."""
    runs = units.plural(row.new_replicates, "run")
    factor = phrases.factor((row.limit or 0) / math.exp(earlier.mean))
    limit = f"limit {phrases.cost(row.limit, row.metric)} (× {factor}) for {runs}"
    if outcome == "undecided" and gate.max_slowdown is not None:
        asked = f"{units.percent(gate.max_slowdown)} was asked"
        if (row.finds or 0) <= 1 + gate.max_slowdown:
            return f"{limit}; {asked}, which the interval holds"
        return f"{limit}; {asked}, and it finds {units.percent((row.finds or 1) - 1)}: derive the gate from more runs"
    if outcome != "worse":
        return f"{limit}, finds {units.percent((row.finds or 1) - 1)}"
    spread = f"{earlier.runs} runs of baseline {derived.baseline} spread by {units.percent(earlier.spread)}"
    return f"{limit}: {spread}"
