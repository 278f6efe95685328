"""Who is timed: Levelfield's own worker, and a bare loop in a plain container of the same image."""

import contextlib
import os
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import docker
import docker.errors
import msgspec
import requests.exceptions
from docker.models.containers import Container
from docker.types import LogConfig

from levelfield.errors import LevelfieldError
from levelfield.images.engine import USER_PROXIES
from levelfield.launchers.channel import ChannelClosed, ChannelTimeout
from levelfield.launchers.container_channel import ContainerChannel, LocalProcess
from levelfield.launchers.docker import NOBODY
from levelfield.launchers.protocol import WorkerPaths, worker_environment
from levelfield.record.schema import Arm, Case
from levelfield.schedule.launches import LOAD_TIMEOUT_S
from levelfield.schedule.outcomes import end_workers
from levelfield.schedule.output_verification import compare_outputs
from levelfield.schedule.resources import RunResources, cache_folder, task_for
from levelfield.schedule.rounds import REWARM_NS
from levelfield.worker.messages import Measure, Measured, Verified
from studies.harness import form_worker
from studies.workers import WINDOW_TIMEOUT_S, launch

LABEL = "levelfield.trial"
_R = TypeVar("_R")


class Pace(msgspec.Struct, frozen=True):
    """How long a window is."""

    window_ns: int
    min_calls: int


class Reading(NamedTuple):
    """The result of one window."""

    median_ns: float
    calls: int
    supervisor_share: float | None = None
    """As in a record's `Window`."""


class Target(NamedTuple):
    """What is launched, and by which engine."""

    client: docker.DockerClient
    resources: RunResources
    case: Case
    arm: Arm
    cpus: tuple[int, ...]
    other_image: str = ""
    """Tag of an image to run in instead of the arm's own: another tool's, with the same framework."""

    @property
    def name(self) -> str:
        return f"{self.arm.id}/{self.case.id}"

    @property
    def tag(self) -> str:
        return self.other_image or self.resources.image(self.arm).tag


class Contestant(Protocol):
    """One launch of an arm."""

    process: str
    """Whose process it is: arms of one process share a name."""
    pid: int | None
    starts_anew: bool
    """It is a program that is started for every window, so it cannot be warmed up."""
    notes: dict[str, str]
    """Of a program that is started anew: its command and settings."""

    def window(self, pace: Pace) -> Reading: ...


def reading(samples_ns: Sequence[int]) -> Reading:
    return Reading(median_ns=statistics.median(samples_ns), calls=len(samples_ns))


class Harness:
    """The worker that `bench` measures with, launched, loaded and verified as `bench` does it."""

    process = "worker"
    starts_anew = False

    def __init__(self, target: Target) -> None:
        self.notes: dict[str, str] = {}
        (self._outcome,) = launch(target.resources, target.case, [target.arm])
        self._worker = self._outcome.worker
        self.pid = self._worker.pid if self._worker else None

    def window(self, pace: Pace) -> Reading:
        request = Measure(window_ns=pace.window_ns, min_calls=pace.min_calls, rewarm_ns=REWARM_NS)
        if self._worker is None:
            raise LevelfieldError("The worker has ended.")
        return reading(self._worker.ask(request, Measured, WINDOW_TIMEOUT_S).window.samples_ns)

    def close(self) -> None:
        end_workers([self._outcome])


def plain_container(
    target: Target, entrypoint: list[str], folders: dict[str, tuple[Path, str]], *, attached: bool
) -> Container:
    """Create a container of an arm's image, on the worker's CPUs and with its user and variables, without a network."""
    return target.client.containers.create(
        target.tag,
        entrypoint=entrypoint,
        user=f"{os.getuid()}:{os.getgid()}" if os.getuid() else f"{NOBODY}:{NOBODY}",
        environment=worker_environment(threads=target.case.threads, cpus=target.cpus),
        labels={LABEL: target.name},
        volumes={str(folder): {"bind": inside, "mode": mode} for inside, (folder, mode) in folders.items()},
        network_mode="none",
        cpuset_cpus=",".join(str(cpu) for cpu in target.cpus),
        stdin_open=attached,
        auto_remove=attached,
        log_config=LogConfig(type=LogConfig.types.NONE if attached else LogConfig.types.JSON),
        use_config_proxy=USER_PROXIES,
    )


