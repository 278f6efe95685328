"""How many batches of inputs the timed calls of a case take in turn, and that all workers hold the same."""

import functools
import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from levelfield.plan.decoding import call_of
from levelfield.prepare.own_model import store
from levelfield.record.schema import Case
from levelfield.schedule.launches import require_same
from levelfield.schedule.outcomes import Outcome, ask, run_jobs
from levelfield.schedule.resources import RunResources
from levelfield.worker import sources
from levelfield.worker.messages import Rotate, Rotated
from levelfield.zoo import decoding, inputs, models
from levelfield.zoo.decoding import Call
from levelfield.zoo.weights import Arrays

SETS = 4
"""Batches, unless they are large."""
FEWEST = 2
MOST_BYTES = 64 << 20
"""Of all batches together, unless two of them are more."""
TIMEOUT_S = 300.0


def sets_of(resources: RunResources, case: Case) -> int:
    """Return how many batches of inputs a case's timed calls take in turn.

    One where the calls choose no inputs, or must not: `data-pipeline` reads the next batch of a dataset in every call
    anyway; a network in Python has its inputs itself; a training step changes the weights, so that no call repeats
    another, and processes that train together need not agree on which batch comes next.
    """
    own, plain = resources.own_of(case), case.timed or case.definition.driven
    if not plain or case.trains or case.definition.from_dataset or (own is not None and own.model.function):
        return 1
    return max(FEWEST, min(SETS, MOST_BYTES // max(1, _batch_bytes(resources, case))))


def rotate(resources: RunResources, case: Case, outcomes: Sequence[Outcome]) -> None:
    """Have every worker make the inputs of its timed calls, several at once; a worker that cannot is ended."""
    sets = sets_of(resources, case)
    if sets == 1:
        return
    _digest(resources, case, sets)  # made once, before several look for it

    def rotate_one(outcome: Outcome) -> None:
        rotated = ask(outcome, "load", Rotate(sets), Rotated, TIMEOUT_S)
        if rotated is None:
            return
        expected = (
            _digest(resources, case, rotated.sets) if rotated.sets in (1, sets) else "of another number of batches"
        )
        if require_same(outcome, "timed inputs", rotated.sha256, expected):
            outcome.note(timed_inputs=rotated.sets, timed_inputs_sha256=rotated.sha256)

    run_jobs([partial(rotate_one, outcome) for outcome in outcomes], at_once=case.threads)


def _batch_bytes(resources: RunResources, case: Case) -> int:
    own = resources.own_of(case)
    if own is not None:
        return sum(
            np.dtype(each.dtype).itemsize * math.prod(each.shape) * (case.batch if each.batched else 1)
            for each in own.model.inputs
        )
    tensors = models.get(case.model).inputs
    return case.batch * sum(np.dtype(tensor.dtype).itemsize * math.prod(tensor.shape) for tensor in tensors)


def _digest(resources: RunResources, case: Case, sets: int) -> str:
    own = resources.own_of(case)
    if own is None:
        return _zoo_digest(case.model, case.batch, sets, call_of(case))
    described = store.description(own.model, str(resources.artifacts.root))
    made = sources.rotation(lambda first: inputs.make_own(described, first, case.batch), sets=sets, batch=case.batch)
    return sources.rotation_digest(made)


@functools.cache
def _zoo_digest(model: str, batch: int, sets: int, call: Call | None) -> str:
    """Return the digest of a model's first batches; made once, since they are the same in every launch."""
    found = models.get(model)

    def make(first: int) -> Arrays:
        return inputs.make(found, first, batch) if call is None else decoding.inputs(found, call, first, batch)

    return sources.rotation_digest(sources.rotation(make, sets=sets, batch=batch))
