"""Compare a worker's output with the float64 reference, and check in which precision it was computed."""

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import numpy as np

from suite.plan.decoding import call_of
from suite.prepare.own_model import reference
from suite.record.schema import Absent, Arm, Case, Computed, Parity, TrainingErrors, TrainingParity, Window
from suite.schedule import parallel
from suite.schedule.outcomes import Outcome, ask
from suite.schedule.resources import RunResources
from suite.worker.messages import CheckUpdate, Converged, Train, Trained, Updated, Verified, Verify
from suite.zoo import honesty, models, parity
from suite.zoo.training import claims, convergence, recipe, update
from suite.zoo.training import parity as training_parity
from suite.zoo.training.convergence import ExpectedStart
from suite.zoo.training.recipe import Errors, Goal, Optimizer
from suite.zoo.training.trajectory import Trajectory

VERIFY_TIMEOUT_S = 300.0
TRAIN_TIMEOUT_S = 900.0
"""Ten steps of BERT took half a minute; compiling them for another batch may take minutes."""
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


def verify_outcome(resources: RunResources, case: Case, outcome: Outcome) -> None:
    """Compare a worker's output, or its training, with the reference; a worker that cannot answer is ended.

    Parameters
    ----------
    resources
        Holds the references.
    case
        The case that the worker has loaded.
    outcome
        Its launch gets the parity.
    """
    if case.trains:
        _verify_training(resources, case, outcome)
        return
    count = _count(resources, case)
    known = known_computed(resources, case, outcome.arm)
    verified = ask(outcome, "verify", Verify(count, ask_computed=known is None), Verified, VERIFY_TIMEOUT_S)
    if verified is None:
        return
    outcome.answered = Window(**msgspec.structs.asdict(verified.calls)) if verified.calls is not None else None
    computed = _recorded(verified.computed)
    if known is not None:
        verified = msgspec.structs.replace(verified, computed=honesty.Computed(known.products, known.source))
    remember_computed(resources, case, outcome.arm, computed)
    outcome.launch = msgspec.structs.replace(
        outcome.launch, parity=_judge(resources, case, verified, count), computed=computed
    )


def _verify_training(resources: RunResources, case: Case, outcome: Outcome) -> None:
    rule = models.recipe(case.model)
    updated = check_update(outcome, rule.optimizer, case.model, case.processes)
    known = known_computed(resources, case, outcome.arm)
    # Of fp32 the size of the errors says enough; some frameworks compile once more to say it.
    asked = known is None and case.precision != honesty.FP32
    request = Train(recipe.STEPS, rule.trajectory_batch, ask_computed=asked)
    trained = ask(outcome, "verify", request, Trained, TRAIN_TIMEOUT_S)
    if updated is None or trained is None:
        return
    if known is not None:
        trained = msgspec.structs.replace(trained, computed=honesty.Computed(known.products, known.source))
    found = _recorded(trained.computed) if asked else None
    remember_computed(resources, case, outcome.arm, found)
    reference = resources.artifacts.trajectory(case.model)
    compared = judge_training(trained, updated, reference, case.model, case.precision)
    outcome.launch = msgspec.structs.replace(outcome.launch, parity=compared, computed=found)


def _recorded(computed: honesty.Computed | None) -> Computed | None:
    return Computed(**msgspec.structs.asdict(computed)) if computed is not None else None


def known_computed(resources: RunResources, case: Case, arm: Arm) -> Computed | None:
    """Return what an arm was found to compute in earlier in this run; None: it is to be asked.

    On a CPU that follows from the image, the model and the precision, and some frameworks take seconds to say it: it is
    asked of the first launch of each case that is timed in windows, and of others only where no launch was asked. On a
    GPU a framework chooses algorithms by their speed, so every launch is asked.

    Parameters
    ----------
    resources
        Of the run; hold what was found so far.
    case, arm
        A case and an arm of it.
    """
    return resources.computed.get(_place_of(case, arm)) if case.device == "cpu" else None


def remember_computed(resources: RunResources, case: Case, arm: Arm, computed: Computed | None) -> None:
    """Keep what an arm was found to compute in for the launches that follow.

    Parameters
    ----------
    resources, case, arm
        As in `known_computed`.
    computed
        What was found; None: it does not say.
    """
    if computed is not None:
        resources.computed[_place_of(case, arm)] = computed
        resources.computed.setdefault((arm.id, case.model, case.precision), computed)


def _place_of(case: Case, arm: Arm) -> tuple[str, ...]:
    return (arm.id, case.id) if case.timed else (arm.id, case.model, case.precision)


