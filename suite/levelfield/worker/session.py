"""A loaded task: what a worker keeps of it between requests, and how it answers those that concern it.

This module imports NumPy and the zoo. The server imports it after the framework, so that the import of a framework is
timed in the same way as it would be without this tool's own modules.
"""

import gc
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.backends import precisions
from levelfield.backends.parallel import Replica
from levelfield.backends.protocol import (
    Backend,
    Options,
    Resident,
    ResidentBackend,
    RunsOwnNetworks,
    SaysPrecision,
    SaysTrainedPrecision,
    Source,
    Trainer,
    Unsupported,
    WithDeviceMemory,
)
from levelfield.record.measured import Startup, Window
from levelfield.worker import decoding, items, messages, training
from levelfield.worker.feeding import Fed, batch_of
from levelfield.worker.messages import FROM_DATASET, NotLoadedError, Task
from levelfield.worker.probes import usage
from levelfield.worker.sources import (
    initial_weights,
    inputs_of,
    rotation,
    rotation_digest,
    source_of,
    trained_model,
    training_rule,
)
from levelfield.worker.window import measure_window, timed_answers
from levelfield.zoo import digits, weights
from levelfield.zoo.sensitivity import moved_inputs
from levelfield.zoo.training import convergence
from levelfield.zoo.training.recipe import Goal

if TYPE_CHECKING:
    from levelfield.worker.team import Team


