"""Workers in containers: no capabilities, a read-only root, a plain user, pinned CPUs, and no network."""

import contextlib
import os
import secrets
import threading
import time
import weakref
from functools import partial
from typing import Any, Literal

import docker
import docker.errors
import requests.exceptions
from docker.types import LogConfig, Mount

from levelfield import untrusted
from levelfield.backends.parallel import LOOPBACK
from levelfield.images.base import Source
from levelfield.images.build import build
from levelfield.images.engine import USER_PROXIES, emulates, open_client
from levelfield.images.wheels import Progress
from levelfield.launchers import container_channel as channels
from levelfield.launchers.disk_limit import DiskLimit
from levelfield.launchers.protocol import LaunchSpec, WorkerPaths, cuda_cache, worker_environment
from levelfield.launchers.volumes import ARTIFACTS, CACHE, EXPORT, Volumes, sees_our_files
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.machine.engine import ENGINE_ERRORS, is_dead, mark_of, refused
from levelfield.record.schema import Image

LABEL = "levelfield.supervisor"
"""Label of every worker's container and volume, and of no image (containers inherit those): its supervisor
(`machine.engine.mark_of`)."""
TMP_BYTES = 2 << 30
PIDS_LIMIT = 4096
NOBODY = untrusted.NOBODY
ENGINE_TIMEOUT_S = 120
REMOVE_ATTEMPTS, REMOVE_PAUSE_S = 10, 0.1


class DockerLauncher:
    kind: Literal["docker", "venv", "host"] = "docker"

    def __init__(self, client: docker.DockerClient, *, base: Source = "debian") -> None:
        self._client = client
        self._base = base
        self._owner = mark_of(os.getpid())
        self._volumes: Volumes | None = None
        """In place of folders that the engine does not see; None: it sees them, or was not asked yet."""
        self._asked = False
        self._preparing = threading.Lock()  # several may be launched at once

    def prepare(self, image: str, variant: str, version: str | None, progress: Progress) -> Image:
        with channels.answering((docker.errors.DockerException, requests.exceptions.RequestException)):
            return build(image, variant, version, base_source=self._base, progress=progress)

    def emulates(self) -> str:
        """Return the processor that the engine emulates, and its own; empty: none (`images.engine.emulates`)."""
        with channels.answering():
            return emulates(self._client)

    def worker_paths(self, spec: LaunchSpec) -> WorkerPaths:
        return WorkerPaths(
            artifacts=ARTIFACTS, cache=CACHE if spec.cache else None, export=EXPORT if spec.export else None
        )

    def launch(self, spec: LaunchSpec) -> Worker:
        try:
            with self._preparing:
                mounts = self._mounts(spec)
            started_ns = time.perf_counter_ns()
            # What a volume takes is not on this machine's disk.
            disk = DiskLimit(spec.written if self._volumes is None else (), spec.disk_bytes)
            channel = self._start(spec, mounts)
        except docker.errors.ImageNotFound as error:
            raise WorkerError("engine", f"The image {spec.image.tag} is gone from the engine.", str(error)) from error
        except docker.errors.APIError as error:
            if spec.gpu:
                refusal = channels.gpu_error(str(error.explanation))
                detail = channels.without_uuids(str(error.explanation))
                raise WorkerError("engine", f"{refusal.message} {refusal.fix}", detail) from error
            if "no space left" in str(error.explanation):
                raise refused(str(error.explanation)) from error
            raise WorkerError("engine", f"The engine would not start {spec.name}: {error.explanation}.") from error
        except ENGINE_ERRORS as error:
            raise channels.engine_gone(error) from error
        return Worker(spec.name, channel, started_ns=started_ns, disk=disk)

    def _mounts(self, spec: LaunchSpec) -> list[Mount]:
        """Make the folders that the worker writes into, and return what it sees in their place."""
        _make_folders(spec)
        if not self._asked:
            if not sees(self._client, spec.image.tag):
                self._volumes = Volumes(self._client, {LABEL: self._owner}, _user())
                weakref.finalize(self, self._volumes.close)
            self._asked = True
        if self._volumes is not None:
            return self._volumes.mounts(spec)
        read = ((spec.artifacts / each, f"{ARTIFACTS}/{each}") for each in spec.reads)
        written = ((spec.cache, CACHE), (spec.export, EXPORT))
        return [
            *(Mount(place, str(path), type="bind", read_only=True) for path, place in read),
            *(Mount(place, str(folder), type="bind") for folder, place in written if folder is not None),
        ]

    def _start(self, spec: LaunchSpec, mounts: list[Mount]) -> channels.ContainerChannel:
        api = self._client.api
        uid, gid = _user()
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
                network_disabled=True,
                # Engines of parallel training look their own host up, and /etc/hosts is empty here.
                hostname=LOOPBACK,
                host_config=api.create_host_config(
                    mounts=mounts,
                    network_mode="none",
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
                    device_requests=[channels.gpu_request(spec.gpu)] if spec.gpu else None,
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
                channels.close(attached)
            _remove(api, name, patient=isinstance(error, KeyboardInterrupt))
            raise
        process = channels.LocalProcess.of_container(pid, container)
        copy_out = partial(self._volumes.copy_out, spec, mounts) if self._volumes is not None else None
        return channels.ContainerChannel(self._client, container, attached, process, at_end=copy_out)

    def cannot_bind_memory(self) -> str:
        with channels.answering():
            supported = self._client.info().get("CPUSet")
        return "" if supported else "the container engine has no control group for CPUs and NUMA nodes (cpuset)"

    def check_gpu(self, image: Image, gpu: str) -> None:
        """Start one container with the GPU and end it, so that a failure is reported before gigabytes are fetched.

        Raises LevelfieldError: the engine gives no GPU to containers here.
        """
        api = self._client.api
        try:
            container = api.create_container(
                image.tag,
                entrypoint=["/bin/true"],
                environment=channels.DRIVER,
                labels={LABEL: self._owner, "levelfield.name": "gpu-check"},
                network_disabled=True,
                host_config=api.create_host_config(network_mode="none", device_requests=[channels.gpu_request(gpu)]),
                use_config_proxy=USER_PROXIES,
            )["Id"]
            try:
                api.start(container)
                api.wait(container)
            finally:
                api.remove_container(container, force=True)
        except docker.errors.APIError as error:
            raise channels.gpu_error(str(error.explanation)) from error
        except ENGINE_ERRORS as error:
            raise channels.engine_gone(error) from error

    def sweep(self) -> int:
        removed = 0
        with channels.answering():
            for container in self._client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
                if is_dead(container.labels.get(LABEL, "")):
                    with contextlib.suppress(docker.errors.APIError):
                        container.remove(force=True)
                        removed += 1
            for volume in self._client.volumes.list(filters={"label": LABEL}):
                if is_dead((volume.attrs["Labels"] or {}).get(LABEL, "")):
                    with contextlib.suppress(docker.errors.APIError):
                        volume.remove()
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
    if not spec.gpu:
        return variables
    return variables | channels.DRIVER | cuda_cache(CACHE if spec.cache else "")


def sees(client: docker.DockerClient, image: str) -> bool:
    """Return whether workers in containers of an image use our files (`launchers.volumes.sees_our_files`)."""
    return sees_our_files(client, image, _user(), {LABEL: mark_of(os.getpid())})


def connect() -> docker.DockerClient:
    """Return a client of the engine that `DOCKER_HOST` or the current context names.

    Raises LevelfieldError: when none answers.
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
