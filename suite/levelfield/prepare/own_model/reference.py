"""Reference of a user's own file: ONNX Runtime's answer with all of its graph optimisations off.

Nobody has a float64 definition of a user's model. Run as the file has it, operator after operator, ONNX Runtime is the
nearest there is to what ONNX says the file means: what is fused, folded, laid out anew or lowered in precision by those
that are measured (ONNX Runtime with its optimisations among them) is then a difference, and is seen. It computes in
float32 itself, so that a mistake of that one kernel would be everybody's reference: equal means *the same as ONNX
Runtime's plain kernels*, not *right*.

The tolerance of fp32 is ten times that of this tool's own models: the reference rounds too, and how a stranger's
network magnifies rounding is not known. It is less than half of the smallest real mistake that was tried on those
models (GELU by tanh, 2.2e-4). Lower precisions have the tolerances that they always have (`zoo.parity`).

The exporter's image is asked twice more: how far its answers move when rounded, and what they are in float64.
"""

import hashlib
import math
import re
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.errors import LevelfieldError, explained, printable
from levelfield.images.wheels import Progress
from levelfield.launchers.protocol import Launcher, LaunchSpec, running
from levelfield.launchers.worker import WorkerError
from levelfield.paths import cache_folder
from levelfield.prepare.own_model import store
from levelfield.prepare.own_model.python_file import Exported
from levelfield.record.schema import Absent, Arm, Artifact, Image, OwnFile, Parity
from levelfield.worker.messages import Load, Loaded, Output, Sense, Sensed, Task, Verified, Verify
from levelfield.zoo import honesty, inputs, parity, sensitivity, weights
from levelfield.zoo.sensitivity import allowed
from levelfield.zoo.spec import Sensitivity

IMAGE = "onnxruntime"
SETTINGS = {"graph": "off"}
TIMEOUT_S = 900.0
"""Without its optimisations it may be many times slower than those that are measured."""
ITEMS = 2
"""Items compared at the least: two calls where a call is one item."""
TOLERANCE = 1e-4
"""Of fp32."""
FLOAT64 = "float64"
"""Key of what made a reference in float64."""
_MENDS = {
    "Unsupported model IR version": "Save it in an older format: set ir_version of the model that onnx.load returns.",
    "ONNX Runtime only *guarantees* support": "Convert it to an older operator set: "
    "onnx.version_converter.convert_version.",
    "Could not find an implementation for": "It has no kernel for these types on a CPU: export it in fp32 or fp16.",
    "No Op registered for": "It has no such operator: export it with another operator set, or with ONNX's "
    "own operators.",
}
"""How to mend a file, by what ONNX Runtime says of it."""
_MEND = (
    "Look at the file with onnx.checker.check_model; where the inputs are the reason, give it some of its own with "
    "--input NAME=FILE.npy."
)
_GIVE = "Give it inputs of its own: --input NAME=FILE.npy."
_NOTHING = parity.Errors(0.0, None, 0.0, finite=True, element=0.0)
"""Of an output without numbers."""
_WRONG = parity.Errors(math.inf, None, math.inf, finite=False)
_SOURCE = re.compile(r"(?<=failed:)/onnxruntime_src/\S+:\d+ .*\)(?= [A-Z])")
"""A place in its source."""
_PREFIX = re.compile(r"^(\w+: )?(\[ONNXRuntimeError\] : \d+ : \w+ : )?")


class Answer(msgspec.Struct, frozen=True):
    """One output of the file."""

    name: str
    values: npt.NDArray[np.float64]
    exact: bool
    sensitivity: Sensitivity | None = None
    """None: nobody knows how far it moves when weights and inputs are rounded."""
    otherwise: npt.NDArray[np.float64] | None = None
    """What `onnx`'s evaluator answers in float64, where that is something else."""

    def tolerance(self, precision: str) -> float:
        """Return the largest relative error that counts as equal.

        A quantised file is compared with itself: only what rounding moves may differ.
        """
        if self.sensitivity is None:
            return tolerance_of(precision)
        own = TOLERANCE if precision == "int8" else tolerance_of(precision)
        return max(own, min(self.sensitivity.relative_l2, sensitivity.MOST_L2))

    def element(self, precision: str) -> float:
        """Return the largest error of a single number that counts as equal; infinite where that is not known."""
        if self.sensitivity is None:
            return math.inf
        return allowed(self.sensitivity, "fp32" if precision == "int8" else precision)


