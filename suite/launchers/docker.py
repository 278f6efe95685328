"""Workers in containers: no capabilities, a read-only root, a plain user, pinned CPUs, and no network on one host."""

import contextlib
import os
import secrets
import time
from typing import TYPE_CHECKING, Any, Literal

import docker
import docker.errors
import requests.exceptions
from docker.types import LogConfig

from suite.backends import registry
from suite.backends.replica import LOOPBACK
from suite.images.base import Source
from suite.images.build import build
from suite.images.engine import USER_PROXIES, emulates, open_client
from suite.images.wheels import Progress
from suite.launchers.container import ContainerChannel, LocalProcess, close, engine_gone
from suite.launchers.disk_limit import DiskLimit
from suite.launchers.environment import cuda_cache, rendezvous_environment, worker_environment
from suite.launchers.gpu import DRIVER, gpu_error, gpu_request, without_uuids
from suite.launchers.protocol import LaunchSpec, WorkerPaths
from suite.launchers.worker import Worker, WorkerError
from suite.machine import owner
from suite.machine.engine import ENGINE_ERRORS
from suite.record.schema import Image

if TYPE_CHECKING:
    from collections.abc import Mapping

LABEL = "levelfield.supervisor"
"""Label of every worker's container, and of no image (containers inherit those): its supervisor (`owner`)."""
TMP_BYTES = 2 << 30
PIDS_LIMIT = 4096
NOBODY = 65534
ENGINE_TIMEOUT_S = 120
REMOVE_ATTEMPTS, REMOVE_PAUSE_S = 10, 0.1


class DockerLauncher:
    """Launch workers through a Docker Engine."""

    kind: Literal["docker", "venv", "host"] = "docker"

    def __init__(self, client: docker.DockerClient, *, base: Source = "debian") -> None:
        self._client = client
        self._base = base
        self._owner = owner.mark_of(os.getpid())

    def prepare(self, image: str, variant: str, version: str | None, progress: Progress) -> Image:
        try:
            return build(image, variant, version, base_source=self._base, progress=progress)
        except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
            raise engine_gone(error) from error

    def emulates(self) -> str:
        """Return the processor that the engine emulates, and its own; empty: none (`suite.images.engine.emulates`)."""
        try:
            return emulates(self._client)
        except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
            raise engine_gone(error) from error

    def worker_paths(self, spec: LaunchSpec) -> WorkerPaths:
        return WorkerPaths(
            artifacts="/artifacts",
            cache="/cache" if spec.cache else None,
            export="/export" if spec.export else None,
        )

    def launch(self, spec: LaunchSpec) -> Worker:
        started_ns = time.perf_counter_ns()
        try:
            _make_folders(spec)
            disk = DiskLimit(spec.written, spec.disk_bytes)
            channel = self._start(spec)
        except docker.errors.ImageNotFound as error:
            raise WorkerError("engine", f"The image {spec.image.tag} is gone from the engine.", str(error)) from error
        except docker.errors.APIError as error:
            if spec.gpu:
                refusal = gpu_error(str(error.explanation))
                detail = without_uuids(str(error.explanation))
                raise WorkerError("engine", f"{refusal.message} {refusal.fix}", detail) from error
            raise WorkerError("engine", f"The engine would not start {spec.name}: {error.explanation}.") from error
        except ENGINE_ERRORS as error:
            raise engine_gone(error) from error
        return Worker(spec.name, channel, started_ns=started_ns, disk=disk)

    def _start(self, spec: LaunchSpec) -> ContainerChannel:
        api = self._client.api
        uid, gid = _user()
        binds: dict[str, Mapping[str, str]] = {str(spec.artifacts): {"bind": "/artifacts", "mode": "ro"}}
        for folder, name in ((spec.cache, "/cache"), (spec.export, "/export")):
            if folder is not None:
                binds[str(folder)] = {"bind": name, "mode": "rw"}
        name = f"levelfield-{secrets.token_hex(8)}"
        attached = None
        try:
            container = api.create_container(
                spec.image.tag,
                name=name,
                user=f"{uid}:{gid}",
                environment=_environment(spec),
                stdin_open=True,  # the SDK then sets StdinOnce: the worker ends with its supervisor
                labels={LABEL: self._owner, "levelfield.name": spec.name},
                network_disabled=not spec.address,
                # Engines of parallel training look their own host up, and /etc/hosts is empty here.
                hostname=spec.address or LOOPBACK,
                host_config=api.create_host_config(
                    binds=binds,
                    # With other hosts it trains through this host's network: a translated address is not its own.
                    network_mode="host" if spec.address else "none",
                    cap_drop=["ALL"],
                    security_opt=["no-new-privileges"],
                    read_only=True,
                    # Compilers load what they write to /tmp, so it is mounted `exec`.
                    tmpfs={"/tmp": f"rw,exec,nosuid,nodev,size={TMP_BYTES},mode=1777"},  # noqa: S108
                    cpuset_cpus=",".join(str(cpu) for cpu in spec.cpus),
                    cpuset_mems=",".join(str(node) for node in spec.memory_nodes) or None,
                    mem_limit=spec.memory_bytes,
                    memswap_limit=spec.memory_bytes,
                    pids_limit=PIDS_LIMIT,
                    ipc_mode="private",
                    device_requests=[gpu_request(spec.gpu)] if spec.gpu else None,
                    auto_remove=True,
                    log_config=LogConfig(type=LogConfig.types.NONE),
                ),
                use_config_proxy=USER_PROXIES,
            )["Id"]
            attached = api.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            api.start(container)
            pid = api.inspect_container(container)["State"]["Pid"]
        except BaseException as error:
            if attached is not None:
                close(attached)
            _remove(api, name, patient=isinstance(error, KeyboardInterrupt))
            raise
        return ContainerChannel(self._client, container, attached, LocalProcess.of_container(pid, container))

    def cannot_bind_memory(self) -> str:
        try:
            supported = self._client.info().get("CPUSet")
        except ENGINE_ERRORS as error:
            raise engine_gone(error) from error
        return "" if supported else "the container engine has no control group for CPUs and NUMA nodes (cpuset)"

    def check_gpu(self, image: Image, gpu: str) -> None:
        """Start one container with the GPU and end it, so that a failure is reported before gigabytes are fetched.

        Parameters
        ----------
        image
            Any image with a worker, the smallest for choice.
        gpu
            UUID of the GPU.

        Raises
        ------
        LevelfieldError
            The engine gives no GPU to containers here.
        """
        api = self._client.api
        try:
            container = api.create_container(
                image.tag,
                entrypoint=["/bin/true"],
                environment=DRIVER,
                labels={LABEL: self._owner, "levelfield.name": "gpu-check"},
                network_disabled=True,
                host_config=api.create_host_config(network_mode="none", device_requests=[gpu_request(gpu)]),
                use_config_proxy=USER_PROXIES,
            )["Id"]
            try:
                api.start(container)
                api.wait(container)
            finally:
                api.remove_container(container, force=True)
        except docker.errors.APIError as error:
            raise gpu_error(str(error.explanation)) from error
        except ENGINE_ERRORS as error:
            raise engine_gone(error) from error

    def sweep(self) -> int:
        removed = 0
        try:
            for container in self._client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
                if owner.is_dead(container.labels.get(LABEL, "")):
                    with contextlib.suppress(docker.errors.APIError):
                        container.remove(force=True)
                        removed += 1
        except ENGINE_ERRORS as error:
            raise engine_gone(error) from error
        return removed


