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
    from suite.backends.protocol import Source, Unsupported

    reads_onnx = registry.get(task.backend).reads == "onnx"
    if task.own is not None and not reads_onnx:
        raise Unsupported(f"{task.backend} reads no ONNX file.")
    example = _example(task)
    parameters: Arrays = {}
    if reads_onnx:
        _check_onnx(task)
    else:
        parameters = initial_weights(task)
    name = task.model if task.own is not None else trained_model(task).name
    onnx = Path(task.onnx_path) if task.onnx_path else None
    return Source(model=name, batch=task.batch, weights=parameters, example=example, onnx=onnx)


def trained_model(task: Task) -> "Model":
    """Return the model that a task loads: training to a target has a network of its own."""
    from suite.worker import converging
    from suite.zoo import models

    return converging.network(task) if task.scenario == converging.SCENARIO else models.get(task.model)


def initial_weights(task: Task) -> "Arrays":
    """Return the seeded weights of a task's model: read where a file of them was given, else made."""
    from suite.worker import converging
    from suite.zoo import weights

    if task.scenario == converging.SCENARIO:
        return converging.initial_weights(task)
    model = trained_model(task)
    return weights.load(Path(task.weights_path), model) if task.weights_path else weights.make(model)


def inputs_of(task: Task, first: int) -> "Arrays":
    """Return the inputs of one call.

    Parameters
    ----------
    task
        Its model says which inputs, its backend in which layout.
    first
        Number of the first item; the task's batch says how many follow.
    """
    if task.own is not None:
        from suite.zoo import own_inputs

        return own_inputs.make(task.own, first, task.batch)
    from suite.backends import registry
    from suite.zoo import inputs, models

    return inputs.make(models.get(task.model), first, task.batch, layout=registry.get(task.backend).layout)


def _example(task: Task) -> "Arrays":
    """Return inputs of the task's batch, to compile with."""
    from suite.worker import converging, training

    if task.scenario == converging.SCENARIO:
        return converging.example(task)
    if task.scenario == FROM_DATASET:
        from suite.worker.feeding import batch_of

        return batch_of(task, 0)
    if task.scenario == training.SCENARIO:
        from suite.backends import registry
        from suite.zoo.training import batches

        layout = registry.get(task.backend).layout
        return batches.make(trained_model(task), 0, task.batch, layout=layout)
    return inputs_of(task, 0)


def _check_onnx(task: Task) -> None:
    """Refuse an ONNX file that is not the one the plan names."""
    from suite.worker.files import digest_of, files_in

    if task.onnx_path is None:
        raise ValueError(f"The backend {task.backend} reads ONNX, and no file was given to it.")
    pattern = "model.onnx*" if task.own is None else "*"
    found = digest_of(files_in(Path(task.onnx_path).parent, pattern))
    if task.onnx_sha256 and found != task.onnx_sha256:
        raise ValueError(f"The ONNX model has digest {found}; the plan names {task.onnx_sha256}.")