def run_program(
    target: Target, name: str, command: list[str], folders: dict[str, tuple[Path, str]], timeout_s: float
) -> str:
    """Run a program in a container of its own to its end, and return what it printed."""
    container = plain_container(target, command, folders, attached=False)
    try:
        container.start()
        try:
            code = container.wait(timeout=timeout_s)["StatusCode"]
        except requests.exceptions.RequestException as error:  # what the engine's library raises after that time
            raise LevelfieldError(f"{name} did not end within {timeout_s:.0f} s.") from error
        output = container.logs(stdout=True, stderr=True).decode("utf-8", "replace")
    finally:
        container.remove(force=True)
    if code:
        raise LevelfieldError(f"{name} ended with code {code}.", fix=f"Its last words: {output[-800:]}")
    return str(output)


class InlineProcess:
    """A plain container of an image, on the CPUs of the worker, that runs the text of `studies.harness.form_worker`.

    It reads and writes one JSON object a line, as a worker does.
    """

    process: str
    """As in `Contestant`."""

    def __init__(
        self, target: Target, name: str, cache: Path | None = None, folders: Mapping[str, tuple[Path, str]] = {}
    ) -> None:
        self._name = name
        folders = {"/artifacts": (target.resources.artifacts.root, "ro"), **folders}
        if cache is not None:
            folders["/cache"] = (cache, "rw")
        code = Path(form_worker.__file__).read_text(encoding="utf-8")
        self._channel = _start(target, [python_of(target), "-P", "-c", code], folders)
        self.pid = self._channel.pid
        paths = WorkerPaths(artifacts="/artifacts", cache="/cache" if cache else None, export=None)
        self.task = task_for(target.resources, target.case, target.arm, paths)

    def ask(self, message: msgspec.Struct, kind: type[_R], timeout_s: float = WINDOW_TIMEOUT_S) -> _R:
        """Send a message and wait for its answer."""
        try:
            self._channel.send(msgspec.json.encode(message))
            return msgspec.json.decode(self._channel.receive(timeout_s), type=kind)
        except (ChannelClosed, ChannelTimeout, msgspec.MsgspecError) as error:
            self._channel.end(1.0)
            words = self._channel.stderr_tail().strip() or "it said nothing"
            raise LevelfieldError(f"The {self._name} gave no answer.", fix=f"Its last words: {words[-800:]}") from error

    def verify(self, target: Target, request: form_worker.FormRequest) -> None:
        """Load a step, and refuse it if it does not compute what the reference does."""
        try:
            answer = self.ask(request, form_worker.Answer, LOAD_TIMEOUT_S)
        except BaseException:
            self.close()
            raise
        reference = target.resources.artifacts.reference(target.case.model, form_worker.VERIFIED)
        parity = compare_outputs(Verified(answer.shape, answer.output), reference, target.case.precision)
        if not parity.equal:
            self.close()
            raise LevelfieldError(f"The {self._name} is not equal to the reference: {parity.reason}.")

    def windows(self, loops: Sequence[str], pace: Pace, rewarm_ns: int) -> list[Reading]:
        """Take windows one after the other; raises as `ask` does."""
        request = form_worker.Windows(tuple(loops), pace.window_ns, pace.min_calls, rewarm_ns)
        return [reading(samples) for samples in self.ask(request, list[list[int]])]

    def close(self) -> None:
        self._channel.end(5.0)


class BareProcess(InlineProcess):
    """A plain container that runs loops around the step of an arm; it shares the worker's compile cache."""

    process = "bare"

    def __init__(self, target: Target) -> None:
        name = f"bare loop around {target.name}"
        cache = cache_folder(target.resources, target.case, target.arm)
        cache.mkdir(parents=True, exist_ok=True)
        if os.getuid() == 0:
            os.chown(cache, NOBODY, NOBODY)
        super().__init__(target, name, cache)
        self.verify(target, form_worker.FormRequest(self.task))


class Loop:
    """A loop around the step of a process, as a contestant."""

    starts_anew = False

    def __init__(self, process: InlineProcess, loop: str) -> None:
        self.notes: dict[str, str] = {}
        self.inside, self.loop = process, loop
        self.process, self.pid = process.process, process.pid

    def window(self, pace: Pace) -> Reading:
        (taken,) = self.inside.windows([self.loop], pace, REWARM_NS)
        return taken


def python_of(target: Target) -> str:
    """Return the interpreter that the image starts with."""
    image = target.client.images.get(target.tag)
    return str(image.attrs["Config"]["Entrypoint"][0])


def _start(target: Target, entrypoint: list[str], folders: dict[str, tuple[Path, str]]) -> ContainerChannel:
    container = plain_container(target, entrypoint, folders, attached=True)
    attached = container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
    try:
        container.start()
        container.reload()
        pid = container.attrs["State"]["Pid"]
    except BaseException:
        attached.close()
        with contextlib.suppress(docker.errors.APIError):
            container.remove(force=True)
        raise
    name = str(container.id)
    return ContainerChannel(target.client, name, attached, LocalProcess.of_container(pid, name))
