"""Workers in containers: no network, no capabilities, a read-only root, a plain user, pinned CPUs and memory."""

import contextlib
import os
import socket
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import docker
import docker.errors
import requests.exceptions
from docker.types import LogConfig

from suite.errors import LevelfieldError
from suite.images.base import Kind
from suite.images.build import build
from suite.launchers.channel import ChannelClosed, ChannelTimeout, Ending, Lines, LineTooLong, read_some, wait_readable
from suite.launchers.environment import worker_environment
from suite.launchers.protocol import Inside, LaunchSpec, Progress
from suite.launchers.worker import Worker, WorkerError
from suite.machine.engine import knock
from suite.records.schema import Image

if TYPE_CHECKING:
    from collections.abc import Mapping

LABEL = "levelfield.supervisor"
"""Label of every worker's container, and of no image (containers inherit those): its supervisor's process id and start
time."""
FRAME_HEADER_BYTES = 8
"""Engine API, ContainerAttach: stream type, three zero bytes, big-endian length."""
STDOUT, STDERR = 1, 2
TMP_BYTES = 2 << 30
PIDS_LIMIT = 4096
NOBODY = 65534
ENGINE_TIMEOUT_S = 120
KILL_TIMEOUT_S = 10.0
"""How long the engine may take to end a killed container."""
EVENTS_TIMEOUT_S = 5.0
EVENTS_EVERY_S = 0.1
SIGKILLED = 128 + 9
"""Exit code of a container that ended by SIGKILL."""


class DockerLauncher:
    """Launch workers through a Docker Engine."""

    kind: Literal["docker", "venv", "host"] = "docker"

    def __init__(self, client: docker.DockerClient, *, base: Kind = "debian") -> None:
        self._client = client
        self._base = base
        self._owner = _supervisor_mark(os.getpid())

    def prepare(self, image: str, variant: str, version: str | None, progress: Progress) -> Image:
        try:
            built = build(image, variant, version, base_kind=self._base, progress=progress)
        except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
            raise engine_gone(error) from error
        return Image(
            name=image,
            variant=variant,
            launcher="docker",
            tag=built.tag,
            image_id=built.image_id,
            layers=built.layers,
            lock_sha256=built.lock_sha256,
            base=built.base,
            recipe_sha256=built.recipe_sha256,
            worker_sha256=built.worker_sha256,
            size_bytes=built.size_bytes,
        )

    def inside(self, spec: LaunchSpec) -> Inside:
        return Inside(
            artifacts="/artifacts",
            cache="/cache" if spec.cache else None,
            export="/export" if spec.export else None,
        )

    def launch(self, spec: LaunchSpec) -> Worker:
        started_ns = time.perf_counter_ns()
        try:
            channel = self._start(spec)
        except docker.errors.ImageNotFound as error:
            raise WorkerError("engine", f"The image {spec.image.tag} is gone from the engine.", str(error)) from error
        except docker.errors.APIError as error:
            raise WorkerError("engine", f"The engine would not start {spec.name}: {error.explanation}.") from error
        except (requests.exceptions.RequestException, docker.errors.DockerException, OSError) as error:
            raise engine_gone(error) from error
        return Worker(spec.name, channel, started_ns=started_ns)

    def _start(self, spec: LaunchSpec) -> "ContainerChannel":
        api = self._client.api
        uid, gid = (os.getuid(), os.getgid()) if os.getuid() else (NOBODY, NOBODY)
        binds: dict[str, Mapping[str, str]] = {str(spec.artifacts): {"bind": "/artifacts", "mode": "ro"}}
        for folder, name in ((spec.cache, "/cache"), (spec.export, "/export")):
            if folder is not None:
                _give(folder, uid, gid)
                binds[str(folder)] = {"bind": name, "mode": "rw"}
        container = api.create_container(
            spec.image.tag,
            user=f"{uid}:{gid}",
            environment=worker_environment(threads=spec.threads, cpus=spec.cpus),
            stdin_open=True,  # with attached streams the SDK then sets StdinOnce: the worker ends with its supervisor
            labels={LABEL: self._owner, "levelfield.name": spec.name},
            network_disabled=True,
            host_config=api.create_host_config(
                binds=binds,
                network_mode="none",
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                read_only=True,
                # Compilers load what they write to /tmp, so it is mounted `exec`.
                tmpfs={"/tmp": f"rw,exec,nosuid,nodev,size={TMP_BYTES},mode=1777"},  # noqa: S108
                cpuset_cpus=",".join(str(cpu) for cpu in spec.cpus),
                mem_limit=spec.memory_bytes,
                memswap_limit=spec.memory_bytes,
                pids_limit=PIDS_LIMIT,
                ipc_mode="private",
                auto_remove=True,
                log_config=LogConfig(type=LogConfig.types.NONE),
            ),
        )["Id"]
        attached = None
        try:
            attached = api.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            api.start(container)
            pid = api.inspect_container(container)["State"]["Pid"] or None
        except BaseException:
            if attached is not None:
                _close(attached)
            with contextlib.suppress(docker.errors.APIError, requests.exceptions.RequestException):
                api.remove_container(container, force=True)
            raise
        return ContainerChannel(self._client, container, attached, pid=_local_pid(pid))

    def sweep(self) -> int:
        removed = 0
        try:
            for container in self._client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
                if _supervisor_lives(container.labels.get(LABEL, "")):
                    continue
                with contextlib.suppress(docker.errors.APIError):
                    container.remove(force=True)
                    removed += 1
        except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
            raise engine_gone(error) from error
        return removed


