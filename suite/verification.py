"""What a worker computed, compared with the float64 reference."""

import math

import msgspec
import numpy as np

from suite.launchers.worker import WorkerError
from suite.outcomes import Outcome, fail
from suite.records.schema import Absent, Case, Parity
from suite.site import Site
from suite.worker.messages import Verified, Verify
from suite.zoo import parity

VERIFY_TIMEOUT_S = 300.0
ITEM_BYTES = 4
"""A float32."""
VERIFY_INPUTS = 2
"""Inputs compared at the least, in every launch: the centred error needs two."""


def verify_count(batch: int) -> int:
    """Return how many inputs are compared: whole batches, and `VERIFY_INPUTS` at the least."""
    return -(-max(batch, VERIFY_INPUTS) // batch) * batch


def verify_outcome(site: Site, case: Case, outcome: Outcome) -> None:
    """Compare a worker's output with the reference; a worker that cannot answer is ended."""
    if outcome.worker is None:
        return
    count = verify_count(case.batch)
    try:
        verified = outcome.worker.ask(Verify(count), Verified, VERIFY_TIMEOUT_S)
        outcome.launch = msgspec.structs.replace(
            outcome.launch, parity=judge(verified, _reference(site, case, count), case.precision)
        )
    except WorkerError as error:
        fail(outcome, "verify", error)


def _reference(site: Site, case: Case, count: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    return site.artifacts.reference(case.model, count, from_dataset=case.scenario == "data-pipeline")


def judge(verified: Verified, reference: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", precision: str) -> Parity:
    """Compare a worker's outputs with the reference; what it says of their shape is not trusted."""
    import hashlib

    whole = len(verified.output) // ITEM_BYTES * ITEM_BYTES
    flat = np.frombuffer(verified.output[:whole], dtype="<f4")
    fits = math.prod(verified.shape) == flat.size and min(verified.shape, default=1) >= 0
    output = flat.reshape(verified.shape) if fits and whole == len(verified.output) else flat
    judgement = parity.judge(output, reference, precision)
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
        output_sha256=hashlib.sha256(verified.output).hexdigest(),
        reason=judgement.reason,
    )
