"""Phrases that every format shares: names of cases, ratios, verdicts and reasons, written once."""

import re
from collections.abc import Iterable

import msgspec

from levelfield import scenarios
from levelfield.analysis.types import Estimate
from levelfield.compare.types import Change, ChangeGroup, Comparison, Drift, Metric, Movement, Row, Setting, Verdict
from levelfield.errors import printable, shortened
from levelfield.record.schema import UNKNOWN, Case
from levelfield.report import names, units

MOST_WORDS = 12
"""Of a heading."""
LONGEST = 300
"""Most characters of a record's text that are shown; the record holds the rest."""
LISTED = 8
"""From so many words on, both values of a fact are lists, of which only the difference is shown."""
MOST_UNRECORDED = 4
"""Facts that are named of those that a run did not record; the HTML page has all."""
_BREAKS = re.compile(r"[ \t\r\n\f\v]+")
_DIGEST = re.compile(r"\b[0-9a-f]{40,}\b")


def clean(text: str, longest: int = LONGEST) -> str:
    """Return a text on one line, without control characters and of bounded length.

    `text`: not trusted: it may come from a record.
    """
    return shortened(printable(_BREAKS.sub(" ", text)).strip(), longest)


def value(text: str) -> str:
    """Return a fact with its digests shortened."""
    return clean(_DIGEST.sub(lambda found: f"{found[0][:12]}…", text))


def values(found: Change) -> tuple[str, str]:
    """Return a fact of both sides; of two long lists of words, such as boot parameters, what one side has alone."""
    old, new = found.old.split(), found.new.split()
    alone = [word for word in old if word not in new], [word for word in new if word not in old]
    if found.state != "changed" or min(len(old), len(new)) < LISTED or alone == ([], []) or len(alone[0]) == len(old):
        return value(found.old), value(found.new)
    first, second = (value(f"… {' '.join(words) or '(without these)'}") for words in alone)
    return first, second


def arms(row: Row | Drift) -> str:
    """`onnxruntime`, `onnxruntime@1.30.0 → onnxruntime` where the sides have other names for it."""
    if isinstance(row, Row) and row.node:
        return f"{arms(msgspec.structs.replace(row, node=''))} ({clean(row.node, 80)})"
    if row.old_arm and row.new_arm and row.old_arm != row.new_arm:
        return clean(f"{row.old_arm} → {row.new_arm}")
    return clean(row.new_arm or row.old_arm)


def where(row: Row) -> str:
    """`onnxruntime on ResNet-50 (latency, batch 1)`."""
    case = row.case
    tokens = _tokens(case)
    return f"{arms(row)} on {clean(names.network(case), 60)} ({metric(row.metric)}{names.batch(case)}{tokens})"


def _tokens(case: Case) -> str:
    """`, depth 128`, or `, depth 128, growing cache`, of a case that answers token by token."""
    return f", depth {case.depth}{', growing cache' if case.growing_cache else ''}" if case.depth else ""


def case(row: Row, *, brief: bool = False) -> str:
    """Return the case of a row without its arm: `ResNet-50, latency, fp32, batch 1, t2`.

    `brief`: leave out what all rows share: precision, threads and device.
    """
    model = clean(names.network(row.case), 60)
    together = f", {row.case.processes} processes" if row.case.processes > 1 else ""
    together += _tokens(row.case)
    if brief:
        return f"{model}, {metric(row.metric)}{names.batch(row.case)}{together}"
    if row.case.imported:
        return f"{model}, {metric(row.metric)}"
    extras = together + ("" if row.case.device == "cpu" else f", {clean(row.case.device, 40)}")
    precision = clean(row.case.precision, 40)
    return f"{model}, {metric(row.metric)}, {precision}, batch {row.case.batch}, t{row.case.threads}{extras}"


def shared(rows: Iterable[Row]) -> str:
    """`fp32, 2 threads, cpu`, where that is true of all rows; else nothing."""
    found = {(row.case.precision, row.case.threads, row.case.device) for row in rows}
    if len(found) != 1:
        return ""
    precision, threads, device = found.pop()
    if precision == UNKNOWN:
        return ""
    return f"{clean(precision, 40)}, {units.plural(threads, 'thread')}, {clean(device, 40)}"


def metric(name: Metric) -> str:
    """`cold start`, `peak memory`: what a scenario measures."""
    return scenarios.get(name).phrase


def cost(value: float | None, metric: Metric) -> str:
    """Write a cost with its unit: `21.3 ms`, `1.21 GiB`.

    `value`: bytes for memory, else nanoseconds (for throughput and training, of one item); None: there is no value.
    """
    scenario = scenarios.get(metric)
    if scenario.unit == "bytes":
        return units.size(value)
    return f"{units.time(value)} an item" if scenario.per_item and value is not None else units.time(value)


def ratio(found: Estimate | None) -> str:
    """`1.031 (1.012–1.050)`: new over old; without bounds where there is no interval."""
    return units.NO_VALUE if found is None else units.within(found, factor)


def factor(value: float) -> str:
    """`1.031`, `12.4`, `0.0021`; `>1000` and `<0.001` beyond."""
    if value >= 1000:
        return ">1000"
    if value < 0.001:
        return "<0.001"
    return f"{value:.3f}" if value < 10 else units.digits(value)


def ratio_of(row: Row) -> float:
    """Return the ratio of a row, to be sorted by; 1 where there is none."""
    return row.ratio.value if row.ratio is not None else 1.0


