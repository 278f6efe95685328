"""The first line of an upgrade's verdict: is it safe; and the paragraph on how it was judged."""

from collections import Counter
from collections.abc import Iterator, Sequence

from levelfield.compare import phrases
from levelfield.compare.conclusion import numerics
from levelfield.compare.types import Drift, Gate, Row, Setting, Verdict
from levelfield.report import units

_ORDER = (
    Verdict.FAILED,
    Verdict.UNEQUAL,
    Verdict.MOVED,
    Verdict.SLOWER,
    Verdict.HUNGRIER,
    Verdict.NOT_ATTRIBUTABLE,
    Verdict.DRIFTED,
    Verdict.UNDECIDED,
    Verdict.FASTER,
    Verdict.LEANER,
    Verdict.SAFE,
)


def of(
    rows: Sequence[Row],
    drifts: Sequence[Drift],
    lost: Sequence[Setting],
    gate: Gate,
    to_come: str = "",
) -> str:
    """Return the answer in one line.

    `to_come`: boots that are still to be measured, in words; empty where all were.
    """
    if not rows:
        return "Not decided: nothing was measured on both sides."
    head = _head(rows, drifts)
    early = (f"{to_come} to come",) if to_come else ()
    text = f"{head}: {'; '.join((*early, *_clauses(rows, lost, gate, head)))}."
    return " ".join(filter(None, (text, numerics(drifts))))


def _head(rows: Sequence[Row], drifts: Sequence[Drift]) -> str:
    outcomes = {row.outcome for row in rows} | {drift.outcome for drift in drifts}
    verdicts = {row.verdict for row in rows}
    if "worse" in outcomes:
        return "Not safe"
    if Verdict.NOT_ATTRIBUTABLE in verdicts:
        return "Not attributable"
    if Verdict.DRIFTED in verdicts:
        return "Drifted"
    return "Not decided" if "undecided" in outcomes or "fine" not in outcomes else "Safe"


def _clauses(rows: Sequence[Row], lost: Sequence[Setting], gate: Gate, head: str) -> Iterator[str]:
    yield _counted(rows, gate, head)
    worse = [row for row in rows if row.verdict in (Verdict.SLOWER, Verdict.HUNGRIER) and row.ratio is not None]
    if worse:
        worst = max(worse, key=lambda row: row.ratio.value if row.ratio is not None else 0.0)
        most = "most of all " if len(worse) > 1 else ""
        yield f"{most}{phrases.where(worst)} {phrases.by_how_much(worst)}"
    if lost:
        first = lost[0]
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        change = f"{phrases.clean(first.name, 80)}: {phrases.clean(first.old, 60)} → {phrases.clean(first.new, 60)}"
        yield f"settings changed that were not meant to: {phrases.clean(first.where, 40)} {change}{more}"
    further = [row.further for row in rows if row.outcome == "undecided" and row.further is not None]
    if further:
        where = "in each phase" if any(row.drift is not None for row in rows) else "of the new stack"
        yield f"{units.plural(max(further), 'more boot')} {where} would decide"


def _counted(rows: Sequence[Row], gate: Gate, head: str) -> str:
    """`of 24 cases, 1 slower, 23 safe within 2 %`."""
    counts = Counter(row.verdict for row in rows)
    order = (*_ORDER, *(verdict for verdict in Verdict if verdict not in _ORDER))
    words = {Verdict.SAFE: f"safe within {units.percent(gate.margin)}"}
    parts = [(counts[verdict], words.get(verdict, verdict.value)) for verdict in order if counts[verdict]]
    everything = "the only case" if len(rows) == 1 else f"all {len(rows)} cases"
    if len(parts) == 1:
        return everything if parts[0][1] == head.lower() else f"{everything} {parts[0][1]}"
    return f"of {len(rows)} cases, {', '.join(f'{count} {word}' for count, word in parts)}"


def method(gate: Gate, *, bracketed: bool) -> str:
    """Return a paragraph on how verdicts were reached."""
    margin = f"{100 * gate.margin:.3g}{units.NBSP}%"
    design = (
        "Boots are the replicates. The old stack was measured before and after the new one: slower or faster means "
        "that the new one differs from both, so that a drift that lasts is not taken for the upgrade’s; drifted means "
        "that the old stack differs from itself, and then nothing is said of the new one."
        if bracketed
        else "Boots are the replicates. The old stack was measured before the new one alone."
    )
    return (
        f"{design} Ratios are new over old, above 1 is worse; safe means that the whole interval lies within {margin} "
        f"of no change. Over all cases together, an upgrade that changes nothing is called slower or drifted with "
        f"a probability of at most {100 * gate.q:.3g}{units.NBSP}%, where its boots scatter around one level. Where "
        f"boots come up in two modes, it is up to 4{units.NBSP}% with three boots a phase."
    )
