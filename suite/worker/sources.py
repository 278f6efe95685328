"""What a backend is given to load, made or read by what a task says."""

from pathlib import Path
from typing import TYPE_CHECKING

from suite.worker.messages import FROM_DATASET, Task

if TYPE_CHECKING:
    from suite.backends.protocol import Arrays, Source
    from suite.zoo.spec import Model


def source_of(task: Task) -> "Source":
    """Return the weights (or the ONNX file) and the example inputs of a task.

    Raises
    ------
    ValueError
        No ONNX file was given to a backend that reads one, or another than the plan names.
    """
    from suite.backends import registry
    from suite.backends.protocol import Source
    from suite.worker import converging
    from suite.zoo import models

    if task.own is not None:
        return _own(task)
    to_target, info = task.scenario == converging.SCENARIO, registry.get(task.backend)
    model = converging.network(task) if to_target else models.get(task.model)
    example = _example(task, info.layout)
    parameters: Arrays = {}
    if info.reads == "onnx":
        _check_onnx(task)
    elif to_target:
        parameters = converging.begin(task)
    else:
        parameters = seeded(task, model)
    onnx = Path(task.onnx_path) if task.onnx_path else None
    return Source(model=model.name, batch=task.batch, weights=parameters, example=example, onnx=onnx)


def inputs_of(task: Task, first: int, layout: str) -> "Arrays":
    """Return the inputs of one call, from the item `first` on."""
    from suite.zoo import inputs, models

    if task.own is not None:
        from suite.zoo import own_inputs

        return own_inputs.make(task.own, first, task.batch)
    return inputs.make(models.get(task.model), first, task.batch, layout=layout)


def _own(task: Task) -> "Source":
    """Return a user's own file and its example inputs."""
    from suite.backends import registry
    from suite.backends.protocol import Source, Unsupported

    if registry.get(task.backend).reads != "onnx":
        raise Unsupported(f"{task.backend} reads no ONNX file.")
    _check_onnx(task)
    onnx = Path(task.onnx_path) if task.onnx_path else None
    return Source(model=task.model, batch=task.batch, weights={}, example=inputs_of(task, 0, "NCHW"), onnx=onnx)


def seeded(task: Task, model: "Model") -> "Arrays":
    """Return a model's seeded weights: read where a file of them was given, else made."""
    from suite.zoo import weights

    return weights.load(Path(task.weights_path), model) if task.weights_path else weights.make(model)


def _example(task: Task, layout: str) -> "Arrays":
    """Return inputs of the task's batch, to compile with."""
    from suite.worker import converging, training
    from suite.zoo import models

    if task.scenario == converging.SCENARIO:
        return converging.example(task)
    if task.scenario == FROM_DATASET:
        from suite.worker.feeding import first

        return first(task)
    if task.scenario == training.SCENARIO:
        from suite.zoo.training import batches

        return batches.make(models.get(task.model), 0, task.batch, layout=layout)
    return inputs_of(task, 0, layout)


def _check_onnx(task: Task) -> None:
    """Refuse an ONNX file that is not the one the plan names."""
    from suite.worker.files import digest_of, files_in

    if task.onnx_path is None:
        raise ValueError(f"The backend {task.backend} reads ONNX, and no file was given to it.")
    pattern = "model.onnx*" if task.own is None else "*"
    found = digest_of(files_in(Path(task.onnx_path).parent, pattern))
    if task.onnx_sha256 and found != task.onnx_sha256:
        raise ValueError(f"The ONNX model has digest {found}; the plan names {task.onnx_sha256}.")
