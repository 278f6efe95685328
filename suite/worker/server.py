"""Serve requests, one JSON object a line, until stdin closes. No framework is imported before `Load` asks for it."""

import gc
import os
import platform
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from suite.worker import messages
from suite.worker.messages import FROM_DATASET, PROTOCOL, Failed, Task
from suite.worker.replies import ReplyWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from suite.backends.protocol import Backend, Options, Resident, Source, Trainer
    from suite.backends.replica import Replica
    from suite.worker.feeding import Fed
    from suite.worker.team import Team
    from suite.zoo.honesty import Computed

_decoder = msgspec.json.Decoder(messages.Request)


class NotLoadedError(RuntimeError):
    """A request came before `Load`: a mistake of the supervisor."""


class Service:
    """What a worker holds between requests: one loaded model and its inputs."""

    def __init__(self, fail_and_exit: "Callable[[Failed], None] | None" = None) -> None:
        self._fail_and_exit = fail_and_exit
        self._replica: Replica | None = None
        """None: it trains alone, if at all."""
        self.team: Team | None = None
        """The processes that it leads; None: there are none, or another leads it."""
        self._backend: Backend | None = None
        self._set_up_as: tuple[str, Options] | None = None
        self._task: Task | None = None
        self._reply: messages.Loaded | None = None
        self._model: Resident | None = None
        self._trainer: Trainer | None = None
        self._inputs: tuple[Any, ...] = ()
        """Placed batches, which the calls of a window take in turn."""
        self._fed: Fed | None = None

    def answer(self, request: messages.Answerable) -> messages.Reply:
        if self.team is not None and self.team.lost is not None:
            return self.team.lost
        match request:
            case messages.Load(task=task, launch_measured=launch_measured):
                return self._load(task, launch_measured=launch_measured)
            case messages.Verify(count=count, again=again, ask_computed=ask_computed):
                return self._verify(count, again=again, ask_computed=ask_computed)
            case messages.Rotate(sets=sets):
                return self._rotate(sets)
            case messages.Train(steps=steps, batch=batch):
                return self._train(steps, batch)
            case messages.CheckUpdate():
                return self._check_update(request)
            case messages.Converge(seed=seed):
                return self._converge(seed)
            case messages.Measure():
                return self._measure(request)
            case messages.Profile():
                return self._profile(request)
            case messages.Probe(installed=installed):
                from suite.worker.probes import probe

                probed = msgspec.structs.replace(probe(installed=installed), device_bytes=self._device_bytes())
                return self.team.probe_all(probed) if self.team is not None else probed
            case messages.MeasureRoofline():
                from suite.worker.roofline import measure

                return measure(request)
            case messages.Export():
                return _export(request)
            case messages.Join(replica=replica):
                self._replica = replica
                return messages.Joined()
            case messages.Use():
                return _use()

    def step(self) -> None:
        """Take a step that another process leads."""
        _, loaded = self._loaded()
        loaded.run(self._inputs[0])

    def _load(self, task: Task, *, launch_measured: bool) -> messages.Loaded:
        if self._reply is not None and self._task == task:
            return msgspec.structs.replace(self._reply, import_ns=0, weights_ns=0, load_ns=0, first_call_ns=None)
        if task.processes > 1 and self._replica is None:
            from suite.worker.team import Team

            self.team = Team(task.processes, self._fail_and_exit or _ignore)
            self._replica = self.team.replica
        if self.team is not None:
            self.team.post(messages.Load(task, launch_measured))
        self._reply = self._load_anew(task, launch_measured=launch_measured)
        if self.team is not None:
            self.team.collect(messages.Loaded)
        return self._reply

    def _load_anew(self, task: Task, *, launch_measured: bool) -> messages.Loaded:
        if launch_measured:
            return self._load_now(task, first_call=True)
        gc.disable()  # imports and compilers make millions of objects that stay: 10 % of the time is spent on looking
        try:
            return self._load_now(task, first_call=False)
        finally:
            gc.enable()

    def _load_now(self, task: Task, *, first_call: bool) -> messages.Loaded:
        clock = time.perf_counter_ns
        if self._fed is not None:
            self._fed.close()
        self._task, self._model, self._trainer, self._inputs, self._fed = None, None, None, (), None
        gc.unfreeze()
        gc.collect()
        begin = clock()
        fresh = self._backend is None
        backend = self._set_up(task)
        imported = clock()
        from suite.backends import precisions
        from suite.backends.protocol import Resident
        from suite.worker import converging, training
        from suite.worker.sources import source_of
        from suite.zoo import models, weights

        source, to_target = source_of(task), task.scenario == converging.SCENARIO
        weights_sha256 = weights.sha256(source.weights) if source.weights else ""
        ready = clock()
        trained: dict[str, str] = {}
        if task.scenario == training.SCENARIO:
            self._trainer = training.load(backend, task, source, models.recipe(task.model).optimizer, self._replica)
            loaded_model = Resident(place=_unchanged, run=training.watched(self._trainer.step), fetch=_unchanged)
            trained = training.settings(self._trainer, task.model)
        elif to_target:
            self._trainer = training.load(backend, task, source, converging.goal_of(task).optimizer)
            loaded_model = Resident(place=_unchanged, run=self._trainer.step, fetch=_unchanged)
            trained = converging.settings(self._trainer, task)
        else:
            loaded_model = _load_model(backend, task, source)
        loaded = clock()
        shared = self._replica if task.scenario == training.SCENARIO else None
        placed = loaded_model.place(training.share(source.example, shared))
        calling = clock()
        if first_call:
            loaded_model.run(placed)
        called = clock()
        self._task, self._model, self._inputs = task, loaded_model, (placed,)
        settings = backend.settings() | trained
        if task.scenario == FROM_DATASET:
            from suite.worker.feeding import Fed

            self._fed = Fed(task, loaded_model)
            settings |= self._fed.settings
        gc.collect()
        gc.freeze()  # a framework's modules are not looked through again before every window
        return messages.Loaded(
            import_ns=imported - begin if fresh else 0,
            weights_ns=ready - imported,
            load_ns=loaded - ready,
            first_call_ns=called - calling if first_call else None,
            version=backend.version,
            weights_sha256=weights_sha256,
            inputs_sha256=converging.inputs_sha256(task) if to_target else weights.sha256(source.example),
            settings={"precision": precisions.way(task.backend, task.precision, task.device).how} | settings,
        )

    def _set_up(self, task: Task) -> "Backend":
        """Import and configure the framework; what an earlier task set up is kept where it is the same."""
        from suite.backends import registry
        from suite.backends.protocol import Options

        options = Options(
            threads=task.threads,
            precision=task.precision,
            device=task.device,
            cache=Path(task.cache_path) if task.cache_path else None,
            settings=task.settings,
        )
        if self._backend is None or self._set_up_as != (task.backend, options):
            self._backend, self._set_up_as = registry.create(task.backend, options), (task.backend, options)
        return self._backend

    def _rotate(self, sets: int) -> messages.Rotated:
        from suite.worker import rotation
        from suite.worker.sources import inputs_of

        task, loaded = self._loaded()
        if sets < 1 or self._fed is not None or self._trainer is not None:
            raise ValueError(f"The calls of {task.scenario} do not take {sets} batches in turn.")
        sets = 1 if loaded.one_at_a_time else sets
        made = list(rotation.batches(lambda first: inputs_of(task, first), sets=sets, batch=task.batch))
        self._inputs = ()
        self._inputs = tuple(loaded.place(each) for each in made)
        return messages.Rotated(sets=sets, sha256=rotation.digest(made))

    def _verify(self, count: int, *, again: bool, ask_computed: bool) -> messages.Verified:
        import numpy as np

        from suite.worker import outputs
        from suite.worker.feeding import batch_of
        from suite.worker.sources import inputs_of
        from suite.worker.window import timed_answers

        task, loaded = self._loaded()
        if count % task.batch:
            raise ValueError(f"{count} inputs are not a whole number of batches of {task.batch}.")
        if self._fed is not None and not again:  # its first batches are those that the reference is computed for
            fed = [self._fed.answer() for _ in range(count // task.batch)]
            output = np.concatenate([np.array(each, dtype="<f4", copy=True) for each in fed])
            return messages.Verified(shape=output.shape, output=output.tobytes())
        read = inputs_of if self._fed is None else batch_of
        placed = (loaded.place(read(task, first)) for first in range(0, count, task.batch))
        if task.own is not None:
            several, calls = timed_answers(loaded.run, placed, lambda output: outputs.copies(loaded.fetch(output)))
            verified = messages.Verified(shape=(), output=b"", calls=calls, outputs=outputs.concatenated(several))
        else:
            single, calls = timed_answers(
                loaded.run, placed, lambda output: np.array(loaded.fetch(output), dtype="<f4", copy=True)
            )
            output = np.concatenate(single)
            verified = messages.Verified(shape=output.shape, output=output.tobytes(), calls=calls)
        return msgspec.structs.replace(verified, computed=self._computed()) if ask_computed else verified

    def _computed(self) -> "Computed | None":
        """Ask the framework in what it computes what is loaded: after the answers, and outside of all that is timed."""
        from suite.backends.protocol import SaysPrecision
        from suite.worker.sources import inputs_of

        example = inputs_of(self._loaded()[0], 0)
        return self._backend.computed(example) if isinstance(self._backend, SaysPrecision) else None

    def _train(self, steps: int, batch: int) -> messages.Trained:
        from suite.worker import training
        from suite.worker.sources import initial_weights

        task, trainer = self._training()
        if self.team is not None:
            self.team.post(messages.Train(steps, batch))
        trained = training.follow(trainer, task, initial_weights(task), steps, batch, self._replica)
        return self.team.combined(trained) if self.team is not None else trained

    def _check_update(self, request: messages.CheckUpdate) -> messages.Updated:
        from suite.worker import training
        from suite.worker.sources import initial_weights, trained_model

        task, trainer = self._training()
        if self.team is not None:
            self.team.post(request)
        updated = training.check_update(trainer, trained_model(task), request, self._replica)
        trainer.restart(initial_weights(task))
        return self.team.equal(updated) if self.team is not None else updated

    def _training(self) -> "tuple[Task, Trainer]":
        task, _ = self._loaded()
        if self._trainer is None:
            raise NotLoadedError(f"{task.scenario} is not training.")
        return task, self._trainer

    def _converge(self, seed: int) -> messages.Converged:
        from suite.worker import converging

        task, _ = self._loaded()
        if self._trainer is None or task.scenario != converging.SCENARIO:
            raise NotLoadedError(f"{task.scenario} is not training to a target.")
        return converging.train(self._trainer, converging.goal_of(task), seed)

    def _measure(self, request: messages.Measure) -> messages.Measured:
        from suite.worker.window import measure_window

        _, loaded = self._loaded()
        if self._fed is not None:
            return self._fed.measure(request)
        if self.team is not None:
            return measure_window(self.team.led(loaded.run), self._inputs, request, self.team.usage)
        return measure_window(loaded.run, self._inputs, request)

    def _profile(self, request: messages.Profile) -> messages.Profiled:
        from suite.backends.protocol import Unsupported
        from suite.worker.profiling import profile

        task, loaded = self._loaded()
        if self._backend is None or self._set_up_as is None:
            raise NotLoadedError("Nothing has been set up yet.")
        if self._fed is not None or task.scenario.endswith("-device") or task.device != "cpu":
            raise Unsupported(f"{task.scenario} on {task.device} is not profiled: ask for latency, on the CPU.")
        return profile(request, task, self._backend, self._set_up_as[1], loaded.run, self._inputs[0])

    def _loaded(self) -> "tuple[Task, Resident]":
        if self._task is None or self._model is None:
            raise NotLoadedError("Nothing has been loaded yet.")
        return self._task, self._model

    def _device_bytes(self) -> dict[str, int]:
        from suite.backends.protocol import WithDeviceMemory

        return self._backend.device_memory() if isinstance(self._backend, WithDeviceMemory) else {}


def _load_model(backend: "Backend", task: Task, source: "Source") -> "Resident":
    """Load a model; where inputs and outputs begin and end in host memory, nothing is done to place or fetch them."""
    from suite.backends.protocol import Resident, ResidentBackend, Unsupported

    if not task.scenario.endswith("-device"):
        return Resident(place=_unchanged, run=backend.load(source), fetch=_unchanged)
    if not isinstance(backend, ResidentBackend):
        raise Unsupported(f"{task.backend} cannot leave inputs and outputs on a device: ask for another scenario.")
    return backend.load_resident(source)


def _unchanged(value: Any) -> Any:  # noqa: ANN401  (whatever it is)
    return value


def _ignore(_: Failed) -> None:
    """Say nothing: there is no supervisor."""


def _use() -> messages.Used:
    """Say what this process has used; a led process rests its garbage collector between these questions."""
    from suite.worker.probes import usage

    gc.collect()
    gc.disable()
    return usage()


def _export(request: messages.Export) -> messages.Exported:
    from suite.zoo import models, onnx_export, weights

    model = models.get(request.model)
    parameters = weights.load(Path(request.weights_path), model) if request.weights_path else weights.make(model)
    made = onnx_export.export(model, parameters, request.batch, request.precision, Path(request.folder))
    return messages.Exported(files=made.files, opset=made.opset, versions=made.versions)


def serve(requests: IO[bytes], output: IO[bytes]) -> None:
    """Answer requests, one line each, until stdin closes or the supervisor asks to stop.

    Parameters
    ----------
    requests
        Binary stream of requests.
    output
        Binary stream that replies are written to, one line for each request that has one.
    """
    replies = ReplyWriter(output)
    service, device = Service(replies.fail_and_exit), "cpu"
    replies.write(messages.Ready(protocol=PROTOCOL, pid=os.getpid(), python=platform.python_version()))
    for line in requests:
        try:
            request: Any = _decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            replies.write(Failed(kind="error", message=f"This request is not understood: {error}."))
            continue
        if isinstance(request, messages.Stop):
            return
        if isinstance(request, messages.Load):
            device = request.task.device
        try:
            if isinstance(request, messages.Step):
                service.step()
                continue
            replies.expect_one()
            reply = service.answer(request)
        except Exception as error:  # noqa: BLE001  (the edge of the process: nothing is swallowed, it is all reported)
            from suite.worker import failures

            failed = failures.failure(error, device)
            lost = service.team.await_loss() if service.team is not None else None
            reply = failed if lost is None else msgspec.structs.replace(lost, detail=lost.detail or failed.detail)
        replies.write(reply)
