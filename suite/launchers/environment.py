"""The environment variables every worker gets, whatever it lives in: few, fixed, and recorded."""

from collections.abc import Sequence


def worker_environment(*, threads: int, cpus: Sequence[int]) -> dict[str, str]:
    """Return the variables that pin threads and make workers alike; frameworks set the rest themselves.

    Nothing of the user's own environment is passed on: a forgotten OMP_NUM_THREADS would tilt the field.
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
        "LEVELFIELD_CPUS": ",".join(str(cpu) for cpu in cpus),
    }


def gpu_environment(gpu: str) -> dict[str, str]:
    """Return the variable that shows a process one GPU only; nothing where `gpu` is empty.

    It is named by its UUID: CUDA counts in another order than NVML. In a container it is the only one there is.
    """
    return {"CUDA_VISIBLE_DEVICES": gpu} if gpu else {}
