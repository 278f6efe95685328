"""Interface of a launcher: it prepares images, starts workers in them, and leaves no worker behind."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from levelfield.images.wheels import Progress
from levelfield.launchers.disk_limit import LIMIT_BYTES
from levelfield.launchers.worker import Worker
from levelfield.record.schema import Image
from levelfield.worker import pinning
from levelfield.worker.pinning import CPUS, MEMORY_NODES

READY_TIMEOUT_S = 60.0
"""A container starts in half a second; a machine under load may need many times that."""


class LaunchSpec(msgspec.Struct, frozen=True):
    name: str
    """For people and labels: the arm and case."""
    image: Image
    threads: int
    """Of every process in it."""
    cpus: tuple[int, ...]
    """Several processes in it get equal shares of them, in this order."""
    memory_bytes: int
    artifacts: Path
    """Folder of all artifacts."""
    reads: tuple[str, ...] = ()
    """Files and folders below it that the worker reads: a container sees nothing else of it."""
    disk_bytes: int = LIMIT_BYTES
    """Most that a worker in a container may add to the folders below."""
    cache: Path | None = None
    """Folder that the worker may write its compile cache into."""
    export: Path | None = None
    """Folder that an exporter may write into."""
    gpu: str = ""
    """UUID of the one GPU that the worker may use; empty: none."""
    memory_nodes: tuple[int, ...] = ()
    """NUMA nodes that its memory is bound to; empty: any."""
    padding_bytes: int = 0
    """Length of a variable in the worker's environment that nothing reads."""

    @property
    def written(self) -> tuple[Path, ...]:
        """Return the folders that the worker may write into."""
        return tuple(folder for folder in (self.cache, self.export) if folder is not None)


class WorkerPaths(msgspec.Struct, frozen=True):
    """The folders of a `LaunchSpec` under the names the worker knows them by."""

    artifacts: str
    cache: str | None
    export: str | None


class Launcher(Protocol):
    """A way to run workers: in containers, in virtual environments or in this interpreter."""

    kind: Literal["docker", "venv", "host"]

    def prepare(self, image: str, variant: str, version: str | None, progress: Progress) -> Image:
        """Make the image ready (build it, install it, or look for what is installed) and describe it.

        Raises LevelfieldError: it cannot be made here, or the launcher has no such version.
        """
        ...

    def worker_paths(self, spec: LaunchSpec) -> WorkerPaths:
        """Return the folders of `spec` as a worker sees them: a process sees what its supervisor sees."""
        return WorkerPaths(
            artifacts=str(spec.artifacts),
            cache=str(spec.cache) if spec.cache else None,
            export=str(spec.export) if spec.export else None,
        )

    def launch(self, spec: LaunchSpec) -> Worker:
        """Start a worker and return at once; `Worker.await_ready` waits for its first line.

        Raises LevelfieldError: when nothing can be launched any more (the engine is gone). Raises WorkerError: when
        this one worker could not be started.
        """
        ...

    def cannot_bind_memory(self) -> str:
        """Return why the memory of workers cannot be bound to NUMA nodes here; empty: it can be."""
        return pinning.cannot_bind_memory()

    def sweep(self) -> int:
        """Remove workers that earlier, killed supervisors left behind; return how many.

        Of child processes there are none: the kernel ends them with their supervisor.
        """
        return 0


@contextlib.contextmanager
def running(launcher: Launcher, spec: LaunchSpec) -> Iterator[Worker]:
    """Start a worker, wait until it is ready, and stop it at the end; raises as `launch` and `await_ready` do."""
    worker = launcher.launch(spec)
    try:
        worker.await_ready(READY_TIMEOUT_S)
        yield worker
    finally:
        worker.stop()


# ---- the environment variables that every launcher gives to its workers: few, fixed, and recorded -------------------

PADDING = "LEVELFIELD_PADDING"
"""Variable that nothing reads: its length shifts the stack and the heap (`schedule.launches.padding_of`)."""


def worker_environment(*, threads: int, cpus: Sequence[int], padding_bytes: int = 0) -> dict[str, str]:
    """Return the variables that pin threads and make workers alike; frameworks set the rest themselves.

    Nothing of the user's own environment is passed on: a forgotten OMP_NUM_THREADS would bias the comparison.

    `cpus`: numbers of the CPUs that the worker is pinned to; several processes in it get equal shares, in this order.
    """
    count = str(threads)
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/tmp",  # noqa: S108  (a container's own; elsewhere replaced by a private folder)
        "TMPDIR": "/tmp",  # noqa: S108
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONNOUSERSITE": "1",
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        # Its threads would spin for a tenth of a second after every call, into the next worker's window: 2^20 ticks of
        # the clock are a third of a millisecond.
        "OPENBLAS_THREAD_TIMEOUT": "20",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        CPUS: ",".join(str(cpu) for cpu in cpus),
        PADDING: "x" * padding_bytes,
    }


def memory_environment(nodes: Sequence[int]) -> dict[str, str]:
    """Return the variable that binds a process's memory to NUMA nodes; nothing where none are named.

    A container has no such variable: the engine binds its memory.
    """
    return {MEMORY_NODES: ",".join(map(str, nodes))} if nodes else {}


def gpu_environment(gpu: str, cache: str = "") -> dict[str, str]:
    """Return the variables that show a process one GPU only; nothing where `gpu` is empty."""
    if not gpu:
        return {}
    return {"CUDA_VISIBLE_DEVICES": gpu, **cuda_cache(cache)}


def cuda_cache(cache: str) -> dict[str, str]:
    """Return the variable that says where CUDA's driver keeps what it compiles (CUDA C++ Programming Guide)."""
    return {"CUDA_CACHE_PATH": f"{cache}/cuda"} if cache else {}
