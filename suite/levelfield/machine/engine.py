"""The container engine that the user's `docker` command uses: its address, and what it says about itself.

And the mark by which containers and folders name the process that made them. An engine may serve several supervisors
that cannot see one another: CI jobs in containers that share a socket, or a `DOCKER_HOST` on another machine. A process
id and a start time mean nothing there, so the mark also names the boot and the namespace: what is marked is swept only
by a process that shares both, and can tell that the other is dead.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.tls
import msgspec
import requests

from levelfield.errors import LevelfieldError, one_line, shortened
from levelfield.machine.reading import Facts
from levelfield.record.schema import Absent, Fact

TIMEOUT_SECONDS = 5
DEFAULT_SOCKET = "unix:///var/run/docker.sock"
_DEFAULT = "default"
_TLS_FILES = ("ca.pem", "cert.pem", "key.pem")
ENGINE_ERRORS = (docker.errors.DockerException, requests.RequestException, OSError)
"""What the SDK raises where an engine does not answer, or stops answering."""


class Address(msgspec.Struct, frozen=True):
    host: str
    """`unix://`, `tcp://` or `ssh://`, and what follows: it may name a machine, so it is shown and never recorded."""
    named_by: str
    """What names it: `the default socket`, `DOCKER_HOST` or `context rootless`."""
    tls: docker.tls.TLSConfig | None = None

    @property
    def is_local(self) -> bool:
        return self.host.startswith("unix://")


def address() -> Address:
    """Return the address of the engine that `docker` uses, by its own rules: DOCKER_HOST, DOCKER_CONTEXT, config.json.

    The SDK's own functions take the default engine where a context is missing.

    Raises LevelfieldError: the context that is named is missing, or docker's configuration cannot be read.
    """
    folder = Path(os.environ.get("DOCKER_CONFIG") or "~/.docker").expanduser()
    host, name = os.environ.get("DOCKER_HOST"), os.environ.get("DOCKER_CONTEXT")
    source = "DOCKER_CONTEXT"
    if not host and not name:
        source = str(folder / "config.json")
        name = _json(folder / "config.json").get("currentContext")
    if not host and name and name != _DEFAULT:
        return _of_context(folder / "contexts", name, source)
    verify = os.environ.get("DOCKER_TLS_VERIFY")
    certificates = os.environ.get("DOCKER_CERT_PATH")
    tls = _tls(Path(certificates) if certificates else folder, verify=bool(verify)) if verify or certificates else None
    if not host:
        return Address(DEFAULT_SOCKET, "the default socket")
    return Address(host if "://" in host else f"tcp://{host}", "DOCKER_HOST", None if host.startswith("unix:") else tls)


def _of_context(folder: Path, name: str, source: str) -> Address:
    identity = hashlib.sha256(name.encode()).hexdigest()
    endpoint = (_json(folder / "meta" / identity / "meta.json").get("Endpoints") or {}).get("docker") or {}
    if not endpoint.get("Host"):
        raise LevelfieldError(
            f"{source} names the context {name}, which docker does not have.",
            fix="`docker context ls` lists those that it has; `docker context use default` takes the local engine.",
        )
    secrets, verify = folder / "tls" / identity / "docker", not endpoint.get("SkipTLSVerify", False)
    tls = _tls(secrets, verify=verify) if secrets.is_dir() else None
    return Address(endpoint["Host"], f"context {name}", tls)


def _json(file: Path) -> dict[str, Any]:
    """Return the object in a file of docker's; an empty one where there is no file."""
    try:
        found = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise LevelfieldError(
            f"Docker's {file} cannot be read: {error}.", fix="Correct it, or name the engine in DOCKER_HOST."
        ) from error
    return found if isinstance(found, dict) else {}


def _tls(folder: Path, *, verify: bool) -> docker.tls.TLSConfig:
    authority, certificate, key = (str(folder / name) if (folder / name).is_file() else None for name in _TLS_FILES)
    if verify and authority is None and certificate is None:
        raise LevelfieldError(
            f"The container engine is to be reached by TLS, and {folder} has no ca.pem or cert.pem.",
            fix="Name the folder of its certificates in DOCKER_CERT_PATH, or create the context again.",
        )
    client = (certificate, key) if certificate and key else None
    return _Certificates(client_cert=client, ca_cert=authority, verify=verify)


class _Certificates(docker.tls.TLSConfig):
    """Certificates of an engine, in whose place none of the environment's are taken (REQUESTS_CA_BUNDLE)."""

    def configure_client(self, client: docker.APIClient) -> None:
        super().configure_client(client)
        client.trust_env = False


def engine() -> Facts:
    """Return facts of the engine that `docker` uses; absent with the reason where none answers."""
    try:
        client = connect(TIMEOUT_SECONDS)
    except LevelfieldError:
        return {"engine": Absent("docker's settings name no engine that can be asked; levelfield doctor says more")}
    except ENGINE_ERRORS:
        return {"engine": Absent("no container engine answers; levelfield doctor says more")}
    with contextlib.closing(client):
        try:
            return described(client)
        except ENGINE_ERRORS:
            return {"engine": Absent("the container engine does not say")}


