"""A digest of what every layer puts out: where two machines begin to differ is the first digest that does."""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends.protocol import Backend, Unsupported, WithLayers
from suite.worker.messages import Layer, LayersComputed, Task
from suite.worker.sources import inputs_of, source_of

MOST_LAYERS = 4096
"""Of one model; the largest has some hundred operators."""


class Digests:
    """Digests of layers over several batches; of what is seen only digests are kept."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}
        self._calls: dict[str, int] = {}

    def begin(self) -> None:
        """Begin a batch."""
        self._calls = {}

    def see(self, name: str, output: npt.NDArray[np.generic]) -> None:
        """Take an output into account; the second output of one name in a batch is `name#2`.

        Parameters
        ----------
        name, output
            Of the layer, and what it put out.

        Raises
        ------
        Unsupported
            There are more layers than `MOST_LAYERS`.
        """
        calls = self._calls[name] = self._calls.get(name, 0) + 1
        own = name if calls == 1 else f"{name}#{calls}"
        if own not in self._found:
            if len(self._found) == MOST_LAYERS:
                raise Unsupported(f"The model has more than {MOST_LAYERS:,} layers, the most that are digested.")
            self._found[own] = hashlib.sha256()
        self._found[own].update(output.tobytes())

    def layers(self) -> tuple[Layer, ...]:
        """Return the layers in the order in which they were first seen."""
        return tuple(Layer(name, digest.hexdigest()) for name, digest in self._found.items())


def compute(task: Task, backend: Backend, count: int) -> LayersComputed:
    """Compute the first inputs of a task once more, layer by layer.

    Parameters
    ----------
    task
        What the worker serves.
    backend
        The backend in use.
    count
        How many inputs: whole batches, the same that are compared with the reference.

    Raises
    ------
    Unsupported
        The backend cannot show its layers, or the task is none whose layers are seen.
    ValueError
        The inputs are not whole batches.
    """
    if not isinstance(backend, WithLayers):
        raise Unsupported(f"{task.backend} cannot show what its layers put out.")
    if task.scenario not in {"latency", "throughput"} or task.own is not None or task.device != "cpu":
        raise Unsupported("Layers are seen of this tool's own models on the CPU only, in latency and throughput.")
    if count < 1 or count % task.batch:
        raise ValueError(f"{count} inputs are not a whole number of batches of {task.batch}.")
    run, digests, output = backend.load_layers(source_of(task)), Digests(), hashlib.sha256()
    for first in range(0, count, task.batch):
        digests.begin()
        answer = np.array(run(inputs_of(task, first), digests.see), dtype="<f4", order="C", copy=True)
        output.update(answer.tobytes())
    return LayersComputed(digests.layers(), output.hexdigest(), backend.layers_how)