class Session:
    """One loaded task: its model or trainer, its placed inputs, and its feed.

    Raises Unsupported: the backend cannot do what the task needs. Raises ValueError: the task lacks a file, or names a
    wrong one.
    """

    def __init__(
        self,
        task: Task,
        backend: Backend,
        options: Options,
        replica: Replica | None,
        request: messages.Load,
        *,
        since_ns: int,
    ) -> None:
        clock = time.perf_counter_ns
        self.task, self._backend, self._options = task, backend, options
        self._trainer: Trainer | None = None
        self._fed: Fed | None = None
        self._replica = replica if task.scenario == training.SCENARIO else None
        source, rule = source_of(task, hash_files=request.hash_files), training_rule(task)
        hashed = request.hash_files and source.file is None and task.own is None
        weights_sha256 = weights.sha256(source.weights) if hashed else ""
        ready = clock()
        if rule is None:
            self._model = _load_model(backend, task, source)
        else:
            self._trainer = training.load(backend, task, source, rule.optimizer, self._replica)
            run = self._trainer.step if isinstance(rule, Goal) else training.watched(self._trainer.step)
            self._model = Resident(place=_unchanged, run=run, fetch=_unchanged)
        loaded = clock()
        placed = self._model.place(training.share(source.example, self._replica))
        calling = clock()
        if request.launch_measured:
            self._model.run(placed)
        called = clock()
        self._inputs: tuple[Any, ...] = (placed,)
        """Placed batches, which the calls of a window take in turn."""
        way = precisions.way(task.backend, task.precision, task.device, training=rule is not None)
        settings = {"precision": way.how} | backend.settings()
        if self._trainer is not None and rule is not None:
            settings |= training.settings(self._trainer, rule)
        if task.scenario == FROM_DATASET:
            self._fed = Fed(task, self._model)
            settings |= self._fed.settings
        gc.collect()
        gc.freeze()  # a framework's modules are not looked through again before every window
        given = (
            digits.inputs_sha256(convergence.split(rule)) if isinstance(rule, Goal) else weights.sha256(source.example)
        )
        startup = Startup(start_ns=0, import_ns=0, weights_ns=ready - since_ns, load_ns=loaded - ready)
        if request.launch_measured:
            startup = msgspec.structs.replace(startup, first_call_ns=called - calling)
        self.loaded = messages.Loaded(
            startup=startup,
            version=backend.version,
            weights_sha256=weights_sha256,
            inputs_sha256=given,
            settings=settings,
        )
        """The reply to the `Load` that made it, but for the import of the framework."""

    @property
    def trainer(self) -> Trainer:
        """The trainer; raises `NotLoadedError` where the task does not train."""
        if self._trainer is None:
            raise NotLoadedError(f"{self.task.scenario} is not training.")
        return self._trainer

    def close(self) -> None:
        """End the feed, if there is one."""
        if self._fed is not None:
            self._fed.close()

    def step(self) -> None:
        """Make one call that another process leads."""
        self._model.run(self._inputs[0])

    def rotate(self, sets: int) -> messages.Rotated:
        """Make the batches that the calls of a window take in turn."""
        if sets < 1 or self._fed is not None or self._trainer is not None:
            raise ValueError(f"The calls of {self.task.scenario} do not take {sets} batches in turn.")
        sets = 1 if self._model.one_at_a_time else sets
        made = list(rotation(lambda first: inputs_of(self.task, first), sets=sets, batch=self.task.batch))
        self._inputs = ()
        self._inputs = tuple(self._model.place(each) for each in made)
        return messages.Rotated(sets=sets, sha256=rotation_digest(made))

    def verify(self, request: messages.Verify) -> messages.Verified:
        """Return the model's outputs for the first inputs, and what the framework says that it computes in."""
        task, model = self.task, self._model
        if request.count % task.batch:
            raise ValueError(f"{request.count} inputs are not a whole number of batches of {task.batch}.")
        if (
            self._fed is not None and not request.again
        ):  # its first batches are those that the reference is computed for
            fed = [np.array(self._fed.answer(), dtype="<f4", copy=True) for _ in range(request.count // task.batch)]
            return _verified(fed)
        read = inputs_of if self._fed is None else batch_of
        batches = (read(task, first) for first in range(0, request.count, task.batch))
        if request.draw is not None:
            batches = (moved_inputs(batch, request.draw) for batch in batches)
        placed = map(model.place, batches)
        if task.own is not None:
            several, calls = timed_answers(model.run, placed, lambda output: copies(model.fetch(output)))
            verified = messages.Verified(shape=(), output=b"", calls=calls, outputs=concatenated(several))
        else:
            single, calls = timed_answers(
                model.run, placed, lambda output: np.array(model.fetch(output), dtype="<f4", copy=True)
            )
            verified = _verified(single, calls)
        # The framework is asked after the answers, and outside of all that is timed.
        # Of tokens there is no plain model to look at, and a user's own network may be anything.
        plain = decoding.call_of(task) is None and (task.own is None or task.own.python is None)
        asked = request.ask_computed and plain
        if asked and isinstance(self._backend, SaysPrecision):
            computed = self._backend.computed(inputs_of(task, 0))
            verified = msgspec.structs.replace(verified, computed=computed)
        return verified

    def predict(self, request: messages.Predict) -> messages.Predicted:
        """Return the model's outputs for items of a data set; raises ValueError where the task makes no plain calls."""
        if self._trainer is not None or self._fed is not None or self.task.own is not None:
            raise ValueError(f"{self.task.scenario} of {self.task.model} answers no items of a data set.")
        return items.predict(request, self.task, self._model)

    def train(self, request: messages.Train, team: "Team | None") -> messages.Trained:
        """Take steps from the seeded weights."""
        trainer, task = self.trainer, self.task
        if team is not None:
            team.post(request)
        begin = initial_weights(task)
        trained = training.follow(trainer, task, begin, request.steps, request.batch, self._replica)
        if team is not None:
            return team.combined(trained)
        if request.ask_computed and self._replica is None and isinstance(trainer, SaysTrainedPrecision):
            trained = msgspec.structs.replace(trained, computed=training.computed(trainer, task, request.batch))
        return trained

    def check_update(self, request: messages.CheckUpdate, team: "Team | None") -> messages.Updated:
        """Take steps with given gradients, then begin again from the seeded weights."""
        trainer = self.trainer
        if team is not None:
            team.post(request)
        updated = training.check_update(trainer, trained_model(self.task), request, self._replica)
        trainer.restart(initial_weights(self.task))
        return updated if team is None else team.equal(updated)

    def converge(self, request: messages.Converge) -> messages.Converged:
        """Train to the task's target."""
        rule = training_rule(self.task)
        if not isinstance(rule, Goal):
            raise NotLoadedError(f"{self.task.scenario} is not training to a target.")
        return training.converge(self.trainer, rule, request.seed)

    def measure(self, request: messages.Measure, team: "Team | None") -> messages.Measured:
        """Take one timed window."""
        if self._fed is not None:
            return messages.Measured(self._fed.measure(request))
        run, used = self._model.run, usage
        if team is not None:
            run, used = team.led(run), team.usage
        return messages.Measured(measure_window(run, self._inputs, request, used))

    def drive(self, request: messages.Drive) -> messages.Driven:
        """Let a plug-in make the calls; raises Unsupported where they are not plain ones, or the plug-in cannot."""
        from levelfield.worker.sources import imported

        if self._fed is not None or self._trainer is not None or self._model.one_at_a_time:
            raise Unsupported(f"Nothing but the worker itself makes the calls of {self.task.scenario}.")
        drive = imported(request.path, "levelfield_driver").drive
        return messages.Driven(*drive(request.request, self._model.run, self._inputs, self.task.batch))

    def device_bytes(self) -> dict[str, int]:
        """Return the memory of the accelerator that the framework counts; empty where it counts none."""
        return self._backend.device_memory() if isinstance(self._backend, WithDeviceMemory) else {}

    def profile(self, request: messages.Profile) -> messages.Profiled:
        """Profile the model with its framework's own profiler."""
        from levelfield.worker.profiling import profile

        task = self.task
        if self._fed is not None or task.scenario.endswith("-device") or task.device != "cpu":
            raise Unsupported(f"{task.scenario} on {task.device} is not profiled: ask for latency, on the CPU.")
        return profile(request, task, self._backend, self._options, self._model.run, self._inputs[0])


def _load_model(backend: Backend, task: Task, source: Source) -> Resident:
    """Load a model; where inputs and outputs begin and end in host memory, nothing is done to place or fetch them."""
    call = decoding.call_of(task)
    if call is not None:
        return decoding.load(backend, task, source, call)
    if source.network is not None:
        if not isinstance(backend, RunsOwnNetworks) or task.scenario.endswith("-device") or task.device != "cpu":
            raise Unsupported(f"{task.backend} runs no network of your own in {task.scenario} on {task.device} here.")
        return Resident(place=_unchanged, run=backend.load_own(source), fetch=_unchanged)
    if not task.scenario.endswith("-device"):
        return Resident(place=_unchanged, run=backend.load(source), fetch=_unchanged)
    if not isinstance(backend, ResidentBackend):
        raise Unsupported(f"{task.backend} cannot leave inputs and outputs on a device: ask for another scenario.")
    return backend.load_resident(source)


def _verified(answers: list[Any], calls: Window | None = None) -> messages.Verified:
    output = np.concatenate(answers)
    return messages.Verified(shape=output.shape, output=output.tobytes(), calls=calls)


def _unchanged(value: Any) -> Any:  # noqa: ANN401  (any value)
    return value


def copies(answer: Any) -> list[npt.NDArray[np.generic]]:  # noqa: ANN401  (an array of NumPy's, or several)
    """Return copies of all outputs of one call: the next one may overwrite them."""
    return [np.array(each, copy=True) for each in (answer if isinstance(answer, list | tuple) else [answer])]


def concatenated(calls: Sequence[Sequence[npt.NDArray[np.generic]]]) -> tuple[messages.Output, ...]:
    """Put the calls' outputs one after the other, each output by itself.

    Outputs whose shape is another in every call (of boxes that were found, say) are laid out flat.
    """
    found = []
    for each in zip(*calls, strict=True):
        same_shape = len({array.shape[1:] for array in each}) == 1 and all(array.ndim for array in each)
        joined = np.concatenate([array if same_shape else array.reshape(-1) for array in each])
        exact = not np.issubdtype(joined.dtype, np.floating)
        values = joined.astype("<f8" if exact or joined.dtype.itemsize > 4 else "<f4")
        found.append(messages.Output(joined.shape, "<f8" if values.itemsize == 8 else "<f4", values.tobytes(), exact))
    return tuple(found)