def share(share: float) -> str:
    """`2 %`."""
    return f"{100 * share:.3g}{units.NBSP}%"


def by_how_much(row: Row) -> str:
    """`12 % slower (9.8–14 %)`, in the words of the metric."""
    return row.verdict.value if row.ratio is None else in_words(row.ratio, row.metric)


def in_words(found: Estimate, metric: Metric) -> str:
    """Return a ratio of costs in the words of what was measured: `12 % slower (9.8–14 %)`."""
    more = found.value >= 1
    word = (
        ("more memory" if more else "less memory")
        if scenarios.get(metric).unit == "bytes"
        else ("slower" if more else "faster")
    )
    text = f"{units.percent(abs(found.value - 1))} {word}"
    if found.low is None or found.high is None:
        return text
    bounds = sorted((abs(found.low - 1), abs(found.high - 1)))
    if (found.low < 1) == (found.high < 1):
        return f"{text} ({units.percent_range(*bounds)})"
    return f"{text} ({units.percent_range(found.low - 1, found.high - 1)})"


_NO_MORE_HELP = frozenset({Verdict.UNDECIDABLE, Verdict.DRIFTED, Verdict.INCOMPARABLE})
"""Verdicts beside which nothing is said of more replicates."""


def note(row: Row, replicate: str = "run") -> str:
    """Return the note beside a verdict: why there is none, or how many more replicates would decide."""
    parts = [clean(row.reason)] if row.reason else []
    if row.outcome == "undecided" and row.verdict not in _NO_MORE_HELP and row.ratio is not None:
        parts.append(further(row, replicate))
    return "; ".join(part for part in parts if part)


def further(row: Row, replicate: str = "run") -> str:
    """Return how many more replicates would decide: `12 more runs a side would decide (about 4 h)`.

    Returns empty where the row was not judged, more replicates cannot help, or a derived gate has said it as its
    reason.
    """
    if row.confidence is None or row.limit is not None or row.reason == "on other hardware":
        return ""
    one_sided = row.old_arm == row.new_arm and replicate == "launch"  # of a reproduction: the report is as it is
    if row.further is None:
        return f"no number of {replicates(2, replicate)} within reach would decide"
    time = f" (about {units.roughly(row.further_seconds)})" if row.further_seconds else ""
    side = "of the new stack" if replicate == "boot" else "here" if one_sided else "a side"
    where = side if row.drift is None else "in each phase"
    how = f": --launches {row.new_replicates + row.further}" if one_sided else ""
    return f"{units.count(row.further)} more {replicates(row.further, replicate)} {where} would decide{time}{how}"


def replicates(count: int, replicate: str) -> str:
    """Return the singular or plural of a unit of replication: `run`, `runs`, `launch`, `launches`."""
    return replicate if count == 1 else f"{replicate}{'es' if replicate.endswith('ch') else 's'}"


def setting_note(found: Setting) -> str:
    """`part of the upgrade`, `accepted`, or `not meant`, with where the setting is kept."""
    if found.meant == "upgrade":
        return "part of the upgrade"
    return f"{found.meant}: {clean(found.reason)}" if found.reason else found.meant


def drifted(drift: Drift) -> str:
    """`3.1×10⁻⁷ apart; rounding explains 1.8×10⁻⁶`."""
    parts = []
    if drift.movement in (Movement.WITHIN, Movement.BEYOND) and drift.distance is not None and drift.limit is not None:
        parts.append(f"{units.error(drift.distance)} apart; rounding explains {units.error(drift.limit)}")
    if drift.reason:
        parts.append(clean(drift.reason))
    return "; ".join(parts)


def answer_of(drift: Drift) -> str:
    """`onnxruntime’s answer to ResNet-50, batch 1`."""
    return f"{arms(drift)} on {clean(names.question(drift.model), 60)} (batch {drift.batch})"


def change(found: Change) -> str:
    """`onnxruntime 1.30.0 → 1.31.1`."""
    old, new = values(found)
    return f"{clean(found.name, 80)} {clean(old, 80)} → {clean(new, 80)}"


def unrecorded(groups: Iterable[ChangeGroup]) -> str:
    """`Not recorded by every run: Image canary: Python (3.11.2 and not recorded).`, or nothing."""
    found = [
        f"{clean(group.title, 60)}: {clean(each.name, 80)} "
        f"({clean(value(each.old), 80)} and {clean(value(each.new), 80)})"
        for group in groups
        for each in group.unrecorded
    ]
    if not found:
        return ""
    more = f"; and {len(found) - MOST_UNRECORDED} more" if len(found) > MOST_UNRECORDED else ""
    return f"Not recorded by every run: {'; '.join(found[:MOST_UNRECORDED])}{more}."


def confidence(row: Row) -> str:
    """`99.0 %`: of the row's interval."""
    return "" if row.confidence is None else f"{100 * row.confidence:.4g} %"


def first_line(comparison: Comparison) -> str:
    """Return the answer on one line."""
    return clean(comparison.answer, 1000)


def title(comparison: Comparison) -> str:
    """Return the answer up to its first bracket or stop, as a heading of a dozen words at the most."""
    answer = re.split(r" \(|[.,:;](?: |$)", first_line(comparison), maxsplit=1)[0]
    sides = f"{clean(comparison.new.label, 60)} against {clean(comparison.old.label, 60)}"
    return answer if len(answer.split()) <= MOST_WORDS else sides


def error(found: float | None) -> str:
    """`4.6×10⁻⁷`, or nothing known."""
    return units.NO_VALUE if found is None else units.error(found)