class Reference(msgspec.Struct, frozen=True):
    """A user's file, and its reference."""

    model: OwnFile
    answers: dict[int, tuple[Answer, ...]]
    """By batch."""
    inputs_sha256: dict[int, str]
    """Digest of one call's inputs, by batch."""
    artifacts: tuple[Artifact, ...]
    exported: Exported | None = None
    """Of a network of PyTorch: what those read that are given ONNX."""
    unusable: str = ""
    """Why nothing of it is measured; empty: it is."""


def without_answers(model: OwnFile, reason: str) -> Reference:
    """Return what stands for one of several functions that cannot be measured."""
    return Reference(model, {}, {1: ""}, store.artifacts(model), unusable=reason)


def count_of(batch: int) -> int:
    """Return how many items are compared: whole batches."""
    return -(-max(batch, ITEMS) // batch) * batch


def compute(
    model: OwnFile, batches: Iterable[int], *, image: Image, launcher: Launcher, spec: LaunchSpec, progress: Progress
) -> Reference:
    """Let ONNX Runtime answer for every batch, in one launch.

    Raises LevelfieldError: it cannot run the file, or answers with what nothing can be compared with.
    """
    progress(f"asking ONNX Runtime, with its optimisations off, for the answers of {model.file}")
    worker_paths = launcher.worker_paths(spec)
    described = store.description(model, worker_paths.artifacts)
    here = store.description(model, str(spec.artifacts))
    answers: dict[int, tuple[Answer, ...]] = {}
    made: list[Artifact] = []
    files = {batch: store.prepared(model, batch) for batch in batches}  # a launcher may copy what is there, and no more
    try:
        with running(launcher, spec) as worker:
            for batch, onnx in files.items():
                task = Task(
                    backend=IMAGE,
                    model=model.model,
                    batch=batch,
                    threads=spec.threads,
                    file_path=f"{worker_paths.artifacts}/{onnx.path}",
                    file_sha256=onnx.sha256,
                    settings=SETTINGS,
                    own=described,
                )
                loaded = worker.ask(Load(task, launch_measured=False), Loaded, TIMEOUT_S)
                verified = worker.ask(Verify(count_of(batch)), Verified, TIMEOUT_S)
                if worker.ask(Verify(count_of(batch)), Verified, TIMEOUT_S).outputs != verified.outputs:
                    raise LevelfieldError(
                        f"{model.file} answers otherwise when it is asked again: nothing can be compared with that.",
                        fix="Export it in evaluation mode: Dropout in training mode draws random numbers.",
                    )
                answers[batch] = _usable(model, verified.outputs)
                by = {
                    "onnxruntime": loaded.version,
                    "graph optimisation": loaded.settings.get("graph optimisation", ""),
                    "lock": image.lock_sha256[:16] or image.tag,
                }
                made.append(_artifact(f"{model.model} batch {batch} reference", verified, by))
    except WorkerError as error:
        said = _PREFIX.sub("", printable(error.message)).rstrip(".")
        said = _SOURCE.sub("", re.sub(r"\S*/model\.onnx", model.file, said))
        raise LevelfieldError(
            f"ONNX Runtime, which computes the reference without optimisations, cannot run {model.file}: {said}.",
            fix=next((fix for part, fix in _MENDS.items() if part in said), _MEND),
        ) from error
    return Reference(
        model=model,
        answers=answers,
        inputs_sha256={batch: weights.sha256(inputs.make_own(here, 0, batch)) for batch in answers},
        artifacts=(*store.artifacts(model), *made),
    )


def of_float64(model: OwnFile, exported: Exported) -> Reference:
    """Take the network's own answer in float64.

    Raises LevelfieldError: it answers with what nothing can be compared with.
    """
    known = _comparable(model, exported.answers)
    moves = exported.sensitivities if len(exported.sensitivities) == len(known) else (None,) * len(known)
    answers = tuple(
        msgspec.structs.replace(answer, sensitivity=move) for answer, move in zip(known, moves, strict=True)
    )
    size_bytes = sum(len(output.values) for output in exported.answers)
    made_by = {FLOAT64: f"torch {exported.versions.get('torch', '')}".strip()}
    made = Artifact(f"{model.model} reference", digest(exported.answers), size_bytes, made_by)
    here = exported.description(str(cache_folder("artifacts")))
    with explained(f"The inputs of {model.function} of {model.file} cannot be read", "", ValueError):
        inputs_sha256 = weights.sha256(inputs.make_own(here, 0, 1))
    return Reference(model, {1: answers}, {1: inputs_sha256}, (*store.artifacts(model), made), exported)


def of_first(model: OwnFile, arm: Arm, *, launcher: Launcher, spec: LaunchSpec, progress: Progress) -> Reference:
    """Let an arm answer for a network in Python: its answer is what all others are held against.

    Raises LevelfieldError: it does not answer, or with what nothing can be compared with.
    """
    progress(f"asking {arm.id} for the answers of {model.file}")
    worker_paths = launcher.worker_paths(spec)
    own, threads = store.description(model, worker_paths.artifacts), spec.threads
    task = Task(backend=arm.backend, model=model.model, batch=1, threads=threads, settings=arm.settings, own=own)
    try:
        with running(launcher, spec) as worker:
            loaded = worker.ask(Load(task, launch_measured=False), Loaded, TIMEOUT_S)
            verified = worker.ask(Verify(count_of(1), ask_computed=False), Verified, TIMEOUT_S)
            answers = _comparable(model, verified.outputs)
            progress(f"asking {arm.id} how far the answers of {model.file} move when its inputs are rounded")
            moves = sensitivity.largest(
                [answer.values for answer in answers],
                lambda draw: _arrays(
                    worker.ask(Verify(count_of(1), ask_computed=False, draw=draw), Verified, TIMEOUT_S)
                ),
            )
    except WorkerError as error:
        said = printable(error.message).rstrip(".")
        raise LevelfieldError(
            f"{model.function} of {model.file} did not answer in {arm.id}: {said}.",
            fix="It has to return the network and its inputs; it runs in a container with that framework and NumPy, "
            "and no other file of yours.",
        ) from error
    answers = tuple(
        msgspec.structs.replace(answer, sensitivity=move.times(sensitivity.ROUNDED) if move.element else None)
        for answer, move in zip(answers, moves, strict=True)
    )
    made = _artifact(f"{model.model} reference", verified, {"arm": arm.id, model.framework: loaded.version})
    return Reference(model, {1: answers}, {1: loaded.inputs_sha256}, (*store.artifacts(model), made))


def _arrays(verified: Verified) -> list[npt.NDArray[np.float64]]:
    return [found for output in verified.outputs if (found := array(output)) is not None]


def _comparable(model: OwnFile, outputs: tuple[Output, ...]) -> tuple[Answer, ...]:
    """Return what a network in Python answers, where something can be compared with it."""
    found = (array(output) for output in outputs)
    usable = tuple(
        Answer(str(number), values, output.exact)
        for number, (output, values) in enumerate(zip(outputs, found, strict=True))
        if values is not None and np.isfinite(values).all()
    )
    if usable and len(usable) == len(outputs):
        return usable
    said = f"{model.function} of {model.file} answers with NaN, infinity or nothing"
    raise LevelfieldError(f"{said}, and nothing can be compared with that.", fix="Give it inputs that it answers.")


def compare_answer(verified: Verified, reference: tuple[Answer, ...], precision: str, items: int) -> Parity:
    """Compare a worker's outputs with the reference, each by itself; the result is that of the worst.

    The centred error is reported and does not decide: to inputs that mean nothing to it, a network may answer alike.

    `verified`: what the worker says; not trusted in anything.
    """
    given = [array(output) for output in verified.outputs]
    reason = ""
    if len(given) != len(reference):
        reason = f"It has {len(given)} outputs where the reference has {len(reference)}."
    pairs = list(zip(given, reference, strict=False))
    both = [compare_output(found, expected, expected.values, precision) for found, expected in pairs]
    reason = next((why for why, _ in both if why), reason)
    compared = [each for _, each in both if each is not None]
    doubt = "" if len(given) != len(reference) else _doubt(pairs, [why for why, _ in both], precision)
    last = max(compared, key=lambda each: each.errors.relative_l2 / each.tolerance, default=None)
    single = max(compared, key=lambda each: each.errors.element / each.element, default=None)
    worst = last.errors if last is not None else _WRONG
    flat = np.concatenate([each.reshape(-1) for each in given if each is not None] or [np.empty(0)])

    def known(error: float | None, why: str = "") -> float | Absent:
        return error if error is not None and math.isfinite(error) else Absent(why or reason or "not comparable")

    result = Parity(
        equal=not reason and last is not None,
        relative_error=known(worst.relative_l2),
        centred_error=known(worst.centred_relative_l2),
        max_abs_error=known(worst.max_abs),
        tolerance=last.tolerance if last is not None else tolerance_of(precision),
        inputs=items,
        projection=parity.project(flat) if worst.finite and np.isfinite(flat).all() else (),
        output_sha256=digest(verified.outputs),
        reason=f"Not judged. {doubt}" if reason and doubt else reason,
        cosine=known(worst.cosine),
        top_1=Absent("what a user's own file answers is not known to be classes"),
        rounding_error=Absent("it is not computed for a user's own file"),
        element_error=known(single.errors.element if single else None),
        element_tolerance=known(single.element if single else None, "it is not known how far it moves"),
        centred_tolerance=Absent("the centred error of a user's own file decides nothing"),
        doubt=doubt,
    )
    if not worst.finite:
        return result
    finding = honesty.judge(precision, worst.relative_l2, {}, verified.computed)
    return msgspec.structs.replace(
        result,
        equal=result.equal and finding.holds,
        reason=result.reason or finding.reason,
        doubt=doubt if finding.holds else "",
        computed_in=finding.computed_in,
        emulated=finding.emulated,
    )


def tolerance_of(precision: str) -> float:
    """Return the largest relative error that counts as equal."""
    return TOLERANCE if precision == honesty.FP32 else parity.TOLERANCES[precision]


class Compared(msgspec.Struct, frozen=True):
    """One output's errors, and the largest that count as equal."""

    errors: parity.Errors
    tolerance: float
    element: float


def compare_output(
    found: npt.NDArray[np.float64] | None, expected: Answer, right: npt.NDArray[np.float64], precision: str
) -> tuple[str, Compared | None]:
    """Say why an output is another than one of its references, `right`; empty: it is that one."""
    named = f"The output {expected.name}"
    if found is None or found.shape != right.shape:
        shape = found.shape if found is not None else "that it has no numbers for"
        return f"{named} has the shape {shape} where the reference has {right.shape}.", None
    found, right = parity.settled(found, right)
    errors = parity.compare(found, right) if found.size else _NOTHING
    compared = Compared(errors, expected.tolerance(precision), expected.element(precision))
    if not errors.finite:
        wrong = "NaN or infinity" if np.isfinite(right).all() else "other NaN or infinities than the reference"
        return f"{named} holds {wrong}.", compared
    if expected.exact:
        other = int((found != right).sum())
        why = f"Of the output {expected.name}, {other} of {found.size} whole numbers are others." if other else ""
        return why, compared
    if errors.relative_l2 > compared.tolerance:
        size = f"{errors.relative_l2:.1e}, over the tolerance of {compared.tolerance:.0e}"
        return f"The relative error of the output {expected.name} is {size}.", compared
    return parity.why_wrong(errors.element, compared.element, expected.name), compared


def _doubt(pairs: list[tuple[npt.NDArray[np.float64] | None, Answer]], reasons: list[str], precision: str) -> str:
    """Say with which of two references an answer agrees; empty where there is one, or it is wrong by both.

    `reasons`: why each output is not the reference's, or nothing.
    """
    said = []
    for (found, expected), reason in zip(pairs, reasons, strict=True):
        other = expected.otherwise
        if other is None or compare_output(found, expected, other, precision)[0]:
            if reason:
                return ""
            with_whom = "ONNX Runtime's without optimisations"
        else:
            with_whom = "that"
        if other is not None:
            said.append(
                f"To the output {expected.name} onnx's own evaluator answers otherwise in float64; this answer is "
                f"{with_whom}, and nobody says which of the two is right."
            )
    return " ".join(said)


def _usable(model: OwnFile, outputs: tuple[Output, ...]) -> tuple[Answer, ...]:
    """Return the reference's answers, where something can be compared with them.

    To values that the user gave, whatever it answers is an answer, NaN and nothing among them.
    """
    found = []
    given = all(each.sha256 for each in model.inputs)
    for name, output in zip(model.outputs, outputs, strict=False):
        values = array(output)
        if values is None or not (given or np.isfinite(values).all()):
            said = f"answers with NaN or infinity ({name}), and nothing can be compared with that."
            raise LevelfieldError(f"To its inputs {model.file} {said}", fix=_GIVE)
        found.append(Answer(name, values, output.exact))
    if len(found) != len(model.outputs) or not (given or any(each.values.size for each in found)):
        raise LevelfieldError(f"To its inputs {model.file} answers with nothing.", fix=_GIVE)
    return tuple(found)


def _artifact(name: str, verified: Verified, made_by: dict[str, str]) -> Artifact:
    size_bytes = sum(len(output.values) for output in verified.outputs)
    return Artifact(name, digest(verified.outputs), size_bytes, made_by)


def array(output: Output) -> npt.NDArray[np.float64] | None:
    """Return an output's values; None where it says another shape than it has values for."""
    dtype: np.dtype[Any] = np.dtype(output.dtype)
    if min(output.shape, default=0) < 0 or math.prod(output.shape) * dtype.itemsize != len(output.values):
        return None
    return np.frombuffer(output.values, dtype=dtype).astype(np.float64).reshape(output.shape)


def digest(outputs: tuple[Output, ...]) -> str:
    digest = hashlib.sha256()
    for output in outputs:
        digest.update(f"{output.dtype} {output.shape}\n".encode() + output.values)
    return digest.hexdigest()


def with_moves(known: Reference, *, launcher: Launcher, spec: LaunchSpec, progress: Progress) -> Reference:
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
        request = Sense(path, own, batch, count_of(batch), spec.threads)
        try:
            with running(launcher, spec) as worker:
                found = worker.ask(request, Sensed, TIMEOUT_S)
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
            made_by = {FLOAT64: f"onnx {found.versions.get('onnx', '')}"}
            name = f"{model.model} batch {batch} in float64"
            artifacts.append(Artifact(name, digest(found.answers), size_bytes, made_by))
    return msgspec.structs.replace(known, answers=answers, artifacts=tuple(artifacts))


def _second(known: tuple[Answer, ...], found: Sensed, precision: str) -> tuple[tuple[Answer, ...], bool]:
    """Add what the exporter found out; return also whether its answer in float64 is the same."""
    if len(found.sensitivities) != len(known):
        return known, False
    moved = tuple(
        msgspec.structs.replace(answer, sensitivity=each)
        for answer, each in zip(known, found.sensitivities, strict=True)
    )
    doubles = [array(output) for output in found.answers]
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
        same = not compare_output(answer.values, rounded, double, precision)[0]
        agreed = agreed and same
        field = ("values" if not answer.exact else "") if same else "otherwise"
        second.append(msgspec.structs.replace(answer, **({field: double} if field else {})))
    return tuple(second), agreed
