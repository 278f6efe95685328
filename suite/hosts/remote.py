"""Other hosts as a run sees them: each is connected to once, prepares images, and starts a worker for every launch."""

import secrets
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from suite.errors import LevelfieldError
from suite.hosts.channel import ClosedError, MessageChannel, connect
from suite.hosts.messages import End, Ended, Hello, Here, Prepare, Prepared, Refused, Reply, Request, Start, Started
from suite.images import catalogue
from suite.launchers.protocol import LaunchSpec
from suite.launchers.worker import Worker, WorkerError, with_names
from suite.record.schema import Fingerprint, Image
from suite.worker.messages import Listen, Listening, Rendezvous

HELLO_TIMEOUT_S = 60.0
PREPARE_TIMEOUT_S = 3600.0
"""An image may have to be built there."""
START_TIMEOUT_S = 60.0
KEY_BYTES = 32
_R = TypeVar("_R", bound=Reply)
_ALIKE = ("name", "variant", "launcher", "layers", "lock_sha256", "recipe_sha256", "worker_sha256", "distributions")
"""Fields of an image that have to be equal on all hosts; the engine's own name for it may differ."""


class RemoteHost:
    """One other host.

    Parameters
    ----------
    name
        Such as `host 2`, for messages: a record holds no address.
    reached_at
        Its IPv4 address.
    channel
        The connection to its agent.
    """

    def __init__(self, name: str, reached_at: str, channel: MessageChannel[Reply]) -> None:
        self.name = name
        self.reached_at = reached_at
        self.address = channel.address
        """IPv4 address of this host, from which the other one is reached."""
        self._channel = channel

    def hello(self, tool_sha256: str) -> Here:
        """Return what host it is; raises LevelfieldError where it cannot take part."""
        return self._ask(Hello(tool_sha256), Here, HELLO_TIMEOUT_S)

    def prepare(self, image: Image, weights_sha256: dict[str, str]) -> str:
        """Make an image ready there, and weights, and return the image's tag.

        Parameters
        ----------
        image
            As it was made here.
        weights_sha256
            Of the weights here, by model.

        Raises
        ------
        LevelfieldError
            It cannot be made there, or what was made differs.
        """
        request = Prepare(image.name, *catalogue.split_stem(image.variant), tuple(weights_sha256))
        made = self._ask(request, Prepared, PREPARE_TIMEOUT_S)
        other = [field for field in _ALIKE if getattr(made.image, field) != getattr(image, field)]
        if other:
            raise LevelfieldError(
                f"{self.name.capitalize()} has another image of {image.name} than this host ({', '.join(other)}).",
                fix="Use the same launcher on all hosts; move images with `levelfield bundle` where they were built.",
            )
        if made.weights_sha256 != weights_sha256:
            raise LevelfieldError(
                f"{self.name.capitalize()} makes other weights than this host, so nothing could be compared.",
                fix="Run `levelfield clean` there and start again.",
            )
        return made.image.tag

    def start(self, request: Start) -> None:
        """Start a worker there; raises LevelfieldError."""
        self._ask(request, Started, START_TIMEOUT_S)

    def end(self, name: str) -> str:
        """End a worker there, if it is there, and return the end of its stderr; raises LevelfieldError."""
        return self._ask(End(name), Ended, START_TIMEOUT_S).stderr

    def close(self) -> None:
        """Leave it: its agent ends what it started."""
        self._channel.close()

    def _ask(self, request: Request, expect: type[_R], timeout_s: float) -> _R:
        try:
            self._channel.send(request)
            reply = self._channel.receive(timeout_s)
        except (ClosedError, msgspec.MsgspecError) as error:
            raise LevelfieldError(
                f"The agent on {self.name} does not answer any more: {error}.",
                fix="See what `levelfield peer` says there, and resume this run with --resume.",
            ) from error
        if isinstance(reply, Refused):
            raise LevelfieldError(f"{self.name.capitalize()}: {reply.message}")
        if not isinstance(reply, expect):
            raise LevelfieldError(f"The agent on {self.name} answered something else than it was asked.")
        return reply


