"""Runs against runs: two sides in, one `Comparison` out, with what a reader must know before the numbers. No I/O."""

import math
import statistics
from collections.abc import Iterator, Sequence

from levelfield.analysis.environment import NOT_THERE
from levelfield.analysis.summary import Reduced, question
from levelfield.compare import changes, conclusion, drift, order_in_time, phrases, rows, sides
from levelfield.compare import gate as gate_notes
from levelfield.compare.changes import among as differences_among
from levelfield.compare.rows import Selection
from levelfield.compare.types import ChangeGroup, Comparison, Gate, Row, Side, Verdict
from levelfield.compatibility.gate import Table
from levelfield.compatibility.libraries import between
from levelfield.errors import LevelfieldError
from levelfield.record import warnings as notices
from levelfield.report import sentences, units


def compare_runs(
    old: Sequence[Reduced],
    new: Sequence[Reduced],
    *,
    gate: Gate | None = None,
    selection: Selection | None = None,
    labels: tuple[str, str] = ("", ""),
    table: Table | None = None,
) -> Comparison:
    """Compare runs with runs.

    Raises LevelfieldError: a
    run is named twice, nothing is selected, or the sides have no case in common.
    """
    gate, selection = gate or Gate(), selection or Selection()
    _check_distinct(old, new)
    pairs = sides.pair_arms(sides.arms_of(old), sides.arms_of(new))
    same = changes.have_same_hardware((*old, *new))
    judged = rows.compare_rows(old, new, pairs, gate, selection, same_hardware=same)
    judged = rows.in_order(drift.with_data_sets(old, new, judged))
    if not judged:
        raise _nothing_selected(old, new, selection)
    if left := selection.unused(judged):
        raise LevelfieldError(
            f"No case is {' or '.join(map(phrases.clean, left))}.",
            fix="Leave out of --only and --metric what is not measured.",
        )
    if not rows.in_common(old, new, pairs, selection):
        raise _unrelated(old, new)
    files = all(run.imported is not None for run in (*old, *new))  # which hold no outputs
    whole = gate.derived is None or gate.derived.at_hand  # a gate's file alone holds no outputs and no environment
    kept = {(row.old_arm, row.new_arm, question(row.case)) for row in judged}
    drifts = tuple(
        found
        for found in (drift.find_drift(pairs, old, new, same_hardware=same) if whole and not files else ())
        if (found.old_arm, found.new_arm, found.question) in kept
    )
    changed = changes.compare_environments(old, new, pairs) if whole else ()
    share = order_in_time.share_of_step(*([run.moment for run in side] for side in (old, new)))
    if gate.derived is not None:
        order = tuple(gate_notes.gate_notes(old, new, judged, gate.derived))
    else:
        order = (
            (order_in_time.sentence(share, min(len(old), len(new))),) if any(row.confidence for row in judged) else ()
        )
    return conclusion.conclude(
        Comparison(
            answer="",
            exit_code=0,
            kind="compare",
            old=_side(old, labels[0]),
            new=_side(new, labels[1]),
            notes=(
                *notes_on_runs(old, new, judged, changed, same_hardware=same),
                *order,
                *notes_on_drivers(old, new, table),
            ),
            rows=judged,
            drifts=drifts,
            changes=changed,
            gate=gate,
            method=conclusion.method(judged, gate),
            order=order_in_time.order_of(share),
            same_hardware=same,
        )
    )


def _side(runs: Sequence[Reduced], label: str) -> Side:
    name = runs[0].facts.id if len(runs) == 1 else f"{len(runs)} runs"
    return Side(label=label or name, runs=tuple(run.facts for run in runs))


def _check_distinct(old: Sequence[Reduced], new: Sequence[Reduced]) -> None:
    """Refuse a run that is named twice: it would be taken for two, or be compared with itself."""
    seen: dict[str, str] = {}
    for side, runs in (("old", old), ("new", new)):
        for run in runs:
            if run.facts.id in seen:
                where = f"twice on the {side} side" if seen[run.facts.id] == side else "on both sides"
                raise LevelfieldError(f"The run {run.facts.id[:100]} is named {where}.", fix=sides.ONCE)
            seen[run.facts.id] = side


def _result_ids(runs: Sequence[Reduced]) -> list[str]:
    """Return the ids of all results, in the order of the plans."""
    places = ((run, arm, case) for run in runs for case in run.cases for arm in run.arms)
    return list(dict.fromkeys(f"{arm}/{case}" for run, arm, case in places if (arm, case) in run.answers))


def _unrelated(old: Sequence[Reduced], new: Sequence[Reduced]) -> LevelfieldError:
    sides = []
    for runs in (old, new):
        ids = _result_ids(runs)
        example = f", such as {ids[0][:200]}" if ids else ""
        sides.append(f"{units.plural(len(ids), 'result')}{example}")
    return LevelfieldError(
        f"The two sides have no cases in common: the old side has {sides[0]}; the new side has {sides[1]}.",
        fix="Name runs in which the same backends answered the same cases.",
    )


