"""Launches that are measured as a whole: cold starts, peak memory, and trainings to a target, each from a seed."""

from collections.abc import Mapping, Sequence

import msgspec

from levelfield.launchers.worker import WorkerError
from levelfield.machine.disturbance import reasons
from levelfield.machine.signals import Signals, difference
from levelfield.paths import remove_tree
from levelfield.record.journal import Journal, LaunchDone
from levelfield.record.schema import Arm, Block, Case, Convergence, Failure, Launch, Noise
from levelfield.schedule.launches import bring_up, probe, require_same
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import Outcome, ask, end_workers, ended_on_error, fail, shuffled, utc_now
from levelfield.schedule.output_verification import verify_outputs
from levelfield.schedule.resources import RunResources, cache_folder
from levelfield.schedule.training_verification import check_update, judge_convergence
from levelfield.worker.messages import Converge, Converged, Measure, Measured
from levelfield.zoo.training import convergence
from levelfield.zoo.training.convergence import ExpectedStart
from levelfield.zoo.training.recipe import Goal

MEMORY_CALLS = 3
"""Calls before peak memory is read: allocators reach their plateau in the first two."""
MEMORY_TIMEOUT_S = 300.0
TRAINING_TIMEOUT_S = 1800.0
"""The slowest training measured took half a minute beside others that kept both cores busy."""


class OpenGeneration(msgspec.Struct, frozen=True):
    """A generation that is measured: of which block, where, and what it is written to."""

    resources: RunResources
    block: Block
    index: int
    seed: int
    journal: Journal
    signals: Signals
    listener: ProgressListener

    def write(self, outcome: Outcome) -> None:
        """Write a launch into the journal."""
        self.journal.write(LaunchDone(self.block.case.id, self.index, outcome.launch))


def cold_starts(made: OpenGeneration, arms: Sequence[Arm], *, keep_workers: bool) -> list[Outcome]:
    """Launch every arm once, one after the other, with empty compile caches (the page cache stays warm)."""
    outcomes: list[Outcome] = []
    with ended_on_error(outcomes):
        for number, arm in enumerate(shuffled(arms, made.seed), start=1):
            remove_tree(cache_folder(made.resources, made.block.case, arm))
            outcomes += bring_up(made.resources, made.block.case, [arm], seed=made.seed, listener=made.listener)
            made.write(outcomes[-1])
            if not keep_workers:
                end_workers(outcomes)
            made.listener.progress(f"cold start of {arm.id} ({number} of {len(arms)})", {})
    return outcomes


def peak_memory(made: OpenGeneration, arms: Sequence[Arm], expected_ns: Mapping[str, float]) -> list[Outcome]:
    """Launch every arm, let it answer a few calls, and read its peak; only then is its output verified.

    All launches are alive at once, as in the timed rounds: another process does not change this one's memory. They are
    kept alive, since what they do after the reading does not change it either.
    """
    resources, case, order = made.resources, made.block.case, shuffled(arms, made.seed)
    outcomes = bring_up(
        resources, case, order, verify=False, expected_ns=expected_ns, seed=made.seed, listener=made.listener
    )
    with ended_on_error(outcomes):
        for number, outcome in enumerate(outcomes, start=1):
            work(outcome)
            probe(outcome, installed=False)
            with resources.watch.phase("verifying"):
                verify_outputs(resources, case, outcome)
            made.write(outcome)
            made.listener.progress(f"peak memory of {outcome.arm.id} ({number} of {len(outcomes)})", {})
    return outcomes


def work(outcome: Outcome) -> None:
    """Let a worker make the calls after which its memory no longer grows; one that cannot is ended."""
    ask(outcome, "measure", Measure(window_ns=0, min_calls=MEMORY_CALLS), Measured, MEMORY_TIMEOUT_S)


def trainings(made: OpenGeneration, arms: Sequence[Arm]) -> list[Outcome]:
    """Load every arm, then let one after the other train, in random order, while the others sleep.

    Raises LevelfieldError: two workers trained from different weights, or with different batches.
    """
    case, index = made.block.case, made.index
    made.listener.say(f"computing how {case.model} must begin from seed {index}, in float64")
    order = shuffled(arms, made.seed)
    try:
        goal = made.resources.goal(case.model)
        if reason := convergence.why_not(goal, case.precision):
            return _absent(case, order, Failure(stage="load", kind="unsupported", message=reason))
        expected = convergence.expected_start(goal, index, case.precision)
    except ValueError as error:  # the images are not there, or are others: nobody can train, and other cases can
        return _absent(case, order, Failure(stage="load", kind="error", message=str(error)))
    outcomes = bring_up(made.resources, case, order, verify=False, launch_measured=False, seed=made.seed)
    with ended_on_error(outcomes):
        for number, outcome in enumerate(outcomes, start=1):
            pids = {each.arm.id: each.worker.pid or 0 for each in outcomes if each.worker is not None}
            _train(outcome, goal, index, expected, made.signals, {arm: pid for arm, pid in pids.items() if pid})
            made.listener.progress(f"{outcome.arm.id} trained from seed {index} ({number} of {len(outcomes)})", {})
    return outcomes


def _absent(case: Case, arms: Sequence[Arm], failure: Failure) -> list[Outcome]:
    return [Outcome(arm, case, Launch(arm=arm.id, started=utc_now(), failure=failure)) for arm in arms]


def _train(
    outcome: Outcome, goal: Goal, seed: int, expected: ExpectedStart, signals: Signals, pids: dict[str, int]
) -> None:
    """Let one worker train; one that cannot is ended."""
    before = signals.snapshot(pids)
    converged = ask(outcome, "measure", Converge(seed), Converged, TRAINING_TIMEOUT_S)
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
    if converged.points and converged.points[-1].step > goal.steps:
        fail(outcome, "measure", WorkerError("protocol", f"{outcome.arm.id} took more steps than it was asked for."))
        return
    outcome.note(
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