def verify_again(resources: RunResources, case: Case, outcome: Outcome) -> None:
    """Compare a worker's outputs with the reference once more, after its timed windows.

    The inputs and the tolerance are those of the first comparison, so that a slow model costs a call or two. A training
    is not compared again: that would take its ten steps once more; each of its timed steps has to have a finite loss.

    Parameters
    ----------
    resources, case
        As in `verify_outcome`.
    outcome
        Its launch gets the second parity; where that is not equal, it replaces the first.
    """
    first = outcome.launch.parity
    if case.trains or first is None or not first.equal:
        return
    count = _count(resources, case)
    verified = ask(outcome, "verify", Verify(count, again=True, ask_computed=False), Verified, VERIFY_TIMEOUT_S)
    if verified is None:
        return
    computed = outcome.launch.computed or known_computed(resources, case, outcome.arm)
    if computed is not None:  # what it is loaded as did not change
        verified = msgspec.structs.replace(verified, computed=honesty.Computed(computed.products, computed.source))
    found = _judge(resources, case, verified, count)
    outcome.launch = msgspec.structs.replace(outcome.launch, parity_after=msgspec.structs.replace(found, projection=()))
    if not found.equal:
        moved = msgspec.structs.replace(found, reason=f"{AFTER_WINDOWS} {found.reason}")
        outcome.launch = msgspec.structs.replace(outcome.launch, parity=moved)


def verify_all_again(resources: RunResources, case: Case, outcomes: Sequence[Outcome]) -> None:
    """Compare every worker's outputs once more, as many at once as there are CPUs: nothing is timed any more.

    Parameters
    ----------
    resources, case, outcomes
        As in `verify_again`; the references are there since the first comparison.
    """
    parallel.run([partial(verify_again, resources, case, outcome) for outcome in outcomes], at_once=case.threads)


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
        found = resources.compared[key] = _compared(verified, output_sha256, expected, case.precision)

    def yardstick(precision: str) -> float:
        return resources.artifacts.rounding_error(case.model, precision, count)

    return _honest(found, case.precision, verified.computed, yardstick)


def verify_trainings(resources: RunResources, case: Case, outcomes: Sequence[Outcome]) -> None:
    """Compare every training with the reference, as many at once as there are CPUs: most of it is compiling.

    Parameters
    ----------
    resources, case
        As in `verify_outcome`.
    outcomes
        Their launches get the parities.
    """
    resources.artifacts.trajectory(case.model)  # made once, before several look for it
    parallel.run([partial(verify_outcome, resources, case, outcome) for outcome in outcomes], at_once=case.threads)


def compare_outputs(
    verified: Verified, reference: _Reference, precision: str, *, yardstick: _Yardstick | None = None
) -> Parity:
    """Compare a worker's outputs with the reference; the shape that it reports is not trusted.

    Parameters
    ----------
    verified
        Outputs as the worker sent them.
    reference : ndarray of float64, shape (count, …)
        Output of the reference for the same inputs.
    precision
        Its tolerance applies.
    yardstick
        Returns the error that rounding the weights to a precision causes; None: the precision is not judged.
    """
    found = _compared(verified, hashlib.sha256(verified.output).hexdigest(), reference, precision)
    return found if yardstick is None else _honest(found, precision, verified.computed, yardstick)


def _compared(verified: Verified, output_sha256: str, reference: _Reference, precision: str) -> Parity:
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
        output_sha256=output_sha256,
        reason=judgement.reason,
        cosine=errors.cosine if errors and errors.cosine is not None else absent,
        top_1=errors.top_1 if errors and errors.top_1 is not None else Absent("its output is no vector of classes"),
    )


def _honest(found: Parity, claimed: str, computed: honesty.Computed | None, yardstick: _Yardstick) -> Parity:
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


def check_update(outcome: Outcome, optimizer: Optimizer, network: str, processes: int = 1) -> update.Judgement | None:
    """Let a worker that trains take steps with given gradients, and compare its weights with the float64 rule's.

    Parameters
    ----------
    outcome
        With a training that is loaded.
    optimizer, network, processes
        The recipe's, the name of the model that is trained, and how many processes train together.

    Returns
    -------
    Judgement or None
        None where there is no worker, or it cannot: then it is ended.
    """
    by = update.amplification(optimizer)
    request = CheckUpdate(by.learning_rate, by.weight_decay)
    updated = ask(outcome, "verify", request, Updated, TRAIN_TIMEOUT_S)
    if updated is None:
        return None
    return update.judge(updated.values, models.get(network), optimizer, processes=processes)