def _nothing_selected(old: Sequence[Reduced], new: Sequence[Reduced], selection: Selection) -> LevelfieldError:
    ids = _result_ids((*old, *new))
    if not ids:
        return LevelfieldError("Neither side answered anything.", fix="Name runs that measured something.")
    options = " and ".join(
        part
        for part in (
            f"--only {' --only '.join(selection.only)}" if selection.only else "",
            f"--metric {' --metric '.join(selection.metrics)}" if selection.metrics else "",
        )
        if part
    )
    return LevelfieldError(
        f"No case is left to compare{' with ' + options if options else ''}.",
        fix=f"There are {len(ids)} results, such as {ids[0][:200]}.",
    )


MOST_CHANGES = 4
"""Changes that are named in a sentence; the table has all."""


def notes_on_runs(
    old: Sequence[Reduced],
    new: Sequence[Reduced],
    rows: Sequence[Row],
    changes: Sequence[ChangeGroup],
    *,
    same_hardware: bool | None,
) -> Iterator[str]:
    """Yield the sentences that a reader must know before the numbers, most important first."""
    if changes:
        yield note_on_changes(changes)
    if same_hardware is False:
        found = "; ".join(differences_among((*old, *new)))
        yield f"Other hardware: {phrases.clean(found)}. Ratios compare machines and stacks at the same time."
    elif same_hardware is None:
        yield "A record does not name its processor, so the hardware may differ."
    elif abs((ratio := _canary_ratio(old, new)) - 1) > notices.CANARY_LIMIT:
        yield (
            f"The machine itself was another: the canary, the same computation everywhere, took {ratio:.2f} times as "
            "long on the new side."
        )
    yield from map(
        phrases.clean, sentences.labels(sorted({label for run in (*old, *new) for label in run.facts.labels}))
    )
    files = {run.imported.tool: run.imported for run in (*old, *new) if run.imported is not None}
    for tool in sorted(files):
        yield phrases.clean(sentences.imported(files[tool]), 1000)
    cut = [run.facts.id for run in (*old, *new) if run.facts.finished is None]
    if cut:
        yield f"Cut off before the end, so that cases may be missing: {phrases.clean(', '.join(cut))}."
    before, now = (" and ".join(sorted({run.launcher for run in side})) for side in (old, new))
    if before != now:
        yield f"Workers ran by {before} before and by {now} now."
    if any(row.verdict is Verdict.UNDECIDABLE for row in rows) and not files:
        yield (
            "Between two runs of the same thing, minutes apart, results moved by 1–38 % on the machine this was tried "
            "on. Measure at least three runs a side, with a reboot between them where a driver or a kernel changed."
        )
    further = [row.further for row in rows if row.outcome == "undecided" and row.further is not None]
    seconds = [row.further_seconds for row in rows if row.outcome == "undecided" and row.further_seconds is not None]
    if further:
        time = f", about {units.roughly(max(seconds))} in all" if seconds else ""
        many = f"{units.count(max(further))} more {phrases.replicates(max(further), 'run')} a side{time}"
        yield f"To decide all that is not decided: {many}."


def _canary_ratio(old: Sequence[Reduced], new: Sequence[Reduced]) -> float:
    """Return how long the canary took on the new side, by that on the old one; 1: it took no part in either."""
    first, second = (
        [math.log(run.canary.cost) for run in side if run.canary is not None and run.canary.cost] for side in (old, new)
    )
    return math.exp(statistics.fmean(second) - statistics.fmean(first)) if first and second else 1.0


def note_on_changes(groups: Sequence[ChangeGroup]) -> str:
    """Return `What changed: Image onnxruntime: onnxruntime 1.30.0 → 1.31.1; and 3 more`, as a sentence."""
    found = [(group.title, change) for group in groups for change in group.changed if change.state == "changed"]
    varying = sum(change.state == "varies" for group in groups for change in group.changes)
    tail = (
        f" {units.plural(varying, 'fact')} differ{'s' if varying == 1 else ''} among the runs of one side."
        if varying
        else ""
    )
    missing = sum(change.state == "unrecorded" for group in groups for change in group.changes)
    if missing:
        tail += f" {units.plural(missing, 'fact')} {'was' if missing == 1 else 'were'} not recorded by every run."
    if not found:
        return f"Nothing that is recorded about the environment changed between the sides.{tail}"
    # A version says more than the digests that change with it, or than what only one side recorded.
    found.sort(
        key=lambda it: (NOT_THERE in (it[1].old, it[1].new), phrases.value(it[1].new) != phrases.clean(it[1].new))
    )
    named = [f"{phrases.clean(title, 60)}: {phrases.change(change)}" for title, change in found[:MOST_CHANGES]]
    more = f"; and {len(found) - MOST_CHANGES} more" if len(found) > MOST_CHANGES else ""
    return f"What changed: {'; '.join(named)}{more}.{tail}"


def notes_on_drivers(old: Sequence[Reduced], new: Sequence[Reduced], table: Table | None) -> tuple[str, ...]:
    """Return what a reader must know about driver and CUDA, each sentence once."""
    if table is None:
        return ()
    found = [
        warning
        for before, after in dict.fromkeys(((len(old) - 1, 0), (0, len(new) - 1)))
        for warning in between(
            table,
            {"gpu": old[before].gpu},
            {"gpu": new[after].gpu},
            old_images=old[before].images,
            new_images=new[after].images,
        )
    ]
    about = (f"{warning.about}: {warning.message}" if warning.about else warning.message for warning in found)
    texts = (f"{text} {warning.remedy}".strip() for text, warning in zip(about, found, strict=True))
    return tuple(dict.fromkeys(phrases.clean(text, 1000) for text in texts))