class ContainerChannel:
    """A container's attached streams: raw bytes in, framed stdout and stderr out."""

    def __init__(self, client: docker.DockerClient, container: str, attached: Any, *, pid: int | None) -> None:  # noqa: ANN401
        self.pid = pid
        self._client = client
        self._container = container
        self._attached = attached  # keeps the HTTP response, and with it the socket, alive
        self._socket: socket.socket = attached._sock  # noqa: SLF001  (the SDK offers no other way to the socket)
        self._socket.settimeout(None)
        self._buffer = bytearray()
        self._lines = Lines()
        self._eof = False
        self._ended = False
        self._killed_here = False

    def send(self, line: bytes) -> None:
        try:
            self._socket.sendall(line + b"\n")
        except OSError as error:
            raise ChannelClosed from error

    def receive(self, timeout_s: float) -> bytes:
        deadline = time.monotonic() + timeout_s
        while (line := self._lines.pop()) is None:
            if self._eof:
                raise ChannelClosed
            wait_readable({self._socket.fileno(): "engine"}, deadline)
            self._take()
        return line

    def _take(self) -> None:
        try:
            chunk = read_some(self._socket.fileno())
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

    def stderr_tail(self) -> str:
        return self._lines.tail()

    def end(self, grace_s: float) -> None:
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._drain(time.monotonic() + grace_s)
        if not self._eof:
            self._killed_here = True
            self._kill()
            self._drain(time.monotonic() + KILL_TIMEOUT_S)
        _close(self._attached)

    def _drain(self, deadline: float) -> None:
        """Read until the engine closes the stream, which it does when the container is dead."""
        try:
            while not self._eof:
                wait_readable({self._socket.fileno(): "engine"}, deadline)
                self._take()
        except (ChannelTimeout, LineTooLong):
            return

    def _kill(self) -> None:
        with contextlib.suppress(docker.errors.APIError, requests.exceptions.RequestException):
            self._client.api.kill(self._container)

    def ending(self) -> Ending:
        """Ask the engine's event log: the container removes itself, so it can no longer be inspected.

        Raises
        ------
        LevelfieldError
            When the engine is gone: then this is no failure of the worker's.
        """
        deadline = time.monotonic() + EVENTS_TIMEOUT_S
        try:
            events = self._events()
            while "die" not in events and time.monotonic() < deadline:
                time.sleep(EVENTS_EVERY_S)
                events = self._events()
            code = int(events["die"]["exitCode"]) if "die" in events else None
            if code == SIGKILLED and not self._killed_here:
                events = self._events()  # the kernel's word about memory may come after the end itself
        except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
            raise engine_gone(error) from error
        return Ending(code=code, out_of_memory="oom" in events, killed_here=self._killed_here)

    def _events(self) -> dict[str, dict[str, str]]:
        """Return what has happened to the container so far, by action; the engine answers at once."""
        stream = self._client.api.events(
            since=0,
            until=int(time.time()),  # whole seconds: an event is told within the next one
            filters={"container": self._container, "event": ["die", "oom"]},
            decode=True,
        )
        with contextlib.closing(stream):
            return {event["Action"]: event["Actor"]["Attributes"] for event in stream}


def connect() -> docker.DockerClient:
    """Return a client of the engine that `DOCKER_HOST` or the current context names.

    Raises
    ------
    LevelfieldError
        When none answers.
    """
    try:
        knock()
        client = docker.from_env(timeout=ENGINE_TIMEOUT_S)
        client.ping()
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        raise LevelfieldError(
            f"No container engine answers ({_short(error)}).",
            fix="Install and start one (Debian: apt-get install docker.io), or use --launcher venv.",
        ) from error
    return client


def _close(attached: Any) -> None:  # noqa: ANN401  (the SDK has no type for it)
    """Close an attached stream: the response, with it the file that `attached` is, and the socket beneath."""
    beneath = attached._sock  # noqa: SLF001
    attached._response.close()  # noqa: SLF001
    beneath.close()


def engine_gone(error: Exception) -> LevelfieldError:
    """Return the error of an engine that stopped answering in the middle of a run."""
    return LevelfieldError(
        f"The container engine stopped answering ({_short(error)}); what was measured is kept.",
        fix="Start the engine again, then go on with --resume.",
    )


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _give(folder: Path, uid: int, gid: int) -> None:
    """Make `folder` writable for the container's user (needed where the supervisor is root)."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.getuid() == 0:
        os.chown(folder, uid, gid)


def _local_pid(pid: int | None) -> int | None:
    """Return `pid` if it is one of this host's: an engine in a virtual machine has its own numbers."""
    return pid if pid and Path(f"/proc/{pid}").exists() else None


def _supervisor_mark(pid: int) -> str:
    return f"{pid}:{_start_time(pid)}"


def _supervisor_lives(mark: str) -> bool:
    pid, _, started = mark.partition(":")
    return pid.isdigit() and bool(started) and _start_time(int(pid)) == started


def _start_time(pid: int) -> str:
    """Field 22 of `/proc/PID/stat` (proc(5)): tells a process from a later one with the same id."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
