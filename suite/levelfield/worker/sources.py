"""What a backend is given to load, made or read by what a task says."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from levelfield.backends import registry
from levelfield.backends.info import ONNX, FileFormat
from levelfield.backends.protocol import Arrays, Source, Unsupported
from levelfield.worker import converging, own_python, training
from levelfield.worker.decoding import call_of
from levelfield.worker.feeding import batch_of
from levelfield.worker.messages import FROM_DATASET, Task
from levelfield.zoo import decoding, inputs, models, own_inputs, weights
from levelfield.zoo.digits import data
from levelfield.zoo.spec import Model
from levelfield.zoo.training import batches, convergence
from levelfield.zoo.training.recipe import Goal, Recipe


def digest_of(files: Mapping[str, str]) -> str:
    """Return one SHA-256 for a set of files, given each one's name and SHA-256."""
    lines = "".join(f"{name} {sha256}\n" for name, sha256 in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def files_in(folder: Path, pattern: str = "*") -> dict[str, str]:
    """Return the SHA-256 of every file directly in `folder` that matches, by name.

    Returns hexadecimal SHA-256 by file name.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob(pattern)):
        if path.is_file():
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def training_rule(task: Task) -> Recipe | Goal | None:
    """Return how a task's model is trained, by a recipe or to a target; None: it is not trained."""
    if task.scenario == training.SCENARIO:
        return models.recipe(task.model)
    if task.scenario == converging.SCENARIO:
        return convergence.goal(task.model)
    return None


def trained_model(task: Task) -> Model:
    """Return the model that a task loads: training to a target has a network of its own."""
    rule = training_rule(task)
    return models.get(rule.network if isinstance(rule, Goal) else task.model)


def source_of(task: Task, *, hash_files: bool = True) -> Source:
    """Return the weights (or the model file) and the example inputs of a task.

    Raises ValueError: no file was given to a backend that reads one, or another than the plan names. Raises
    Unsupported: the task has a user's own file, and the backend does not read ONNX.
    """
    info = registry.get(task.backend)
    if task.own is not None and task.own.python is not None:
        network, example = own_python.written(task.own.python, task.own.function)
        return Source(model=task.model, batch=task.batch, weights={}, example=example, network=network)
    if task.own is not None and info.reads != ONNX.name:
        raise Unsupported(f"{task.backend} reads no ONNX file.")
    example = _example(task)
    parameters: Arrays = {}
    if info.file_format is not None:
        _check_file(task, info.file_format, hash_files=hash_files)
    else:
        parameters = initial_weights(task)
    name = task.model if task.own is not None else trained_model(task).name
    file = Path(task.file_path) if task.file_path else None
    return Source(model=name, batch=task.batch, weights=parameters, example=example, file=file)


def initial_weights(task: Task) -> Arrays:
    """Return the seeded weights of a task's model: read where a file of them was given, else made."""
    model = trained_model(task)
    if task.scenario == converging.SCENARIO:
        return convergence.weights(model, 0)
    return weights.load(Path(task.weights_path), model) if task.weights_path else weights.make(model)


def inputs_of(task: Task, first: int) -> Arrays:
    """Return the inputs of one call."""
    if task.own is not None and task.own.python is not None:
        return own_python.written(task.own.python, task.own.function).inputs
    if task.own is not None:
        return own_inputs.make(task.own, first, task.batch)
    call = call_of(task)
    if call is not None:
        return decoding.inputs(models.get(task.model), call, first, task.batch)
    return inputs.make(models.get(task.model), first, task.batch, layout=registry.get(task.backend).layout)


def _example(task: Task) -> Arrays:
    """Return inputs of the task's batch, to compile with."""
    rule = training_rule(task)
    if isinstance(rule, Goal):
        return next(data.batches(convergence.split(rule).train, convergence.schedule(rule, 0)[:1]))
    if rule is not None:
        return batches.make(models.get(task.model), 0, task.batch, layout=registry.get(task.backend).layout)
    return batch_of(task, 0) if task.scenario == FROM_DATASET else inputs_of(task, 0)


def _check_file(task: Task, expected: FileFormat, *, hash_files: bool) -> None:
    """Refuse a model file that is not the one the plan names."""
    if task.file_path is None:
        raise ValueError(f"The backend {task.backend} reads {expected.title}, and no file was given to it.")
    if not hash_files or not task.file_sha256:
        return
    pattern = f"{expected.file}*" if task.own is None else "*"
    found = digest_of(files_in(Path(task.file_path).parent, pattern))
    if found != task.file_sha256:
        raise ValueError(f"The {expected.title} model has digest {found}; the plan names {task.file_sha256}.")


def rotation(make: Callable[[int], Arrays], *, sets: int, batch: int) -> Iterator[Arrays]:
    """Make the batches that the calls of a window take in turn, each going on where the one before it ended.

    Nothing is then measured on one array: neither on where it lies in memory, nor on an answer that was kept for it.
    """
    return (make(number * batch) for number in range(sets))


def rotation_digest(made: Iterable[Arrays]) -> str:
    """Return the SHA-256 of the batches' own digests, in order."""
    return hashlib.sha256("".join(map(weights.sha256, made)).encode()).hexdigest()
