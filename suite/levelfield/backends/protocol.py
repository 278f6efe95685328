"""What a backend is: a class that imports one framework, loads one model and returns the function to be timed."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.backends.parallel import Replica
from levelfield.record.measured import Computed
from levelfield.zoo.training.recipe import Optimizer
from levelfield.zoo.training.update import Amplification

Arrays: TypeAlias = dict[str, npt.NDArray[np.generic]]
"""Named tensors in host memory, C order."""

Step: TypeAlias = Callable[[Arrays], npt.NDArray[np.float32]]
"""The timed call: NumPy arrays in host memory in, the completed NumPy output in host memory out.

Of a user's own file with several outputs, it is a list of them all, in the file's order."""


class Resident(msgspec.Struct, frozen=True):
    """A model whose inputs and outputs stay in the memory of the device that computes it."""

    place: Callable[[Arrays], Any]
    """Copy inputs to the device; never timed."""
    run: Callable[[Any], Any]
    """The timed call: placed inputs in, the output on the device, completed when it returns."""
    fetch: Callable[[Any], npt.NDArray[np.float32]]
    """Copy an output back; never timed."""
    one_at_a_time: bool = False
    """Whether what is placed takes the place of what was placed before."""


class Unsupported(Exception):  # noqa: N818  (a statement about the backend, no failure)
    """This backend cannot do what was asked here; the message says why and what would help."""


class LoadsWith(Exception):  # noqa: N818  (the same)
    """The framework rejects a model as the arm is set up, and was seen to load it with other settings of the arm."""

    def __init__(self, error: Exception, settings: dict[str, str]) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.settings = settings


class Options(msgspec.Struct, frozen=True):
    """How a backend is to be set up, before its framework is imported."""

    threads: int
    precision: str = "fp32"
    device: str = "cpu"
    cache: Path | None = None
    """Folder for the framework's compile cache, or None for none."""
    settings: dict[str, str] = {}


class Source(msgspec.Struct, frozen=True):
    """What a backend is given to load: a model's name and its weights, or a file."""

    model: str
    batch: int
    weights: Arrays
    """Empty for backends that read files."""
    example: Arrays
    """Inputs of the task's batch, to compile with."""
    file: Path | None = None
    """Of the format that the backend reads."""
    network: Any = None
    """A user's own network in Python, of the backend's framework; None: the model has a definition."""


class Backend(Protocol):
    """One framework with one execution mode.

    Constructing it imports and configures the framework (that is timed as import). `load` builds and compiles the
    model (timed as load). Both raise `Unsupported` with a reason where this machine or image lacks something.
    """

    version: str

    def __init__(self, options: Options) -> None: ...

    def load(self, source: Source) -> Step: ...

    def settings(self) -> dict[str, str]:
        """All settings that can tilt the field, read back from the framework where it can say."""
        ...


@runtime_checkable
class ResidentBackend(Protocol):
    """A backend that can leave inputs and outputs on the device (scenarios whose name ends in `-device`)."""

    def load_resident(self, source: Source) -> Resident:
        """Do as `load` does; raises as `load` does."""
        ...


@runtime_checkable
class RunsOwnNetworks(Protocol):
    """A backend that can run a user's own network in Python."""

    def load_own(self, source: Source) -> Callable[[Arrays], Any]:
        """Prepare the network as it prepares its own definitions; a call returns what the network does, as arrays."""
        ...


@runtime_checkable
class WithDeviceMemory(Protocol):
    """A backend whose framework counts the device memory it has taken."""

    def device_memory(self) -> dict[str, int]:
        """Return bytes by what they are (`peak allocated`, `peak reserved`), by the framework's own allocator."""
        ...


@runtime_checkable
class SaysPrecision(Protocol):
    """A backend that can report in what it really computes the loaded model."""

    def computed(self, inputs: Arrays) -> Computed:
        """Count matrix products and convolutions by the type that they multiply; asked outside of all that is timed.

        Parameters
        ----------
        inputs
            Of one call, in host memory.
        """
        ...


@runtime_checkable
class SaysCompiled(Protocol):
    """A backend whose compiler can print the compiled model that is loaded for inference."""

    def compiled_text(self, inputs: Arrays) -> str:
        """Return XLA's text of the compiled module; empty where no model is loaded for inference."""
        ...


class TrainingSource(msgspec.Struct, frozen=True):
    """What a backend is given to train."""

    model: str
    batch: int
    weights: Arrays
    """Where training begins: trained tensors and running statistics, as the model's specification has them."""
    example: Arrays
    """A batch with its labels, to compile with."""
    optimizer: Optimizer
    """Every hyper-parameter: a backend adds none of its own."""
    replica: Replica | None = None
    """This process among those that train together: `batch` and `example` are its share. None: it trains alone."""
    precision: str = "fp32"
    """What the products of the loss, and of its backward pass, are computed in; weights, moments and update are in
    float32."""


class Trainer(Protocol):
    """A model in training. Arrays are named and shaped as the model's specification has them."""

    def step(self, batch: Arrays) -> float:
        """Take one whole step and return the loss before it: the timed call.

        From a batch in host memory to the loss in host memory: forward, loss, backward and update, completed.
        """
        ...

    def step_with_gradients(self, gradients: Iterable[Arrays], by: Amplification) -> None:
        """Take steps whose gradients are given, by the very code of `step`: only the loss is another one.

        The loss is Σ⟨gradient, weight⟩; backward pass, average over processes and update are those of `step`, and the
        optimizer is constructed by the same code. Never timed.

        Parameters
        ----------
        gradients
            Of each step, for every trained tensor; of several processes, those of this one.
        by
            What the optimizer's own learning rate and weight decay are multiplied by in these steps.
        """
        ...

    def gradients(self) -> Arrays:
        """Return the gradients of the first step after a restart; asked right after that step."""
        ...

    def weights(self) -> Arrays:
        """Return the trained tensors and the running statistics as they are now."""
        ...

    def restart(self, weights: Arrays | None = None) -> None:
        """Begin again, with an optimizer in its initial state.

        Parameters
        ----------
        weights
            Where to begin, this time and from now on; None: where training began.
        """
        ...

    def predict(self, inputs: Arrays) -> npt.NDArray[np.float32]:
        """Return the output of the model's definition as its weights are now; BatchNorm normalises by what it followed.

        Never timed.
        """
        ...

    def settings(self) -> dict[str, str]:
        """What is set otherwise than for inference, read back where the framework can say."""
        ...


@runtime_checkable
class SaysTrainedPrecision(Protocol):
    """A trainer that can report in what its step really computes."""

    def computed(self, batch: Arrays) -> Computed:
        """Count the products of a step, forward and back, by the type that they multiply; never timed.

        Parameters
        ----------
        batch
            Of a step, in host memory.
        """
        ...


@runtime_checkable
class TrainingBackend(Protocol):
    """A backend that can train (the scenarios `training` and `convergence`)."""

    def load_training(self, source: TrainingSource) -> Trainer:
        """Build the model with its loss and optimizer, and compile them; raises as `load` does."""
        ...
