"""A user's own ONNX file asked twice more: how far its answers move when rounded, and what they are in float64."""

import msgspec

from levelfield.errors import printable
from levelfield.images.wheels import Progress
from levelfield.launchers.protocol import Launcher, LaunchSpec, running
from levelfield.launchers.worker import WorkerError
from levelfield.prepare.own_model import reference, store
from levelfield.record.schema import Artifact
from levelfield.worker.messages import Sense, Sensed


def with_moves(
    known: reference.Reference, *, launcher: Launcher, spec: LaunchSpec, progress: Progress
) -> reference.Reference:
    """Let the exporter's image find out how far the answers move when rounded otherwise, and answer in float64.

    Where the evaluator's answer is ONNX Runtime's within the tolerances, it is the reference: it is no contestant's.
    Where that image cannot answer, the reference is what it was.
    """
    model = known.model
    progress(f"computing how far the answers of {model.file} move when its weights and inputs are rounded")
    worker_paths = launcher.worker_paths(spec)
    answers, artifacts = dict(known.answers), list(known.artifacts)
    for batch, known_answers in known.answers.items():
        path = f"{worker_paths.artifacts}/{store.prepared(model, batch).path}"
        own = store.description(model, worker_paths.artifacts)
        request = Sense(path, own, batch, reference.count_of(batch), spec.threads)
        try:
            with running(launcher, spec) as worker:
                found = worker.ask(request, Sensed, reference.TIMEOUT_S)
        except WorkerError as error:
            progress(f"that is not known: {printable(error.message).rstrip('.')}")
            continue
        answers[batch], agreed = _second(known_answers, found, model.precision)
        if not found.answers:
            progress(f"onnx's own evaluator does not answer in float64: {printable(found.unanswered)}")
        elif not agreed:
            progress("onnx's own evaluator answers otherwise in float64: the report says to which each arm is nearer")
        else:
            size_bytes = sum(len(output.values) for output in found.answers)
            made_by = {reference.FLOAT64: f"onnx {found.versions.get('onnx', '')}"}
            name = f"{model.model} batch {batch} in float64"
            artifacts.append(Artifact(name, reference.digest(found.answers), size_bytes, made_by))
    return msgspec.structs.replace(known, answers=answers, artifacts=tuple(artifacts))


def _second(
    known: tuple[reference.Answer, ...], found: Sensed, precision: str
) -> tuple[tuple[reference.Answer, ...], bool]:
    """Add what the exporter found out; return also whether its answer in float64 is the same."""
    if len(found.sensitivities) != len(known):
        return known, False
    moved = tuple(
        msgspec.structs.replace(answer, sensitivity=each)
        for answer, each in zip(known, found.sensitivities, strict=True)
    )
    doubles = [reference.array(output) for output in found.answers]
    if len(doubles) != len(known):
        return moved, False
    second, agreed = [], True
    for answer, double in zip(moved, doubles, strict=True):
        if double is None:
            second.append(answer)
            agreed = False
            continue
        exact = answer.exact and not (answer.sensitivity and answer.sensitivity.element)  # else rounding decides
        rounded = msgspec.structs.replace(answer, exact=exact)
        same = not reference.compare_output(answer.values, rounded, double, precision)[0]
        agreed = agreed and same
        field = ("values" if not answer.exact else "") if same else "otherwise"
        second.append(msgspec.structs.replace(answer, **({field: double} if field else {})))
    return tuple(second), agreed
