"""Who is timed: Levelfield's own worker, and a bare loop in a plain container of the same image."""

import contextlib
import os
import statistics
from pathlib import Path
from typing import Any, Protocol, TypeVar

import docker
import docker.errors
import msgspec
from docker.types import LogConfig

from suite.errors import LevelfieldError
from suite.images.engine import USER_PROXIES
from suite.launchers.channel import ChannelClosed, ChannelTimeout
from suite.launchers.container import ContainerChannel, LocalProcess
from suite.launchers.docker import NOBODY
from suite.launchers.environment import worker_environment
from suite.launchers.protocol import READY_TIMEOUT_S, LaunchSpec
from suite.record.schema import Arm, Case
from suite.schedule.launches import LOAD_TIMEOUT_S
from suite.schedule.rounds import REWARM_NS
from suite.schedule.site import Site, cache_folder, task_for
from suite.schedule.verification import VERIFY_TIMEOUT_S, compare_outputs
from suite.trials.overhead import bare
from suite.worker.messages import Load, Loaded, Measure, Measured, Verified, Verify

LABEL = "levelfield.trial"
WINDOW_TIMEOUT_S = 300.0
_R = TypeVar("_R")


class Pace(msgspec.Struct, frozen=True):
    """How long a window is."""

    window_ns: int
    min_calls: int


class Reading(msgspec.Struct, frozen=True):
    """What one window came to."""

    median_ns: float
    calls: int


class Contestant(Protocol):
    """One launch of an arm."""

    process: str
    """Whose process it is: arms of one process share a name."""
    pid: int | None

    def window(self, pace: Pace) -> Reading: ...


def reading(samples_ns: "list[int] | tuple[int, ...]") -> Reading:
    return Reading(median_ns=statistics.median(samples_ns), calls=len(samples_ns))


def spec_of(site: Site, case: Case, arm: Arm, *, cached: bool = False) -> LaunchSpec:
    """Return how both sides are launched: with one compile cache for the two of them, or with none, so both alike."""
    cache = cache_folder(site, case, arm) if cached else None
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        if os.getuid() == 0:
            os.chown(cache, NOBODY, NOBODY)
    return LaunchSpec(
        cache=cache,
        name=f"{arm.id}/{case.id}",
        image=site.image(arm),
        threads=case.threads,
        cpus=site.cpus,
        memory_bytes=site.memory_bytes,
        artifacts=site.artifacts.root,
    )


class Harness:
    """The worker that `bench` measures with, launched, loaded and verified as `bench` does it."""

    process = "worker"

    def __init__(self, site: Site, case: Case, arm: Arm) -> None:
        spec = spec_of(site, case, arm, cached=True)
        self._worker = site.launcher.launch(spec)
        self.pid = self._worker.pid
        try:
            self._worker.await_ready(READY_TIMEOUT_S)
            self._worker.ask(Load(task_for(site, case, arm, site.launcher.inside(spec))), Loaded, LOAD_TIMEOUT_S)
            refuse_unequal(site, case, spec.name, self._worker.ask(Verify(bare.VERIFIED), Verified, VERIFY_TIMEOUT_S))
        except BaseException:
            self._worker.stop()
            raise

    def window(self, pace: Pace) -> Reading:
        request = Measure(window_ns=pace.window_ns, min_calls=pace.min_calls, rewarm_ns=REWARM_NS)
        return reading(self._worker.ask(request, Measured, WINDOW_TIMEOUT_S).samples_ns)

    def close(self) -> None:
        self._worker.stop()


class InlineProcess:
    """A plain container of an image, on the same CPUs as the worker, in which the text of a module of ours runs.

    It reads and writes one JSON object a line, as a worker does.
    """

    def __init__(self, client: docker.DockerClient, spec: LaunchSpec, name: str, code: Path) -> None:
        self._name = name
        text = code.read_text(encoding="utf-8")
        self._channel = _start(client, spec, [python_of(client, spec.image.tag), "-P", "-c", text])
        self.pid = self._channel.pid

    def say(self, what: msgspec.Struct) -> None:
        with contextlib.suppress(ChannelClosed):  # the answer will say why
            self._channel.send(msgspec.json.encode(what))

    def answer(self, kind: type[_R], timeout_s: float) -> _R:
        """Wait for the next answer.

        Raises
        ------
        LevelfieldError
            The process ended or does not answer; with its last words.
        """
        try:
            return msgspec.json.decode(self._channel.receive(timeout_s), type=kind)
        except (ChannelClosed, ChannelTimeout, msgspec.MsgspecError) as error:
            self._channel.end(1.0)
            words = self._channel.stderr_tail().strip() or "it said nothing"
            raise LevelfieldError(f"The {self._name} gave no answer.", fix=f"Its last words: {words[-800:]}") from error

    def close(self) -> None:
        self._channel.end(5.0)


