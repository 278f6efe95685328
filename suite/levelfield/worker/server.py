"""Serve requests, one JSON object a line, until stdin closes. No framework is imported before `Load` asks for it.

NumPy is not imported either: with everything else that a task needs, it comes with the backend.
"""

import gc
import importlib
import os
import platform
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from levelfield.record.measured import MachineProbe, Startup
from levelfield.worker import messages
from levelfield.worker.messages import PROTOCOL, Failed, Reply, Task

if TYPE_CHECKING:
    from levelfield.backends.parallel import Replica
    from levelfield.backends.protocol import Backend, Options
    from levelfield.worker.machine_probe import ProbeThreads
    from levelfield.worker.session import Session
    from levelfield.worker.team import Team

_decoder = msgspec.json.Decoder(messages.Request)
_encoder = msgspec.json.Encoder()


class Service:
    """What a worker keeps between requests: its backend, the task that is loaded, and the processes that it leads."""

    def __init__(self, fail_and_exit: Callable[[Failed], None] = lambda _: None) -> None:
        self._fail_and_exit = fail_and_exit
        self._replica: Replica | None = None
        """None: it trains alone, if at all."""
        self.team: Team | None = None
        """The processes that it leads; None: there are none, or another leads it."""
        self._backend: Backend | None = None
        self._set_up_as: tuple[str, Options] | None = None
        self._session: Session | None = None
        self._machine: ProbeThreads | None = None
        """None: nobody asked in what state the machine is."""

    def answer(self, request: messages.Answerable) -> messages.Reply:
        if self.team is not None and self.team.lost is not None:
            return self.team.lost
        match request:
            case messages.Load():
                return self._load(request)
            case messages.Probe():
                return self._probe(request)
            case messages.MeasureRoofline():
                from levelfield.worker.roofline import measure

                return messages.RooflineMeasured(measure(request))
            case messages.ProbeMachine():
                return self._probe_machine(request.buffer_bytes)
            case messages.PollMachine():
                if self._machine is None:
                    raise messages.NotLoadedError("The machine has not been probed yet.")
                return messages.Polled(self._machine.arithmetic_ns())
            case messages.Export():
                return _export(request)
            case messages.Sense():
                from levelfield.worker import own_sensitivity

                return own_sensitivity.answer(request)
            case messages.CallPlugin():
                function = getattr(importlib.import_module(request.module), request.function)
                return messages.PluginCalled(msgspec.Raw(msgspec.json.encode(function(request.request))))
            case messages.Join(replica=replica):
                self._replica = replica
                return messages.Joined()
            case messages.Use():
                return _use()
        session = self._loaded()
        match request:
            case messages.Verify():
                return session.verify(request)
            case messages.Predict():
                return session.predict(request)
            case messages.Rotate(sets=sets):
                return session.rotate(sets)
            case messages.Train():
                return session.train(request, self.team)
            case messages.CheckUpdate():
                return session.check_update(request, self.team)
            case messages.Converge():
                return session.converge(request)
            case messages.Measure():
                return session.measure(request, self.team)
            case messages.Drive():
                return session.drive(request)
            case messages.Profile():
                return session.profile(request)

    def step(self) -> None:
        """Take a step that another process leads."""
        self._loaded().step()

    def _loaded(self) -> "Session":
        if self._session is None:
            raise messages.NotLoadedError("Nothing has been loaded yet.")
        return self._session

    def _load(self, request: messages.Load) -> messages.Loaded:
        task = request.task
        if self._session is not None and self._session.task == task:
            return msgspec.structs.replace(self._session.loaded, startup=Startup(0, 0, 0, 0))
        if task.processes > 1 and self._replica is None:
            from levelfield.worker.team import Team

            self.team = Team(task.processes, self._fail_and_exit)
            self._replica = self.team.replica
        if self.team is not None:
            self.team.post(request)
        if not request.launch_measured:
            gc.disable()  # imports and compilers make millions of objects that stay: 10 % of the time is spent on them
        try:
            loaded = self._load_now(task, request)
        finally:
            gc.enable()
        if self.team is not None:
            self.team.collect(messages.Loaded)
        return loaded

    def _load_now(self, task: Task, request: messages.Load) -> messages.Loaded:
        if self._session is not None:
            self._session.close()
        self._session = None
        gc.unfreeze()
        gc.collect()
        begin = time.perf_counter_ns()
        fresh = self._backend is None
        backend, options = self._set_up(task)
        imported = time.perf_counter_ns()
        from levelfield.worker.session import Session

        self._session = Session(task, backend, options, self._replica, request, since_ns=imported)
        loaded = self._session.loaded
        startup = msgspec.structs.replace(loaded.startup, import_ns=imported - begin if fresh else 0)
        return msgspec.structs.replace(loaded, startup=startup)

    def _set_up(self, task: Task) -> "tuple[Backend, Options]":
        """Import and configure the framework; what an earlier task set up is kept where it is the same."""
        from levelfield.backends import registry
        from levelfield.backends.protocol import Options

        options = Options(
            threads=task.threads,
            precision=task.precision,
            device=task.device,
            cache=Path(task.cache_path) if task.cache_path else None,
            settings=task.settings,
        )
        if self._backend is None or self._set_up_as != (task.backend, options):
            self._backend, self._set_up_as = registry.create(task.backend, options), (task.backend, options)
        return self._backend, options

    def _probe_machine(self, buffer_bytes: int) -> MachineProbe:
        from levelfield.worker.machine_probe import ProbeThreads

        if self._machine is None or self._machine.buffer_bytes != buffer_bytes:
            if self._machine is not None:
                self._machine.close()
            self._machine = ProbeThreads(buffer_bytes)
        return self._machine.probe()

    def _probe(self, request: messages.Probe) -> messages.Probed:
        from levelfield.worker.probes import probe

        probed = probe(installed=request.installed)
        if self._session is not None:
            memory = msgspec.structs.replace(probed.memory, device_bytes=self._session.device_bytes())
            probed = msgspec.structs.replace(probed, memory=memory)
        return probed if self.team is None else self.team.probe_all(probed)