def connect(timeout_s: int) -> docker.DockerClient:
    """Return a client of the engine at `address`; raises one of `ENGINE_ERRORS` where none answers.

    `timeout_s`: how long a single answer of the engine may take, in seconds. Raises LevelfieldError: as `address` does;
    or the engine is to be reached by SSH, and nothing here can.
    """
    there = address()
    check_socket(there)
    if there.host.startswith("ssh://") and importlib.util.find_spec("paramiko") is None:
        raise LevelfieldError(
            f"The container engine ({there.named_by}) is to be reached by SSH, which needs the package paramiko.",
            fix="Install it here (pip install paramiko), or run levelfield on the engine's own machine.",
        )
    # Without TLS, False: None would ask the SDK for its default.
    return docker.DockerClient(base_url=there.host, tls=there.tls or False, timeout=timeout_s)


def check_socket(there: Address) -> None:
    """Open the engine's local socket and close it again; an engine on another machine is left to the SDK.

    The error says what is wrong more plainly than the SDK's does, which also forgets the socket it could not connect.

    Raises OSError: FileNotFoundError: no engine is installed or it never started; ConnectionRefusedError: it stopped;
    PermissionError: this user may not talk to it.
    """
    if there.is_local:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(TIMEOUT_SECONDS)
            line.connect(there.host.removeprefix("unix://"))


def refused(explanation: str) -> LevelfieldError:
    """Return the error of an engine that answered, and refused a step."""
    words = one_line(explanation, 500)
    if "no space left on device" in words.lower():
        return LevelfieldError(
            f"The disk of the container engine is full: {words}.",
            fix="`docker system df` shows what takes it, `docker info` its folder (Root Dir). `levelfield images "
            "clean` removes our images.",
        )
    return LevelfieldError(f"The container engine refused a step: {words}.", fix="See the engine's log.")


def described(client: docker.DockerClient) -> Facts:
    """Return an engine's versions and settings; names and addresses of its host or context are left out."""
    named_by = address().named_by
    info, version = client.info(), client.version()
    components = {part.get("Name", ""): part.get("Version", "") for part in version.get("Components") or ()}
    facts: dict[str, Any] = {
        "engine": (version.get("Platform") or {}).get("Name") or next(iter(components), "") or "Engine",
        "named by": "a context" if named_by.startswith("context ") else named_by,
        "version": version.get("Version"),
        "API version": version.get("ApiVersion"),
        "minimum API version": version.get("MinAPIVersion"),
        "containerd": components.get("containerd"),
        "runc": components.get("runc"),
        "storage driver": info.get("Driver"),
        "cgroup driver": info.get("CgroupDriver"),
        "cgroup version": info.get("CgroupVersion"),
        "default runtime": info.get("DefaultRuntime"),
        "runtimes": " ".join(sorted(info.get("Runtimes") or {})),
        "CDI devices": " ".join(_kinds(info.get("DiscoveredDevices") or ())),
        "security": " ".join(sorted(option.split(",")[0] for option in info.get("SecurityOptions") or ())),
        "operating system": info.get("OperatingSystem"),
        "kernel": info.get("KernelVersion"),
        "CPUs": info.get("NCPU"),
        "memory bytes": info.get("MemTotal"),
        "live restore": info.get("LiveRestoreEnabled"),
    }
    return {name: _fact(value) for name, value in facts.items()}


def _kinds(devices: Iterable[Any]) -> list[str]:
    """Return the kinds of CDI devices that an engine (28.3 and newer) lists; names may be UUIDs, and are left out."""
    found = {str(one.get("ID", "")).partition("=")[0] for one in devices if isinstance(one, dict)}
    return sorted(found - {""})


def _fact(value: object) -> Fact:
    if isinstance(value, str | int | float | bool) and value != "":
        return value
    return Absent("the engine does not say")


def short(error: Exception) -> str:
    """Return the part of an engine's error that a person needs: the innermost cause."""
    cause: BaseException = error
    while (inner := cause.__cause__ or cause.__context__) is not None:
        cause = inner
    words = (cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)).strip()
    return shortened(words.splitlines()[0], 200) if words else cause.__class__.__name__


# ---- whose a container is --------------------------------------------------------------------------------------------

_SEPARATOR = ":"
_ENDED = frozenset("ZXx")
"""States of a process that runs no more (proc(5), field 3)."""


def mark_of(pid: int) -> str:
    """Return the mark of a process of this namespace: process id, start time, boot and namespace."""
    return _SEPARATOR.join((str(pid), _start_time(pid), *_surroundings()))


def is_dead(mark: str) -> bool:
    """Return whether a mark is of a supervisor that can be shown to be dead."""
    pid, _, rest = mark.partition(_SEPARATOR)
    started, _, surroundings = rest.partition(_SEPARATOR)
    if not (pid.isdigit() and started.isdigit()) or surroundings != _SEPARATOR.join(_surroundings()):
        return False
    return _start_time(int(pid)) != started


def _surroundings() -> tuple[str, str]:
    """Return the boot and the process-id namespace of this process; proc(5), pid_namespaces(7)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return "unknown", "unknown"
    return boot, namespace


def _start_time(pid: int) -> str:
    """Field 22 of `/proc/PID/stat` (proc(5)): tells a process from a later one with the same id.

    Empty for a process that is not there, and for a zombie: one that has ended, and that its parent has not reaped.
    """
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if state in _ENDED else fields[18]
    except (OSError, IndexError, ValueError):
        return ""
