"""Before anything is measured, every arm answers the data sets that were named, in every precision.

One worker at a time, with the calls that are timed later: batch, threads and precision are those of a case of the run.
What it answers is judged and written item by item; nothing here is timed.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.launchers.worker import WorkerError
from levelfield.plan.types import answers
from levelfield.record import journal
from levelfield.record.files import JOURNAL
from levelfield.record.journal import AccuracyKnown, Journal
from levelfield.record.schema import Accuracy, Arm, Case, Failure, Run
from levelfield.schedule.data_sets import Hooks
from levelfield.schedule.launches import bring_up, paths_of
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import Outcome, end_workers, failure
from levelfield.schedule.resources import RunResources
from levelfield.worker import items
from levelfield.worker.messages import Predict, Predicted
from levelfield.zoo import models
from levelfield_datasets import preparing, squad, tasks
from levelfield_datasets.preparing import Judged

AT_ONCE = 64
"""Records in one request: progress is shown after each."""
TIMEOUT_S = 1800.0
ANSWER_BYTES = 7
"""Of the SHA-256 of a text that the record keeps: so that arms can be compared, and nobody's text is in a record."""
TOP = 5


Outputs = npt.NDArray[np.float32]


def answer(folder: Path, resources: RunResources, prepared: Sequence[Judged], listener: ProgressListener) -> None:
    """Let every arm answer every data set, unless a run's journal has its answers already."""
    run = journal.fold(journal.read(folder / JOURNAL))
    known = {(each.task, each.model, each.precision, each.device, each.arm) for each in run.accuracies}
    apart = msgspec.structs.replace(resources, caches=resources.caches / "evaluation")
    with Journal(folder / JOURNAL) as written:
        for judged, case, arm in _turns(run, prepared):
            task = judged.data_set.task
            if (task, case.model, case.precision, case.device, arm.id) not in known:
                written.write(AccuracyKnown(_answered(apart, judged, case, arm, listener, run.settings.seed)))


def _turns(run: Run, prepared: Sequence[Judged]) -> Iterator[tuple[Judged, Case, Arm]]:
    """Yield who answers what: of the cases of a network in one precision, that with the largest batch."""
    for judged in prepared:
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
    resources = msgspec.structs.replace(resources, judged=(judged.path,))
    (outcome,) = bring_up(resources, case, [arm], seed=seed)
    try:
        if outcome.worker is None:
            return msgspec.structs.replace(found, failure=outcome.launch.failure)
        parity = outcome.launch.parity
        found = msgspec.structs.replace(found, equal=parity.equal if parity is not None else None)
        return msgspec.structs.replace(found, **judge(judged, _outputs(resources, judged, case, outcome, listener)))
    except WorkerError as error:
        return msgspec.structs.replace(found, failure=failure("verify", error))
    except ValueError as error:
        return msgspec.structs.replace(found, failure=Failure("verify", "error", str(error)))
    finally:
        end_workers([outcome])


def _outputs(
    resources: RunResources, judged: Judged, case: Case, outcome: Outcome, listener: ProgressListener
) -> Outputs:
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


def judge(judged: Judged, outputs: Outputs) -> dict[str, Any]:
    """Return the fields of `Accuracy` that say what a network's outputs answer.

    Raises ValueError: they are not finite: no answer can be read from them.
    """
    if not np.isfinite(outputs).all():
        raise ValueError("The outputs hold NaN or infinity, so that no answer can be read from them.")
    if judged.questions:
        return _texts(judged, outputs)
    if judged.data_set.scores:
        return {"scores": tuple(map(float, outputs.reshape(len(outputs))))}
    return _classes(judged, outputs)


def _classes(judged: Judged, outputs: Outputs) -> dict[str, Any]:
    labels = np.array(judged.data_set.labels)
    best = np.argsort(-outputs, axis=1, kind="stable")
    right: dict[str, tuple[int, ...]] = {}
    for metric, many in (("top-1", 1), ("top-5", TOP), ("accuracy", 1)):
        if metric in judged.data_set.metrics:
            right[metric] = _flags((best[:, :many] == labels[:, None]).any(axis=1))
    return {"answers": tuple(map(int, best[:, 0])), "right": right}


def _texts(judged: Judged, outputs: Outputs) -> dict[str, Any]:
    windows: list[list[tuple[squad.Span, Any]]] = [[] for _ in judged.questions]
    for place, span, output in zip(judged.asked, judged.spans, outputs, strict=True):
        windows[place].append((span, output))
    texts = [squad.best(each.context, spans) for each, spans in zip(judged.questions, windows, strict=True)]
    pairs = [(text, each.answers) for text, each in zip(texts, judged.questions, strict=True)]
    return {
        "answers": tuple(_code(squad.normalised(text)) for text in texts),
        "right": {"exact match": _flags(np.array([squad.exact(*pair) for pair in pairs]))},
        "shares": {"F1 of words": tuple(squad.f1(*pair) for pair in pairs)},
    }


def _flags(values: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(map(int, values))


def _code(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:ANSWER_BYTES])


HOOKS = Hooks(tasks.read, tasks.networks, preparing.prepare, answer)