def _remove(api: Any, name: str, *, patient: bool) -> None:  # noqa: ANN401  (the SDK has no types)
    """Remove a container whose start failed; after an interrupt the engine may only just be creating it."""
    for _ in range(REMOVE_ATTEMPTS if patient else 1):
        try:
            api.remove_container(name, force=True)
        except docker.errors.NotFound:
            time.sleep(REMOVE_PAUSE_S if patient else 0.0)
        except (docker.errors.APIError, requests.exceptions.RequestException):
            return
        else:
            return


def _environment(spec: LaunchSpec) -> dict[str, str]:
    """Return a worker's variables; the one GPU that a container is given is the only one it can see."""
    variables = worker_environment(threads=spec.threads, cpus=spec.cpus, padding_bytes=spec.padding_bytes)
    variables |= rendezvous_environment(spec.rendezvous)
    if not spec.gpu:
        return variables
    return variables | DRIVER | registry.environment(spec.image.name) | cuda_cache("/cache" if spec.cache else "")


def connect() -> docker.DockerClient:
    """Return a client of the engine that `DOCKER_HOST` or the current context names.

    Raises
    ------
    LevelfieldError
        When none answers.
    """
    return open_client(ENGINE_TIMEOUT_S)


def _user() -> tuple[int, int]:
    """Return the user and group of workers: the supervisor's own, and never root."""
    return (os.getuid(), os.getgid()) if os.getuid() else (NOBODY, NOBODY)


def _make_folders(spec: LaunchSpec) -> None:
    """Make the folders that the worker writes into, and make them its user's (where the supervisor is root)."""
    for folder in spec.written:
        folder.mkdir(parents=True, exist_ok=True)
        if os.getuid() == 0:
            os.chown(folder, *_user())