class BareProcess(InlineProcess):
    """A plain container in which `suite.trials.overhead.bare` runs."""

    def __init__(self, client: docker.DockerClient, site: Site, case: Case, arm: Arm) -> None:
        spec = spec_of(site, case, arm, cached=True)
        name = f"bare loop around {spec.name}"
        super().__init__(client, spec, name, Path(bare.__file__))
        try:
            self.say(task_for(site, case, arm, site.launcher.inside(spec)))
            refuse_unequal(site, case, name, self.answer(Verified, LOAD_TIMEOUT_S))
        except BaseException:
            self.close()
            raise

    def samples(self, ask: bare.Ask) -> list[int]:
        """Take one window; raises as `answer` does."""
        self.say(ask)
        return self.answer(bare.Samples, WINDOW_TIMEOUT_S).samples_ns

    def turns(self, ask: bare.AskTurns) -> list[dict[str, Reading]]:
        """Let two loops take turns inside the process; raises as `answer` does."""
        self.say(ask)
        turns = self.answer(bare.Turns, WINDOW_TIMEOUT_S).turns
        return [{loop: reading(samples) for loop, samples in turn.items()} for turn in turns]


class Loop:
    """One of the loops that a bare process offers, as a contestant."""

    process = "bare"

    def __init__(self, inside: BareProcess, loop: str) -> None:
        self.inside = inside
        self.loop = loop
        self.pid = inside.pid

    def window(self, pace: Pace) -> Reading:
        return reading(self.inside.samples(bare.Ask(self.loop, pace.window_ns, pace.min_calls, REWARM_NS)))


def refuse_unequal(site: Site, case: Case, name: str, verified: Verified) -> None:
    """Time nothing that does not compute the same thing."""
    parity = compare_outputs(verified, site.artifacts.reference(case.model, bare.VERIFIED), case.precision)
    if not parity.equal:
        raise LevelfieldError(f"{name} is not equal to the reference: {parity.reason}.")


def python_of(client: docker.DockerClient, tag: str) -> str:
    """Return the interpreter that an image starts with."""
    return str(client.images.get(tag).attrs["Config"]["Entrypoint"][0])


def user() -> str:
    """Return the user that workers have, so that both sides may read the same files."""
    return f"{os.getuid()}:{os.getgid()}" if os.getuid() else f"{NOBODY}:{NOBODY}"


def _start(client: docker.DockerClient, spec: LaunchSpec, entrypoint: list[str]) -> ContainerChannel:
    api: Any = client.api
    binds = {str(spec.artifacts): {"bind": "/artifacts", "mode": "ro"}}
    if spec.cache is not None:
        binds[str(spec.cache)] = {"bind": "/cache", "mode": "rw"}
    container = api.create_container(
        spec.image.tag,
        entrypoint=entrypoint,
        user=user(),
        environment=worker_environment(threads=spec.threads, cpus=spec.cpus),
        stdin_open=True,
        labels={LABEL: spec.name},
        host_config=api.create_host_config(
            binds=binds,
            network_mode="none",
            cpuset_cpus=",".join(str(cpu) for cpu in spec.cpus),
            auto_remove=True,
            log_config=LogConfig(type=LogConfig.types.NONE),
        ),
        use_config_proxy=USER_PROXIES,
    )["Id"]
    attached = api.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
    try:
        api.start(container)
        pid = api.inspect_container(container)["State"]["Pid"] or None
    except BaseException:
        attached.close()
        with contextlib.suppress(docker.errors.APIError):
            api.remove_container(container, force=True)
        raise
    return ContainerChannel(client, container, attached, LocalProcess.of_container(pid or 0, container))
