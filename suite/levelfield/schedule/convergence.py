"""Launches that train to a target accuracy: one seed a generation, one arm after the other, each a turn of its own."""

from collections.abc import Sequence

import msgspec

from levelfield.machine.disturbance import reasons
from levelfield.machine.signals import Signals, difference
from levelfield.record.schema import Arm, Block, Case, Convergence, Failure, Launch, Noise
from levelfield.schedule import padding
from levelfield.schedule.launches import bring_up, require_same
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import Outcome, ask, ended_on_error, shuffled, utc_now
from levelfield.schedule.resources import RunResources
from levelfield.schedule.training_verification import check_update, judge_convergence
from levelfield.worker.messages import Converge, Converged
from levelfield.zoo.training import convergence
from levelfield.zoo.training.convergence import ExpectedStart
from levelfield.zoo.training.recipe import Goal

TIMEOUT_S = 1800.0
"""The slowest training measured took half a minute beside others that kept both cores busy."""


def trainings(
    resources: RunResources,
    block: Block,
    arms: Sequence[Arm],
    index: int,
    seed: int,
    signals: Signals,
    listener: ProgressListener,
) -> list[Outcome]:
    """Load every arm, then let one after the other train, in random order, while the others sleep.

    Raises LevelfieldError: two workers trained from different weights, or with different batches.
    """
    case = block.case
    listener.say(f"computing how {case.model} must begin from seed {index}, in float64")
    order = shuffled(arms, seed)
    try:
        goal = resources.goal(case.model)
        if reason := convergence.why_not(goal, case.precision):
            return _absent(case, order, Failure(stage="load", kind="unsupported", message=reason))
        expected = convergence.expected_start(goal, index, case.precision)
    except ValueError as error:  # the images are not there, or are others: nobody can train, and other cases can
        return _absent(case, order, Failure(stage="load", kind="error", message=str(error)))
    outcomes = bring_up(
        resources, case, order, verify=False, launch_measured=False, padding_bytes=padding.draw(order, seed)
    )
    with ended_on_error(outcomes):
        for number, outcome in enumerate(outcomes, start=1):
            pids = {each.arm.id: each.worker.pid or 0 for each in outcomes if each.worker is not None}
            _train(outcome, goal, index, expected, signals, {arm: pid for arm, pid in pids.items() if pid})
            listener.progress(f"{outcome.arm.id} trained from seed {index} ({number} of {len(outcomes)})", {})
    return outcomes


def _absent(case: Case, arms: Sequence[Arm], failure: Failure) -> list[Outcome]:
    return [Outcome(arm, case, Launch(arm=arm.id, started=utc_now(), failure=failure)) for arm in arms]


def _train(
    outcome: Outcome, goal: Goal, seed: int, expected: ExpectedStart, signals: Signals, pids: dict[str, int]
) -> None:
    """Let one worker train; one that cannot is ended."""
    before = signals.snapshot(pids)
    converged = ask(outcome, "measure", Converge(seed), Converged, TIMEOUT_S)
    if converged is None:
        return
    noise = difference(before, signals.snapshot(pids), outcome.arm.id)
    updated = check_update(outcome, goal.optimizer, goal.network)
    if updated is None:
        return
    if not (
        require_same(outcome, "weights", converged.weights_sha256, expected.weights_sha256)
        and require_same(outcome, "inputs", converged.inputs_sha256, expected.inputs_sha256)
    ):
        return
    outcome.launch = msgspec.structs.replace(
        outcome.launch,
        parity=judge_convergence(converged, updated, expected, goal, outcome.case.precision),
        convergence=_recorded(converged, goal, seed, noise, len(signals.cpus)),
    )


def _recorded(converged: Converged, goal: Goal, seed: int, noise: Noise, cpus: int) -> Convergence:
    return Convergence(
        network=goal.network,
        seed=seed,
        target=goal.target,
        limit=goal.steps,
        points=converged.points,
        diverged=converged.diverged,
        weights_sha256=converged.weights_sha256,
        inputs_sha256=converged.inputs_sha256,
        noise=noise,
        disturbed=reasons([noise], cpus),
    )
