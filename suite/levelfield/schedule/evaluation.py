"""Before anything is measured: every arm answers the data sets that were named, in every precision.

One worker at a time, with the calls that are timed later: batch, threads and precision are those of a case of the run.
What it answers is written item by item; nothing here is timed.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from levelfield.launchers.worker import WorkerError
from levelfield.plan.types import answers
from levelfield.prepare.evaluation import scoring
from levelfield.prepare.evaluation.preparing import Judged
from levelfield.record import journal
from levelfield.record.files import JOURNAL
from levelfield.record.journal import AccuracyKnown, Journal
from levelfield.record.schema import Accuracy, Arm, Case, Failure, Run
from levelfield.schedule.launches import bring_up, paths_of
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import Outcome, end_workers, failure
from levelfield.schedule.resources import RunResources
from levelfield.worker import items
from levelfield.worker.messages import Predict, Predicted
from levelfield.zoo import models

AT_ONCE = 64
"""Records in one request: progress is shown after each."""
TIMEOUT_S = 1800.0


def evaluate(folder: Path, resources: RunResources, listener: ProgressListener) -> None:
    """Let every arm answer every data set, unless a run's journal has its answers already."""
    if not resources.judged:
        return
    run = journal.fold(journal.read(folder / JOURNAL))
    known = {(each.task, each.model, each.precision, each.device, each.arm) for each in run.accuracies}
    apart = msgspec.structs.replace(resources, caches=resources.caches / "evaluation")
    with Journal(folder / JOURNAL) as written:
        for judged, case, arm in _turns(run, resources):
            task = judged.data_set.task
            if (task, case.model, case.precision, case.device, arm.id) not in known:
                written.write(AccuracyKnown(_answered(apart, judged, case, arm, listener, run.settings.seed)))


def _turns(run: Run, resources: RunResources) -> Iterator[tuple[Judged, Case, Arm]]:
    """Yield who answers what: of the cases of a network in one precision, that with the largest batch."""
    for judged in resources.judged:
        found: dict[tuple[str, str], Case] = {}
        arms: dict[tuple[str, str], dict[str, Arm]] = {}
        for block in run.blocks:
            case = block.case
            if case.model != judged.data_set.model or not case.definition.serves:
                continue
            key = (case.precision, case.device)
            if key not in found or case.batch > found[key].batch:
                found[key] = case
            arms.setdefault(key, {}).update(
                {arm.id: arm for arm in block.arms if arm.ordinal == 1 and not arm.inject and answers(case, arm)}
            )
        for key, case in found.items():
            yield from ((judged, case, arm) for arm in arms[key].values())


def _answered(
    resources: RunResources, judged: Judged, case: Case, arm: Arm, listener: ProgressListener, seed: int
) -> Accuracy:
    task = judged.data_set
    found = Accuracy(task.task, case.model, case.precision, case.device, case.batch, arm.id)
    (outcome,) = bring_up(resources, case, [arm], seed=seed)
    try:
        if outcome.worker is None:
            return msgspec.structs.replace(found, failure=outcome.launch.failure)
        parity = outcome.launch.parity
        found = msgspec.structs.replace(found, equal=parity.equal if parity is not None else None)
        given = scoring.judge(judged, _outputs(resources, judged, case, outcome, listener))
        return msgspec.structs.replace(found, **msgspec.structs.asdict(given))
    except WorkerError as error:
        return msgspec.structs.replace(found, failure=failure("verify", error))
    except ValueError as error:
        return msgspec.structs.replace(found, failure=Failure("verify", "error", str(error)))
    finally:
        end_workers([outcome])


def _outputs(
    resources: RunResources, judged: Judged, case: Case, outcome: Outcome, listener: ProgressListener
) -> scoring.Outputs:
    """Ask for all outputs; what a worker says of their shape and of the items that it read is checked."""
    worker = outcome.worker
    assert worker is not None
    model = models.get(case.model)
    table = items.read(resources.artifacts.root / judged.path, model)
    seen = f"{paths_of(resources, outcome).artifacts}/{judged.path}"
    parts = []
    at_once = -(-AT_ONCE // case.batch) * case.batch
    for first in range(0, judged.records, at_once):
        listener.say(
            f"{outcome.arm.id} answers {judged.data_set.title} in {case.precision}: {first} of {judged.records}"
        )
        count = min(at_once, judged.records - first)
        reply = worker.ask(Predict(seen, first, count), Predicted, TIMEOUT_S)
        shape = (count, *model.output.shape)
        if reply.shape != shape or len(reply.output) != 4 * math.prod(shape):
            raise WorkerError("protocol", f"{outcome.arm.id} answered with outputs of another shape.")
        if reply.items_sha256 != items.digest(table[first : first + count]):
            raise WorkerError("protocol", f"{outcome.arm.id} read other items than this run has.")
        parts.append(np.frombuffer(reply.output, "<f4").reshape(shape))
    return np.concatenate(parts)