def _use() -> messages.Used:
    """Say what this process has used; a led process rests its garbage collector between these questions."""
    from levelfield.worker.probes import usage

    gc.collect()
    gc.disable()
    return usage()


def _export(request: messages.Export) -> messages.Exported:
    if request.own is not None:
        from levelfield.worker import own_export

        return own_export.export(request.own, Path(request.folder))
    from levelfield.zoo import models, weights

    model = models.get(request.model)
    parameters = weights.load(Path(request.weights_path), model) if request.weights_path else weights.make(model)
    exporter = importlib.import_module(request.module)
    made = exporter.export(model, parameters, request.batch, request.precision, Path(request.folder))
    return messages.Exported(files=made.files, opset=made.opset, versions=made.versions)


class ReplyWriter:
    """Writes all lines of a worker, from any thread."""

    def __init__(self, replies: IO[bytes]) -> None:
        self._replies = replies
        self._lock = threading.Lock()
        self._owed = False

    def expect_one(self) -> None:
        """Note that a reply is owed from now on."""
        self._owed = True

    def write(self, reply: Reply) -> None:
        """Write a reply; none is owed any more."""
        with self._lock:
            self._write(reply)

    def fail_and_exit(self, failed: Failed) -> None:
        """Reply in place of the serving thread, which waits for a lost peer, and end the process.

        Does nothing where no reply is owed.
        """
        with self._lock:
            if self._owed:
                self._write(failed)
                os._exit(1)

    def _write(self, reply: Reply) -> None:
        self._owed = False
        self._replies.write(_encoder.encode(reply) + b"\n")
        self._replies.flush()


def serve(requests: IO[bytes], output: IO[bytes]) -> None:
    """Answer requests, one line each, until stdin closes or the supervisor asks to stop."""
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
            from levelfield.worker import failures

            failed = failures.failure(error, device)
            lost = service.team.await_loss() if service.team is not None else None
            reply = failed if lost is None else msgspec.structs.replace(lost, detail=lost.detail or failed.detail)
        replies.write(reply)