def judge_training(
    trained: Trained, updated: update.Judgement, reference: Trajectory, model: str, precision: str = honesty.FP32
) -> Parity:
    """Compare a worker's ten steps with the reference; it is the losses that stand for the output.

    Parameters
    ----------
    trained
        What the worker says; not trusted to have as many numbers as it should.
    updated
        What was found of its update rule.
    reference
        The float64 trajectory.
    model
        Whose training it is.
    precision
        In which the worker was asked to compute.
    """
    found = Trajectory(trained.losses, trained.gradients, trained.weights, trained.statistics)
    judgement = training_parity.judge(found, reference, model, precision)
    finding = claims.judge(
        precision,
        judgement.errors,
        training_parity.sensitivities(model),
        trained.computed,
        equal=judgement.equal,
    )
    return _training_parity(
        trained.losses,
        reference.losses,
        models.recipe(model).trajectory_batch,
        equal=judgement.equal and updated.equal,
        finding=finding,
        reasons=(updated.reason, judgement.reason),
        unknown=judgement.reason or "not comparable",
        centred="a training has no inputs to take the mean over",
        tolerance=judgement.tolerances.losses,
        errors=_known(judgement.errors, updated.error),
        tolerances=_known(judgement.tolerances, updated.tolerance),
    )


def judge_convergence(
    converged: Converged,
    updated: update.Judgement,
    expected: ExpectedStart,
    goal: Goal,
    precision: str = honesty.FP32,
) -> Parity:
    """Compare the first ten losses of a training to a target with the reference's, from the same seed.

    Parameters
    ----------
    converged
        What the worker says; not trusted to have as many losses as it should.
    updated
        What was found of its update rule.
    expected
        The float64 reference's.
    goal
        What was trained.
    precision
        In which the worker was asked to compute.
    """
    found = convergence.error(converged.losses, expected.losses, own=bool(goal.images))
    whole = math.isfinite(found)
    equal = found <= expected.tolerance
    reason = ""
    if not equal and converged.diverged:
        reason = converged.diverged
    elif not equal:
        off = f"off by {found:.1e}" if whole else "not comparable"
        reason = (
            f"It does not train as the reference does: the losses of the first ten steps are {off} "
            f"({expected.tolerance:.0e} allowed)."
        )
    # Only the losses of such a training have a known sensitivity in each precision.
    finding = claims.judge(
        precision,
        _only_losses(found),
        {name: _only_losses(size) for name, size in convergence.sensitivities(goal).items()},
        None,
        equal=equal,
    )
    only_losses = "of a training to a target, the first losses are compared"
    absent = Absent(only_losses)
    return _training_parity(
        converged.losses,
        expected.losses,
        goal.batch,
        equal=equal and updated.equal,
        finding=finding,
        reasons=(updated.reason, reason),
        unknown=reason,
        centred=only_losses,
        tolerance=expected.tolerance,
        errors=TrainingErrors(found if whole else Absent(reason), absent, absent, absent, _comparable(updated.error)),
        tolerances=TrainingErrors(expected.tolerance, absent, absent, absent, updated.tolerance),
    )


def _training_parity(
    losses: tuple[float, ...],
    expected: tuple[float, ...],
    batch: int,
    *,
    equal: bool,
    finding: honesty.Finding,
    reasons: tuple[str, ...],
    unknown: str,
    centred: str,
    tolerance: float,
    errors: TrainingErrors,
    tolerances: TrainingErrors,
) -> Parity:
    """Return the parity of a training, of which the losses stand for the output."""
    known = not isinstance(errors.losses, Absent)
    steps = np.asarray(losses, dtype="<f8")
    return Parity(
        equal=equal and finding.holds,
        relative_error=errors.losses if known else Absent(unknown),
        centred_error=Absent(centred),
        max_abs_error=float(np.abs(steps - expected).max()) if known else Absent(unknown),
        tolerance=tolerance,
        inputs=len(expected) * batch,
        projection=losses if known else (),
        output_sha256=hashlib.sha256(steps.tobytes()).hexdigest(),
        reason=" ".join(filter(None, (finding.reason, *reasons))),
        computed_in=finding.computed_in,
        emulated=finding.emulated,
        training=TrainingParity(
            batch=batch, losses=losses if known else (), reference=expected, errors=errors, tolerances=tolerances
        ),
    )


def _only_losses(error: float) -> Errors:
    return Errors(losses=error, gradients=math.inf, weights=math.inf)


def _known(errors: Errors, update_error: float) -> TrainingErrors:
    return TrainingErrors(
        losses=_comparable(errors.losses),
        gradients=_comparable(errors.gradients),
        weights=_comparable(errors.weights),
        statistics=(
            Absent("the model has no running statistics")
            if errors.statistics is None
            else _comparable(errors.statistics)
        ),
        update=_comparable(update_error),
    )


def _comparable(error: float) -> float | Absent:
    return error if math.isfinite(error) else Absent("what the worker said cannot be compared")
