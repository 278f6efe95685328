"""Compare a worker's training with the float64 reference: its update rule, its ten steps, its first losses."""

import hashlib
import math
from collections.abc import Sequence
from functools import partial

import msgspec
import numpy as np

from levelfield.record.schema import Absent, Case, Parity, TrainingErrors, TrainingParity
from levelfield.schedule.outcomes import Outcome, ask, run_jobs
from levelfield.schedule.resources import RunResources
from levelfield.worker.messages import CheckUpdate, Converged, Train, Trained, Updated
from levelfield.zoo import honesty, models
from levelfield.zoo.training import convergence, parity, recipe, update
from levelfield.zoo.training.convergence import ExpectedStart
from levelfield.zoo.training.recipe import Errors, Goal, Optimizer
from levelfield.zoo.training.trajectory import Trajectory

TRAIN_TIMEOUT_S = 900.0
"""Ten steps of BERT took half a minute; compiling them for another batch may take minutes."""


def verify_trainings(resources: RunResources, case: Case, outcomes: Sequence[Outcome]) -> None:
    """Compare every training with the reference, as many at once as there are CPUs: most of it is compiling."""
    resources.artifacts.trajectory(case.model)  # made once, before several look for it
    run_jobs([partial(_verify_training, resources, case, outcome) for outcome in outcomes], at_once=case.threads)


def _verify_training(resources: RunResources, case: Case, outcome: Outcome) -> None:
    rule = models.recipe(case.model)
    updated = check_update(outcome, rule.optimizer, case.model, case.processes)
    known = resources.known_computed(case, outcome.arm)
    # Of fp32 the size of the errors says enough; some frameworks compile once more to say it.
    asked = known is None and case.precision != honesty.FP32
    request = Train(recipe.STEPS, rule.trajectory_batch, ask_computed=asked)
    trained = ask(outcome, "verify", request, Trained, TRAIN_TIMEOUT_S)
    if updated is None or trained is None:
        return
    if known is not None:
        trained = msgspec.structs.replace(trained, computed=known)
    found = trained.computed if asked else None
    resources.remember_computed(case, outcome.arm, found)
    reference = resources.artifacts.trajectory(case.model)
    compared = judge_training(trained, updated, reference, case.model, case.precision)
    outcome.note(parity=compared, computed=found)


def check_update(outcome: Outcome, optimizer: Optimizer, network: str, processes: int = 1) -> update.Judgement | None:
    """Let a worker that trains take steps with given gradients, and compare its weights with the float64 rule's.

    Returns none where there is no worker, or it cannot: then it is ended.
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

    `trained`: what the worker says; not trusted to have as many numbers as it should.
    """
    found = Trajectory(trained.losses, trained.gradients, trained.weights, trained.statistics)
    judgement = parity.judge(found, reference, model, precision)
    finding = honesty.judge_training(
        precision, judgement.errors, parity.sensitivities(model), trained.computed, equal=judgement.equal
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
    converged: Converged, updated: update.Judgement, expected: ExpectedStart, goal: Goal, precision: str = honesty.FP32
) -> Parity:
    """Compare the first ten losses of a training to a target with the reference's, from the same seed.

    `converged`: what the worker says; not trusted to have as many losses as it should.
    """
    found = parity.largest(converged.losses, expected.losses)
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
    finding = honesty.judge_training(
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
