"""What a backend is given to load, made or read by what a task says; a user's own Python file is run once."""

import functools
import hashlib
import importlib.util
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from levelfield.backends import registry
from levelfield.backends.info import ONNX, FileFormat
from levelfield.backends.protocol import Arrays, Source, Unsupported
from levelfield.worker import training
from levelfield.worker.decoding import call_of
from levelfield.worker.feeding import batch_of
from levelfield.worker.messages import FROM_DATASET, Task
from levelfield.zoo import decoding, digits, inputs, models, weights
from levelfield.zoo.spec import Model
from levelfield.zoo.training import batches, convergence
from levelfield.zoo.training.recipe import Goal, Recipe


def digest_of(files: Mapping[str, str]) -> str:
    """Return one SHA-256 for a set of files, given each one's name and SHA-256."""
    lines = "".join(f"{name} {sha256}\n" for name, sha256 in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def files_in(folder: Path, pattern: str = "*") -> dict[str, str]:
    """Return the hexadecimal SHA-256 of every file directly in `folder` that matches, by name."""
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
    if task.scenario == training.CONVERGENCE:
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
        network, example = written(task.own.python, task.own.function)
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
    if task.scenario == training.CONVERGENCE:
        return convergence.weights(model, 0)
    return weights.load(Path(task.weights_path), model) if task.weights_path else weights.make(model)


def inputs_of(task: Task, first: int) -> Arrays:
    """Return the inputs of one call."""
    if task.own is not None and task.own.python is not None:
        return written(task.own.python, task.own.function).inputs
    if task.own is not None:
        return inputs.make_own(task.own, first, task.batch)
    call = call_of(task)
    if call is not None:
        return decoding.inputs(models.get(task.model), call, first, task.batch)
    return inputs.make(models.get(task.model), first, task.batch, layout=registry.get(task.backend).layout)


def _example(task: Task) -> Arrays:
    """Return inputs of the task's batch, to compile with."""
    rule = training_rule(task)
    if isinstance(rule, Goal):
        return next(digits.batches(convergence.split(rule).train, convergence.schedule(rule, 0)[:1]))
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


SEED = 0
"""Of the generators that many networks draw their first weights from."""


class Written(NamedTuple):
    """What the file's function returned."""

    network: Any
    """Of the file's framework: a module, or a function of tensors."""
    inputs: Arrays
    """Of one call, by name, in order."""


@functools.cache
def written(path: str, function: str) -> Written:
    """Run a file and its function; raises Unsupported where the function returns something else."""
    _seed()
    found = getattr(imported(path, "levelfield_own"), function)()
    if not isinstance(found, tuple) or len(found) != len(Written._fields) or not callable(found[0]):
        raise Unsupported(f"{function} has to return two things: return network, inputs.")
    network, given = found
    row = [given] if isinstance(given, np.ndarray) else given
    named = row if isinstance(row, dict) else {f"input {at}": each for at, each in enumerate(row)}
    arrays = {str(name): each for name, each in named.items()}
    if not arrays or not all(isinstance(each, np.ndarray) and each.dtype != object for each in arrays.values()):
        raise Unsupported(f"The inputs that {function} returns have to be NumPy arrays: tensor.numpy() is one.")
    return Written(network, {name: np.ascontiguousarray(each) for name, each in arrays.items()})


def imported(path: str, name: str) -> Any:  # noqa: ANN401  (what a module holds, no type knows)
    """Run a Python file as the module `name`; raises Unsupported: it is none."""
    spec = importlib.util.spec_from_file_location(name, Path(path))
    if spec is None or spec.loader is None:
        raise Unsupported(f"{Path(path).name} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _seed() -> None:
    """Seed the generators of Python, NumPy and the framework, where that is imported: two workers get one network."""
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002  (the generator that networks in the wild draw from)
    for name, seed in (("torch", "manual_seed"), ("tensorflow", "random.set_seed")):
        framework: Any = sys.modules.get(name)
        if framework is not None:
            for part in seed.split("."):
                framework = getattr(framework, part)
            framework(SEED)
