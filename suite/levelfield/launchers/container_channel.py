"""A channel to a worker in a container: attached streams, the engine's events for how it ended, and a GPU for it."""

import contextlib
import os
import re
import select
import signal
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import docker
import docker.errors
import requests.exceptions
from docker.types import DeviceRequest

from levelfield.errors import LevelfieldError, clause
from levelfield.launchers import channel
from levelfield.machine.doctor import INSTALL
from levelfield.machine.engine import ENGINE_ERRORS, short

FRAME_HEADER_BYTES = 8
"""Engine API, ContainerAttach: stream type, three zero bytes, big-endian length."""
STDOUT, STDERR = 1, 2
KILL_TIMEOUT_S = 10.0
"""How long the engine may take to end a killed container."""
ALREADY_GONE_S = 2.0
"""How long a container's process may run on after its streams are closed."""
EVENTS_TIMEOUT_S = 5.0
EVENTS_EVERY_S = 0.1
EVENTS_WAIT_S = 0.2
"""How long the engine waits for further events after those that it has."""
EVENTS_KEPT = 256
"""Number of events that an engine keeps (reference of `docker system events`); none from before its start."""
_CHUNK_BYTES = 1 << 16
SIGKILLED = 128 + 9
"""Exit code of a container that ended by SIGKILL."""