class RemoteHosts:
    """The other hosts of a run, in the order in which the user named them.

    Parameters
    ----------
    hosts
        At least one.
    """

    def __init__(self, hosts: Sequence[RemoteHost]) -> None:
        self._hosts = hosts
        self._tags: dict[tuple[RemoteHost, str], str] = {}
        self.address = hosts[0].address
        """IPv4 address of this host at which the others reach it."""
        self._names = {self.address: "host 1", **{host.reached_at: host.name for host in hosts}}
        self.machines: tuple[Fingerprint, ...] = ()
        """What they are; empty before `greet`."""

    def greet(self, tool_sha256: str, threads: int) -> None:
        """Learn what hosts they are.

        Parameters
        ----------
        tool_sha256
            Of this tool.
        threads
            CPUs that a worker needs on each.

        Raises
        ------
        LevelfieldError
            One cannot take part.
        """
        found = [host.hello(tool_sha256) for host in self._hosts]
        for host, here in zip(self._hosts, found, strict=True):
            if here.cpus < threads:
                raise LevelfieldError(
                    f"{threads} threads were asked for, and {host.name} has {here.cpus} CPUs.",
                    fix=f"Choose --threads {here.cpus}.",
                )
        self.machines = tuple(here.machine for here in found)

    def prepare(self, images: Iterable[Image], weights_sha256: dict[str, str]) -> None:
        """Make images and weights ready on every host; raises as `RemoteHost.prepare`.

        Parameters
        ----------
        images
            As they were made here.
        weights_sha256
            By model.
        """
        for image in images:
            for host in self._hosts:
                self._tags[host, image.tag] = host.prepare(image, weights_sha256)

    def lead(self, worker: Worker, hosts: int, spec: LaunchSpec, model: str) -> None:
        """Let a worker lead workers on other hosts.

        Parameters
        ----------
        worker
            It is ready, and has loaded nothing.
        hosts
            How many, this one among them.
        spec
            What the worker was started with; those on other hosts have the same image, threads and limits.
        model
            That they train.

        Raises
        ------
        WorkerError
            The worker cannot be reached at `address`, or another host could not start one.
        """
        worker.name_hosts(self._names)
        key = secrets.token_hex(KEY_BYTES)
        listening = worker.ask(Listen(self.address, key), Listening, START_TIMEOUT_S)
        rendezvous = Rendezvous(self.address, listening.port, key)
        for host in self._hosts[: hosts - 1]:
            start = Start(
                name=spec.name,
                image=self._tags[host, spec.image.tag],
                model=model,
                threads=spec.threads,
                memory_bytes=spec.memory_bytes,
                cache=spec.cache.name if spec.cache is not None else "",
                rendezvous=rendezvous,
            )
            try:
                host.start(start)
            except LevelfieldError as error:
                raise WorkerError("error", error.message, gone=False) from error

    def stderr(self, name: str) -> str:
        """End the workers of a name there, and return the end of what each wrote to stderr, under its host's number."""
        found: list[str] = []
        for host in self._hosts:
            try:
                text = host.end(name)
            except LevelfieldError as error:
                text = str(error)
            found += [f"{host.name.capitalize()}:\n{text.rstrip()}"] if text.strip() else []
        return with_names("\n".join(found), self._names)

    def close(self) -> None:
        """Leave all of them."""
        for host in self._hosts:
            host.close()


def reach(addresses: Sequence[tuple[str, int]], key: str) -> RemoteHosts:
    """Connect to the agents of other hosts.

    Parameters
    ----------
    addresses
        IPv4 address and port of each, as `suite.hosts.addresses.parse` returns them.
    key
        That all share, hexadecimal.

    Raises
    ------
    LevelfieldError
        One cannot be reached, or they reach this host at different addresses.
    """
    hosts: list[RemoteHost] = []
    try:
        for number, (address, port) in enumerate(addresses, 2):
            hosts.append(RemoteHost(f"host {number}", address, MessageChannel(connect(address, port, key), Reply)))
        _require_one_address(hosts)
    except BaseException:
        for host in hosts:
            host.close()
        raise
    return RemoteHosts(hosts)


def _require_one_address(hosts: Sequence[RemoteHost]) -> None:
    ours = sorted({host.address for host in hosts})
    if len(ours) > 1:
        raise LevelfieldError(
            f"The hosts reach this one at different addresses ({', '.join(ours)}).",
            fix="Use one network for all of them.",
        )
