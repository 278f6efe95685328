"""Whether the answers changed, by how much, and whether rounding is enough to explain it.

**How far.** Records keep a fixed random projection of each output (64 numbers, `zoo.parity.project`). The squared
distance of two projections estimates that of the outputs, with a relative error of about √(2/64) = 18 % (Achlioptas
2003), 9 % for the distance itself. Old and new are compared by ‖new − old‖ / ‖old‖.

**How far rounding goes.** Two correct programs that each stay within an error e of the exact answer are at most 2·e
apart (triangle inequality). For e we take the largest error that correct programs are known to have: of all arms that
were equal to the float64 reference on the old side, for that model and precision; and never less than what seven
backends were measured to have over all models, 9e-7 in fp32 and 2e-2 in bf16 (`zoo.parity.TOLERANCES` has
the same figures). Beyond that, something other than the order of additions changed: another algorithm, another
precision inside, another constant. The gate of equality itself is wider (1e-5 in fp32), so that such a move can still
be equal to the reference.

References
----------
D. Achlioptas (2003). Database-friendly random projections: Johnson–Lindenstrauss with binary coins. JCSS 66, 671–687.
N. J. Higham (2002). Accuracy and Stability of Numerical Algorithms, 2nd ed., chapter 4 (the order of a sum decides its
error).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
import numpy as np

from levelfield.analysis import accuracy
from levelfield.analysis.summary import Answer, Question, Reduced
from levelfield.analysis.summary import question as question_of
from levelfield.compare.sides import Pair, different_digests
from levelfield.compare.types import Drift, Movement, Outcome, Row, Verdict
from levelfield.record.schema import Absent, Accuracy, DataSet, Parity

KNOWN_ERRORS: Mapping[str, float] = MappingProxyType({"fp32": 9e-7, "bf16": 2e-2, "int8": 6.5e-2})
"""Largest relative error of a correct answer, by precision, over the backends that have it and three models; what runs
on GPUs alone has not been measured."""
WORSE = 0.01
"""Level at which an arm's answers to a data set are worse than before, by one measure: by McNemar's test of shares of
right answers, else by drawing the items again."""
UNKNOWN_SHARE = 0.1
"""For a precision without such a figure: this share of the tolerance that its record names."""


def find_drift(
    pairs: Sequence[Pair], old: Sequence[Reduced], new: Sequence[Reduced], *, same_hardware: bool | None
) -> tuple[Drift, ...]:
    """Judge every answer that both sides gave."""
    before, after = _by_question(old), _by_question(new)
    given = _answers(old), _answers(new)
    scale = _errors(old)
    asked: dict[str, list[Question]] = {}
    for arm, question in given[0]:
        asked.setdefault(arm, []).append(question)
    found: list[Drift] = []
    for old_arm, new_arm in pairs:
        for question in asked.get(old_arm, ()):
            if (new_arm, question) not in given[1]:
                continue
            first, second = before.get((old_arm, question), ()), after.get((new_arm, question), ())
            other = different_digests(given[0][old_arm, question], given[1][new_arm, question], timed=False)
            known = scale.get(question[:2], 0.0)
            found.append(_drift(question, (old_arm, new_arm), (first, second), known, other))
    if same_hardware is not True:
        found = [_on_other_hardware(drift) for drift in found]
    order = list(_OUTCOMES)
    return tuple(sorted(found, key=lambda drift: order.index(drift.movement)))


def _on_other_hardware(drift: Drift) -> Drift:
    if drift.movement is not Movement.BEYOND:
        return drift
    reason = "other processors add in another order and with other kernels"
    return msgspec.structs.replace(drift, outcome="undecided", reason=reason)


_OUTCOMES: Mapping[Movement, Outcome] = MappingProxyType(
    {
        Movement.BECAME_UNEQUAL: "worse",
        Movement.BEYOND: "worse",
        Movement.UNEQUAL: "undecided",
        Movement.UNKNOWN: "undecided",
        Movement.BECAME_EQUAL: "fine",
        Movement.WITHIN: "fine",
        Movement.IDENTICAL: "fine",
    }
)
"""In the order in which they are shown."""


def _by_question(runs: Iterable[Reduced]) -> dict[tuple[str, Question], tuple[Parity, ...]]:
    found: dict[tuple[str, Question], dict[str, Parity]] = {}
    for run in runs:
        for key, parities in run.parities.items():
            for parity in parities:
                found.setdefault(key, {}).setdefault(parity.output_sha256, parity)
    return {key: tuple(values.values()) for key, values in found.items()}


def _answers(runs: Iterable[Reduced]) -> dict[tuple[str, Question], list[Answer]]:
    """Collect the answers with numbers, by arm and question."""
    found: dict[tuple[str, Question], list[Answer]] = {}
    for run in runs:
        for (arm, case), answer in run.answers.items():
            if answer.cost is not None:
                found.setdefault((arm, question_of(run.cases[case])), []).append(answer)
    return found


def _errors(runs: Iterable[Reduced]) -> dict[tuple[str, str], float]:
    """Find the largest error of answers equal to the reference, by model and precision."""
    found: dict[tuple[str, str], float] = {}
    for run in runs:
        for (_, question), parities in run.parities.items():
            for parity in parities:
                error = _measured(parity.relative_error)
                if parity.equal and error is not None:
                    found[question[:2]] = max(found.get(question[:2], 0.0), error)
    return found


def _drift(
    question: Question, arms: Pair, seen: tuple[tuple[Parity, ...], tuple[Parity, ...]], known: float, other: str
) -> Drift:
    old, new = seen
    precision = question[1]
    tolerance = max((parity.tolerance for parity in (*old, *new)), default=0.0)
    limit = 2 * max(KNOWN_ERRORS.get(precision, UNKNOWN_SHARE * tolerance), known)
    sound = tuple(parity for parity in old if parity.equal) or old
    distance, reason = (None, other) if other else _distance(sound, new)
    movement = _movement(old, new, distance, limit)
    movement = Movement.UNKNOWN if other and movement in (Movement.IDENTICAL, Movement.BECAME_EQUAL) else movement
    if movement is Movement.IDENTICAL:
        distance, reason = 0.0, ""
    if movement in (Movement.BECAME_UNEQUAL, Movement.UNEQUAL):
        reason = next(
            (parity.reason for parity in new if not parity.equal and parity.reason),
            "its output is not equal to the reference",
        )
    return Drift(
        model=question[0],
        precision=precision,
        batch=question[2],
        threads=question[3],
        device=question[4],
        old_arm=arms[0],
        new_arm=arms[1],
        movement=movement,
        outcome=_OUTCOMES[movement],
        reason=reason.rstrip("."),
        distance=distance,
        limit=limit,
        old_error=_largest_error(old),
        new_error=_largest_error(new),
    )


def _movement(old: tuple[Parity, ...], new: tuple[Parity, ...], distance: float | None, limit: float) -> Movement:
    if not old or not new:
        return Movement.UNKNOWN if all(parity.equal for parity in new) else Movement.UNEQUAL
    was, stays = all(parity.equal for parity in old), all(parity.equal for parity in new)
    if not stays:
        return Movement.BECAME_UNEQUAL if was else Movement.UNEQUAL
    sound = [parity for parity in old if parity.equal]
    if not sound:
        return Movement.BECAME_EQUAL
    digests = {parity.output_sha256 for parity in sound}, {parity.output_sha256 for parity in new}
    if digests[1] <= digests[0] and "" not in digests[1] and _are_alike(sound, limit):
        return Movement.IDENTICAL
    if distance is None:
        return Movement.UNKNOWN
    return Movement.WITHIN if distance <= limit else Movement.BEYOND


def _are_alike(old: Sequence[Parity], limit: float) -> bool:
    """Return whether old outputs are one and the same but for rounding, so that a new one among them did not move."""
    if len({parity.output_sha256 for parity in old}) == 1:
        return True
    apart, _ = _distance(tuple(old), tuple(old))
    return apart is None or apart <= limit


def _distance(old: tuple[Parity, ...], new: tuple[Parity, ...]) -> tuple[float | None, str]:
    """Return the largest relative distance between an old and a new output, or why it is not known."""
    if not old or not new:
        return None, f"the {'old' if not old else 'new'} side did not compare its output with the reference"
    if len({parity.inputs for parity in (*old, *new)}) > 1:
        return None, "another number of inputs was compared"
    lengths = {len(parity.projection) for parity in (*old, *new)}
    if len(lengths) > 1 or lengths == {0}:
        return None, "the records do not both hold a projection of the output"
    first = np.array([parity.projection for parity in old])
    second = np.array([parity.projection for parity in new])
    with np.errstate(over="ignore", invalid="ignore"):  # an untrusted record may hold numbers of any size
        size = float(np.linalg.norm(first, axis=1).max())
        apart = float(np.linalg.norm(second[:, None, :] - first[None, :, :], axis=2).max())
    if not math.isfinite(size) or not math.isfinite(apart):
        return None, "the projections of the output are no numbers of an output"
    if size == 0:
        return (0.0, "") if apart == 0 else (None, "the old output is zero everywhere")
    return apart / size, ""


def _largest_error(parities: Iterable[Parity]) -> float | None:
    known = [error for parity in parities if (error := _measured(parity.relative_error)) is not None]
    return max(known, default=None)


def _measured(value: float | Absent) -> float | None:
    return None if isinstance(value, Absent) else value


def with_data_sets(old: Sequence[Reduced], new: Sequence[Reduced], rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows, with a verdict on those whose arm answers a data set worse, or not any more.

    Of whichever runs: in one that answers worse than any old one did, the arm times something else.
    """
    found: dict[tuple[str, ...], tuple[bool, str]] = {}
    for row in rows:
        key = row.old_arm, row.new_arm, row.case.model, row.case.precision, row.case.device
        if key not in found:
            found[key] = _on_data_sets(old, new, *key)
        worse, why = found[key]
        if worse:
            yield msgspec.structs.replace(row, verdict=Verdict.MOVED, outcome="worse", reason=why, ratio=None)
        elif why and row.outcome == "fine":
            yield msgspec.structs.replace(row, verdict=Verdict.INCOMPARABLE, outcome="undecided", reason=why)
        else:
            yield row


