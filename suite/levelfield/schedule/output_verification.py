"""Compare a worker's output with the float64 reference, and check in which precision it was computed."""

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import numpy as np

from levelfield.plan.decoding import call_of
from levelfield.prepare.own_model import reference
from levelfield.record.schema import Absent, Case, Computed, Parity
from levelfield.schedule.outcomes import Outcome, ask, run_jobs
from levelfield.schedule.resources import RunResources
from levelfield.worker.messages import Verified, Verify
from levelfield.zoo import honesty, models, parity
from levelfield.zoo.sensitivity import allowed

VERIFY_TIMEOUT_S = 300.0
ITEM_BYTES = 4
"""A float32."""
VERIFY_INPUTS = 2
"""Inputs compared at the least, in every launch: the centred error needs two."""
VERIFY_NUMBERS = 64
"""In lower precisions, numbers of the output at the least: the size of an error is estimated from them."""
VERIFY_CLASSES = 16
"""In int8, inputs of a classifier at the least: whether its first class stays the same is judged from them."""
AFTER_WINDOWS = "It was equal before the timed windows and is not after them."
"""Precedes the reason of an answer that changed."""
HIDDEN = ("bf16", "tf32")
"""What an answer that claims fp32 may have been computed in; looked for only where it is over its tolerance."""

_Reference = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
_Yardstick = Callable[[str], float]
"""Precision to the relative error that rounding the weights to it makes."""


