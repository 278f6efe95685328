"""The agent of a host: it waits for runs of other hosts, and starts workers for them in this host's own images."""

import contextlib
import select
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from suite.errors import LevelfieldError
from suite.hosts.channel import ClosedError, MessageChannel
from suite.hosts.messages import End, Ended, Hello, Here, Prepare, Prepared, Refused, Reply, Request, Start, Started
from suite.launchers.protocol import Launcher, LaunchSpec
from suite.launchers.worker import Worker, WorkerError
from suite.machine import topology
from suite.machine.fingerprint import fingerprint
from suite.paths import lasting_temporary_folder, remove_temporary
from suite.plan import cpu_pinning, names
from suite.plan.cpu_pinning import Requested
from suite.prepare.artifacts import Artifacts
from suite.worker.rendezvous import authenticated

if TYPE_CHECKING:
    from suite.record.schema import Image


class Agent:
    """What a host keeps for one run of another host: images, a folder for caches, and workers.

    Parameters
    ----------
    launcher
        How workers are started here.
    tool_sha256
        Of this tool; a run of another one is refused.
    address
        IPv4 address of this host that the run reached it at.
    cpus
        CPUs to choose from, as `suite.plan.cpu_pinning.pool` takes them.
    say : callable
        Called with short lines on what is done.
    """

    def __init__(
        self, launcher: Launcher, tool_sha256: str, address: str, cpus: Requested, say: Callable[[str], None]
    ) -> None:
        self._launcher = launcher
        self._tool_sha256 = tool_sha256
        self._address = address
        self._topology = topology.read()
        self._pool = cpu_pinning.pool(cpus, self._topology)
        self._say = say
        self._artifacts = Artifacts(progress=say)
        self._images: dict[str, Image] = {}
        self._owned: Path | None = None
        self._workers: dict[str, Worker] = {}
        self._stderr_of: dict[str, str] = {}

    def answer(self, request: Request) -> Reply:
        """Do what a run asks for; what cannot be done is refused with the reason."""
        try:
            match request:
                case Hello():
                    return self._hello(request)
                case Prepare():
                    return self._prepare(request)
                case Start():
                    return self._start(request)
                case End():
                    self._end(request.name)
                    return Ended(self._stderr_of.pop(request.name, ""))
        except (LevelfieldError, WorkerError) as error:
            return Refused(str(error))
        except (OSError, ValueError) as error:  # such as a name that no folder can have
            return Refused(f"It cannot be done there: {error}.")

    def _hello(self, request: Hello) -> Reply:
        if request.tool_sha256 != self._tool_sha256:
            return Refused("It runs another Levelfield than this run. Install the same one on every host.")
        cpus = self._pool.cpus
        return Here(fingerprint(cpus), len(cpus))

    def _prepare(self, request: Prepare) -> Reply:
        known = (*names.all_images(),)
        if request.image not in known:
            return Refused(f"There is no image of the name {request.image[:40]!r}.")
        image = self._launcher.prepare(request.image, request.variant, request.version, self._say)
        self._images[image.tag] = image
        models = names.known("model", request.models, names.names_of_models())
        return Prepared(image, {name: self._artifacts.weights_artifact(name).sha256 for name in models})

    def _start(self, request: Start) -> Reply:
        self._end(request.name)
        self._stderr_of.pop(request.name, None)
        if request.image not in self._images:
            return Refused("That image was not prepared here.")
        (model,) = names.known("model", (request.model,), names.names_of_models())
        if Path(request.cache).name != request.cache or request.cache in {"", ".", ".."}:
            return Refused("That is no name of a folder.")
        (threads,) = cpu_pinning.counts((request.threads,), self._pool)
        cpus = cpu_pinning.pinned(threads, self._pool.cpus, self._topology)
        if self._owned is None:
            self._owned = lasting_temporary_folder("levelfield-run")
        cache = self._owned / request.cache
        cache.mkdir(parents=True, exist_ok=True)
        nodes = () if self._launcher.cannot_bind_memory() else self._topology.memory_nodes(cpus)
        spec = LaunchSpec(
            name=request.name,
            image=self._images[request.image],
            threads=threads,
            cpus=cpus,
            memory_bytes=request.memory_bytes,
            artifacts=self._artifacts.root,
            cache=cache,
            memory_nodes=nodes,
            address=self._address,
        )
        paths = self._launcher.worker_paths(spec)
        rendezvous = msgspec.structs.replace(
            request.rendezvous,
            weights_path=f"{paths.artifacts}/{self._artifacts.weights(model)}",
            cache_path=paths.cache,
        )
        self._workers[request.name] = self._launcher.launch(msgspec.structs.replace(spec, rendezvous=rendezvous))
        self._say(f"started {request.name}")
        return Started()

    def descriptors(self) -> tuple[int, ...]:
        """Return the descriptors that become readable when a worker writes something, or ends."""
        return tuple(each for worker in self._workers.values() for each in worker.descriptors())

    def read_workers(self) -> None:
        """Read what workers have written, so that no full pipe keeps one waiting, and let go those that have ended."""
        for name in [name for name, worker in self._workers.items() if worker.answered()]:
            self._end(name)
            self._say(f"{name} has ended")

    def _end(self, name: str) -> None:
        """End a worker, if it is there, and keep the end of its stderr until it is asked for."""
        if name in self._workers:
            worker = self._workers.pop(name)
            worker.stop()
            self._stderr_of[name] = worker.stderr_tail()

    def close(self) -> None:
        """End all workers, and remove what was made for the run."""
        for name in list(self._workers):
            self._end(name)
        if self._owned is not None:
            remove_temporary(self._owned)
            self._owned = None


def serve(listening: socket.socket, key: str, agent_at: Callable[[str], Agent], say: Callable[[str], None]) -> None:
    """Serve runs one after the other, until this process is interrupted.

    Parameters
    ----------
    listening
        Where they connect.
    key
        That they have to have, hexadecimal.
    agent_at : callable
        Makes the agent of a run, from the address of this host that the run connected to.
    say : callable
        Called with a short line when a run comes and goes.
    """
    secret = bytes.fromhex(key)
    while True:
        connected, (caller, _) = listening.accept()
        if not authenticated(connected, secret, first=True):
            connected.close()
            say(f"turned away {caller}, which has not the key")
            continue
        say(f"a run of {caller} begins")
        channel: MessageChannel[Request] = MessageChannel(connected, Request)
        agent = agent_at(channel.address)
        try:
            _serve_run(channel, agent)
        finally:
            agent.close()
            channel.close()
        say(f"the run of {caller} has ended")


def _serve_run(channel: MessageChannel[Request], agent: Agent) -> None:
    with contextlib.suppress(ClosedError, msgspec.MsgspecError):
        while True:
            ready, _, _ = select.select([channel.fileno(), *agent.descriptors()], [], [])
            if channel.fileno() in ready:
                channel.send(agent.answer(channel.receive(None)))
            else:
                agent.read_workers()