def _on_data_sets(
    old: Iterable[Reduced], new: Sequence[Reduced], old_arm: str, new_arm: str, *of: str
) -> tuple[bool, str]:
    """Return whether any answers of an arm are worse than old ones to the same items, and why, or what is missing."""
    missing = ""
    for known, was in (entry for run in old for entry in _answered(run, old_arm, of)):
        for run in new:
            given = [now for asked, now in _answered(run, new_arm, of) if _items(asked) == _items(known)]
            if not given and was.failure is None:
                missing = f"{known.task} was answered before, and its same items are not now"
            if why := next(filter(None, (_worse(known, was, now) for now in given)), ""):
                return True, why
    return False, missing


def _answered(run: Reduced, arm: str, of: Sequence[str]) -> Iterator[tuple[DataSet, Accuracy]]:
    known = {(each.task, each.model): each for each in run.data_sets}
    for each in run.accuracies:
        if (each.arm, each.model, each.precision, each.device) == (arm, *of):
            yield known[each.task, each.model], each


def _items(known: DataSet) -> tuple[str, str, tuple[int, ...]]:
    return known.task, known.sha256, known.items


def _worse(known: DataSet, was: Accuracy, now: Accuracy) -> str:
    """Say which answers to the same items got worse, at `WORSE`; empty: none did, for all they say."""
    if was.failure is not None or now.failure is not None:
        return f"its answers to {now.task} failed" if was.failure is None else ""
    if now.equal is False and was.equal is not False:
        return f"the worker that answered {now.task} is not equal to the reference"
    for metric in known.metrics:
        before, after = (accuracy.value(known, each, metric) for each in (was, now))
        if not before > after and (math.isnan(before) or not math.isnan(after)):
            continue
        found = accuracy.change(known, was, now, metric, confidence=1 - WORSE)
        if found is None or (found.p < WORSE if found.p is not None else found.high is None or found.high < 0):
            return f"its {metric} on {now.task} is {after:.3g}, and was {before:.3g}"
    return ""