def verify_count(case: Case) -> int:
    """Return how many inputs are compared: whole batches, and as many as the case's precision needs."""
    least = VERIFY_INPUTS
    if case.precision != honesty.FP32:
        output = models.get(case.model).output.shape
        least = max(least, -(-VERIFY_NUMBERS // math.prod(output)))
        if case.precision == "int8" and len(output) == 1:
            least = max(least, VERIFY_CLASSES)
    return -(-max(case.batch, least) // case.batch) * case.batch


def verify_outputs(resources: RunResources, case: Case, outcome: Outcome) -> None:
    """Compare a worker's outputs with the reference; a worker that cannot answer is ended."""
    count = _count(resources, case)
    known = resources.known_computed(case, outcome.arm)
    verified = ask(outcome, "verify", Verify(count, ask_computed=known is None), Verified, VERIFY_TIMEOUT_S)
    if verified is None:
        return
    outcome.answered = verified.calls
    computed = verified.computed if known is None else None  # nobody asked
    if known is not None:
        verified = msgspec.structs.replace(verified, computed=known)
    resources.remember_computed(case, outcome.arm, computed)
    outcome.note(parity=_judge(resources, case, verified, count), computed=computed)


def verify_again(resources: RunResources, case: Case, outcome: Outcome) -> None:
    """Compare a worker's outputs with the reference once more, after its timed windows.

    The inputs and the tolerance are those of the first comparison, so that a slow model costs a call or two. A training
    is not compared again: that would take its ten steps once more; each of its timed steps has to have a finite loss.

    `outcome`: its launch gets the second parity; where that is not equal, it replaces the first.
    """
    first = outcome.launch.parity
    if case.trains or first is None or not first.equal:
        return
    count = _count(resources, case)
    verified = ask(outcome, "verify", Verify(count, again=True, ask_computed=False), Verified, VERIFY_TIMEOUT_S)
    if verified is None:
        return
    computed = outcome.launch.computed or resources.known_computed(case, outcome.arm)
    if computed is not None:  # what it is loaded as did not change
        verified = msgspec.structs.replace(verified, computed=computed)
    found = _judge(resources, case, verified, count)
    outcome.note(parity_after=msgspec.structs.replace(found, projection=()))
    if not found.equal:
        moved = msgspec.structs.replace(found, reason=f"{AFTER_WINDOWS} {found.reason}")
        outcome.note(parity=moved)


def verify_all_again(resources: RunResources, case: Case, outcomes: Sequence[Outcome]) -> None:
    """Compare every worker's outputs once more, as many at once as there are CPUs: nothing is timed any more."""
    run_jobs([partial(verify_again, resources, case, outcome) for outcome in outcomes], at_once=case.threads)


def _count(resources: RunResources, case: Case) -> int:
    return verify_count(case) if resources.own_of(case) is None else reference.count_of(case.batch)


def _judge(resources: RunResources, case: Case, verified: Verified, count: int) -> Parity:
    own = resources.own_of(case)
    if own is not None:
        return reference.compare_answer(verified, own.answers[case.batch], case.precision, count)
    from_dataset, call = case.definition.from_dataset, call_of(case)
    output_sha256 = hashlib.sha256(verified.output).hexdigest()
    key = (case.model, case.precision, count, from_dataset, call, verified.shape, output_sha256)
    found = resources.compared.get(key)
    if found is None:  # of large outputs the comparison takes seconds; most launches answer with the same bits
        expected = resources.artifacts.reference(case.model, count, from_dataset=from_dataset, call=call)
        moved = resources.artifacts.sensitivity(case.model, case.precision, from_dataset=from_dataset, call=call)
        found = resources.compared[key] = _compared(
            verified,
            output_sha256,
            expected,
            case.precision,
            min(parity.MOST, allowed(moved, case.precision)),
            moved.centred,
        )

    def yardstick(precision: str) -> float:
        return resources.artifacts.rounding_error(case.model, precision, count)

    return _honest(found, case.precision, verified.computed, yardstick)


def compare_outputs(
    verified: Verified, reference: _Reference, precision: str, *, yardstick: _Yardstick | None = None
) -> Parity:
    """Compare a worker's outputs with the reference; the shape that it reports is not trusted.

    `yardstick`: returns the error that rounding the weights to a precision causes; None: the precision is not judged.
    """
    found = _compared(verified, hashlib.sha256(verified.output).hexdigest(), reference, precision)
    return found if yardstick is None else _honest(found, precision, verified.computed, yardstick)


def _compared(
    verified: Verified,
    output_sha256: str,
    reference: _Reference,
    precision: str,
    element: float = math.inf,
    centred: float = parity.MOST,
) -> Parity:
    whole = len(verified.output) // ITEM_BYTES * ITEM_BYTES
    flat = np.frombuffer(verified.output[:whole], dtype="<f4")
    fits = math.prod(verified.shape) == flat.size and min(verified.shape, default=1) >= 0
    output = flat.reshape(verified.shape) if fits and whole == len(verified.output) else flat
    judgement = parity.judge(output, reference, precision, element, centred)
    errors = judgement.errors
    finite = errors is not None and errors.finite
    absent = Absent(judgement.reason or "not comparable")
    return Parity(
        equal=judgement.equal,
        relative_error=errors.relative_l2 if errors and finite else absent,
        centred_error=(
            errors.centred_relative_l2 if errors and finite and errors.centred_relative_l2 is not None else absent
        ),
        max_abs_error=errors.max_abs if errors and finite else absent,
        tolerance=judgement.tolerance,
        inputs=len(reference),
        projection=parity.project(output) if finite else (),
        output_sha256=output_sha256,
        reason=judgement.reason,
        cosine=errors.cosine if errors and errors.cosine is not None else absent,
        top_1=errors.top_1 if errors and errors.top_1 is not None else Absent("its output is no vector of classes"),
        element_error=errors.element if errors and finite else absent,
        element_tolerance=element if math.isfinite(element) else Absent("nobody knows how far the reference moves"),
        centred_tolerance=judgement.centred_tolerance if errors else absent,
    )


def _honest(found: Parity, claimed: str, computed: Computed | None, yardstick: _Yardstick) -> Parity:
    """Add in what it was computed; a claim that does not hold is not equal, whatever its error."""
    if isinstance(found.relative_error, Absent):
        return found
    error = found.relative_error
    looked_for = (claimed,) if claimed != honesty.FP32 else HIDDEN if not found.equal else ()
    sizes = {precision: yardstick(precision) for precision in looked_for}
    finding = honesty.judge(claimed, error, sizes, computed)
    return msgspec.structs.replace(
        found,
        equal=found.equal and finding.holds,
        reason=found.reason if finding.holds else finding.reason,
        rounding_error=sizes.get(claimed, Absent("asked for lower precisions only")),
        computed_in=finding.computed_in,
        emulated=finding.emulated,
    )
