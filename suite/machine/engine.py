"""The container engine that answers, and what it says about itself."""

import contextlib
import os
import socket
from collections.abc import Iterable
from typing import Any, Protocol

import docker
import docker.errors
import requests

from suite.machine.reading import Facts
from suite.record.schema import Absent, Fact

TIMEOUT_SECONDS = 5
DEFAULT_SOCKET = "unix:///var/run/docker.sock"
ENGINE_ERRORS = (docker.errors.DockerException, requests.RequestException, OSError)
"""What the SDK raises where an engine does not answer, or stops answering."""


class Client(Protocol):
    """The part of the `docker` SDK's client that is used here."""

    def info(self) -> dict[str, Any]: ...

    def version(self) -> dict[str, Any]: ...


def engine() -> Facts:
    """Return facts of the engine that the environment names; absent with the reason where none answers."""
    try:
        client = connect(TIMEOUT_SECONDS)
    except ENGINE_ERRORS as error:
        return {"engine": Absent(f"no container engine answers: {short(error)}")}
    with contextlib.closing(client):
        try:
            return described(client)
        except ENGINE_ERRORS as error:
            return {"engine": Absent(f"the container engine does not say: {short(error)}")}


def connect(timeout_s: int) -> docker.DockerClient:
    """Return a client of the engine that `DOCKER_HOST` names; raises one of `ENGINE_ERRORS` where none answers.

    Parameters
    ----------
    timeout_s
        How long a single answer of the engine may take, in seconds.
    """
    check_socket()
    return docker.from_env(timeout=timeout_s)


def check_socket() -> None:
    """Open the engine's local socket and close it again.

    The error says what is wrong more plainly than the SDK's does, which also forgets the socket it could not connect.
    An engine on another machine is left to the SDK.

    Raises
    ------
    OSError
        FileNotFoundError: no engine is installed or it never started; ConnectionRefusedError: it stopped;
        PermissionError: this user may not talk to it.
    """
    address = os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET
    if address.startswith("unix://"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(TIMEOUT_SECONDS)
            line.connect(address.removeprefix("unix://"))


def described(client: Client) -> Facts:
    """Return an engine's versions and settings; its host's name and addresses are left out."""
    info, version = client.info(), client.version()
    components = {part.get("Name", ""): part.get("Version", "") for part in version.get("Components") or ()}
    facts: dict[str, Any] = {
        "engine": (version.get("Platform") or {}).get("Name") or next(iter(components), "") or "Engine",
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
    return words.splitlines()[0][:200] if words else cause.__class__.__name__
