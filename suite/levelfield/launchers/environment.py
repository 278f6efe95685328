"""The environment variables that every launcher gives to its workers: few, fixed, and recorded."""

from collections.abc import Sequence

from levelfield.worker.pinning import CPUS, MEMORY_NODES

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