class ContainerChannel(channel.Channel):
    """A container's attached streams: raw bytes in, framed stdout and stderr out."""

    def __init__(
        self,
        client: docker.DockerClient,
        container: str,
        attached: Any,  # noqa: ANN401  (the SDK has no type for it)
        process: "LocalProcess | None",
        *,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(process.pid if process else None)
        self._process = process
        self._client = client
        self._container = container
        self._attached = attached  # keeps the HTTP response, and with it the socket, alive
        self._at_end_of_it = at_end
        self._socket = _plain(_beneath(attached))
        self._socket.setblocking(False)
        self._buffer = bytearray()
        self._eof = False
        self._ended = False

    def send(self, line: bytes) -> None:
        channel.send_all(self._socket.fileno(), line + b"\n")

    def descriptors(self) -> tuple[int, ...]:
        return () if self._eof else (self._socket.fileno(),)

    def _at_end(self) -> bool:
        return self._eof

    def _read(self, _: Sequence[int]) -> None:
        try:
            chunk = channel.read_some(self._socket.fileno())
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._eof = True
            return
        self._buffer += chunk
        while len(self._buffer) >= FRAME_HEADER_BYTES:
            stream, length = struct.unpack(">BxxxL", self._buffer[:FRAME_HEADER_BYTES])
            end = FRAME_HEADER_BYTES + length
            if len(self._buffer) < end:
                return
            payload = bytes(self._buffer[FRAME_HEADER_BYTES:end])
            del self._buffer[:end]
            if stream == STDOUT:
                self._lines.feed(payload)
            elif stream == STDERR:
                self._lines.feed_stderr(payload)

    def end(self, grace_s: float) -> None:
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._lines.drop()
        self._drain(time.monotonic() + grace_s)
        if not self._eof:
            self._killed_here = True
            # The engine does not answer while the streams of the container are full, so they are read meanwhile.
            killing = threading.Thread(target=self._kill, daemon=True)
            killing.start()
            self._drain(time.monotonic() + KILL_TIMEOUT_S)
            killing.join(KILL_TIMEOUT_S)
        close(self._attached)
        self._socket.close()
        if self._process is not None:
            self._process.end(ALREADY_GONE_S)
        if self._at_end_of_it is not None:
            self._at_end_of_it()

    def _drain(self, deadline: float) -> None:
        """Read until the engine closes the stream, which it does when the container is dead."""
        try:
            while not self._eof:
                self._read(channel.wait_readable(self.descriptors(), deadline))
        except (channel.ChannelTimeout, channel.LineTooLong):
            return

    def _kill(self) -> None:
        with contextlib.suppress(docker.errors.APIError, requests.exceptions.RequestException):
            self._client.api.kill(self._container)

    def ending(self) -> channel.Ending:
        """Read the engine's event log: the container removes itself, so it can no longer be inspected.

        Raises LevelfieldError: when the engine is gone, or was started again: then this is no failure of the worker's.
        """
        deadline = time.monotonic() + EVENTS_TIMEOUT_S
        with answering():
            while "die" not in (events := self._events()) and time.monotonic() < deadline:
                time.sleep(EVENTS_EVERY_S)
            code = int(events["die"]["exitCode"]) if "die" in events else None
            if code == SIGKILLED and not self._killed_here:
                events = self._events()  # the kernel's word about memory may come after the end itself
            forgotten = "start" not in events and sum(1 for _ in self._log({})) < EVENTS_KEPT
        if forgotten:
            raise LevelfieldError(
                "The container engine was started again, and its containers ended; what was measured is kept.",
                fix="Go on with --resume.",
            )
        return channel.Ending(code=code, out_of_memory="oom" in events, killed_here=self._killed_here)

    def _events(self) -> dict[str, dict[str, str]]:
        """Return what has happened to the container so far, by action."""
        filters = {"container": self._container}  # podman knows "die" by another name where it is asked for by name
        return {event["Action"]: event["Actor"]["Attributes"] for event in self._log(filters)}

    def _log(self, filters: dict[str, Any]) -> Iterator[dict[str, Any]]:
        stream = self._client.api.events(  # type: ignore[call-overload]  # the API takes fractions of seconds too
            since=0,
            # podman 4.3 gives no event where this has passed already.
            until=f"{time.time() + EVENTS_WAIT_S:.6f}",
            filters=filters,
            decode=True,
        )
        with contextlib.closing(stream):
            yield from stream


class LocalProcess:
    """A container's process as this host sees it, held by a descriptor that no later process with its id inherits."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor: int | None = descriptor

    @classmethod
    def of_container(cls, pid: int, container: str) -> Self | None:
        """Return the first process of a container.

        None where it cannot be seen: an engine in a virtual machine or on another host has process ids of its own, and
        the same number may be another process here.
        """
        try:
            descriptor = os.pidfd_open(pid)
        except (OSError, AttributeError):
            return None
        with contextlib.suppress(OSError):
            if container in Path(f"/proc/{pid}/cgroup").read_text():
                return cls(pid, descriptor)
        os.close(descriptor)
        return None

    def end(self, grace_s: float) -> None:
        """Wait for its exit; after `grace_s` kill it: a killed engine leaves its containers running."""
        if self._descriptor is None:
            return
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        if not poller.poll(grace_s * 1000):
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        os.close(self._descriptor)
        self._descriptor = None


def close(attached: Any) -> None:  # noqa: ANN401  (the SDK has no type for it)
    """Close an attached stream: the response, with it the file that `attached` is, and the socket beneath."""
    beneath = _beneath(attached)
    attached._response.close()  # noqa: SLF001
    beneath.close()


def _beneath(attached: Any) -> Any:  # noqa: ANN401  (a socket, or by SSH a channel that is like one)
    """Return what an attached stream is read from; the SDK offers no other way to it."""
    return getattr(attached, "_sock", attached)


def _plain(connection: Any) -> socket.socket:  # noqa: ANN401
    """Return a socket whose descriptor can be read: behind TLS and SSH, one that a thread passes bytes on to."""
    if type(connection) is socket.socket:
        return connection
    near, far = socket.socketpair()
    threading.Thread(target=_pass_on, args=(connection, far), daemon=True).start()
    return near


def _pass_on(connection: Any, far: socket.socket) -> None:  # noqa: ANN401
    """Pass bytes on both ways until the connection ends: in one thread, as OpenSSL wants it."""
    waiting = select.poll()
    for each in (connection, far):
        waiting.register(each.fileno(), select.POLLIN)
    with contextlib.suppress(OSError, EOFError, ValueError), far:
        while True:
            decrypted = isinstance(connection, ssl.SSLSocket) and connection.pending()
            ready = {descriptor for descriptor, _ in waiting.poll(0 if decrypted else None)}
            if far.fileno() in ready:
                if chunk := far.recv(_CHUNK_BYTES):
                    connection.settimeout(KILL_TIMEOUT_S)
                    connection.sendall(chunk)
                else:  # TLS has no half of a connection to close: the worker ends by what it was sent
                    waiting.unregister(far.fileno())
            if decrypted or connection.fileno() in ready:
                connection.settimeout(0)
                try:
                    chunk = connection.recv(_CHUNK_BYTES)
                except (TimeoutError, ssl.SSLWantReadError):
                    continue
                if not chunk:
                    return
                far.sendall(chunk)


@contextlib.contextmanager
def answering(kinds: tuple[type[Exception], ...] = ENGINE_ERRORS) -> Iterator[None]:
    """Explain errors of these kinds: the engine stopped answering in the middle of a run."""
    try:
        yield
    except kinds as error:
        raise engine_gone(error) from error


def engine_gone(error: Exception) -> LevelfieldError:
    """Return the error of an engine that stopped answering in the middle of a run."""
    return LevelfieldError(
        f"The container engine stopped answering ({short(error)}); what was measured is kept.",
        fix="Start the engine again, then go on with --resume.",
    )


DRIVER = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
"""Driver libraries that the container toolkit mounts: CUDA and NVML. Slim images do not set this variable."""
_UUID = re.compile(r"(GPU|MIG)-[0-9a-fA-F-]{8,}")


def gpu_request(uuid: str) -> DeviceRequest:
    """Return the request that `docker run --gpus device=UUID` makes."""
    return DeviceRequest(device_ids=[uuid], capabilities=[["gpu"]])


def gpu_error(explanation: str) -> LevelfieldError:
    """Explain why the engine did not start a container with a GPU."""
    if "could not select device driver" in explanation:
        return LevelfieldError(
            "The container engine gives no GPU to containers: NVIDIA's container toolkit is missing, or the engine was "
            "not restarted since it was installed.",
            fix=f"{INSTALL}, or --variant cpu.",
        )
    reason = clause(without_uuids(explanation))
    return LevelfieldError(
        f"The container engine would not start a container with the GPU: {reason}.",
        fix="Restart the machine where the driver was updated, and the engine where its toolkit was; see `levelfield "
        "doctor` and `nvidia-smi -L`; or use --launcher venv, or --variant cpu.",
    )


def without_uuids(text: str) -> str:
    """Return a text on one line without UUIDs of GPUs, which are unique in the world."""
    return _UUID.sub(r"\1-…", " ".join(text.split()))
