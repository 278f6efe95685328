"""The whole comparison: two sides of runs in, one `Comparison` out. Pure: no file is read here."""

from collections.abc import Sequence

from levelfield.compare import changes, conclusion, drift, matching, notes, order_in_time, rows
from levelfield.compare.noise_gate import notes as gate_notes
from levelfield.compare.reduction import Reduced, question
from levelfield.compare.rows import Selection
from levelfield.compare.types import Comparison, Gate, Side
from levelfield.compatibility.table import Table
from levelfield.errors import LevelfieldError
from levelfield.report import units


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

    `old`, `new`: at least one run a side; no run twice. `labels`: names of the sides; empty: the run's id, or how many
    runs there are. `table`: which CUDA releases fit which drivers; None: it is not checked. Raises LevelfieldError: a
    run is named twice, nothing is selected, or the sides have no case in common.
    """
    gate, selection = gate or Gate(), selection or Selection()
    _check_distinct(old, new)
    arms = [{name: arm for run in side for name, arm in run.arms.items()} for side in (old, new)]
    pairs = matching.pair_arms(arms[0], arms[1])
    same = changes.have_same_hardware((*old, *new))
    judged = rows.compare_rows(old, new, pairs, gate, selection, same_hardware=same)
    if not judged:
        raise _nothing_selected(old, new, selection)
    if not any(rows.in_common(old, new, pair, selection) for pair in pairs):
        raise _unrelated(old, new)
    files = all(run.imported is not None for run in (*old, *new))  # which hold no outputs
    whole = gate.derived is None or gate.derived.at_hand  # a gate's file alone holds no outputs and no environment
    kept = {(row.old_arm, row.new_arm, question(row.case)) for row in judged}
    drifts = tuple(
        found
        for found in (drift.find_drift(pairs, old, new, same_hardware=same) if whole and not files else ())
        if (found.old_arm, found.new_arm, (found.model, found.precision, found.batch, found.threads, found.device))
        in kept
    )
    changed = changes.compare_environments(old, new, pairs) if whole else ()
    share = order_in_time.share_of_step(*([run.moment for run in side] for side in (old, new)))
    if gate.derived is not None:
        order = tuple(gate_notes.notes(old, new, judged, gate.derived))
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
                *notes.notes_on_runs(old, new, judged, changed, same_hardware=same),
                *order,
                *notes.notes_on_drivers(old, new, table),
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
                raise LevelfieldError(
                    f"The run {run.facts.id[:100]} is named {where}.",
                    fix="Name every run once: a run says nothing about how it would come out a second time.",
                )
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
