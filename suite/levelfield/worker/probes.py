"""What a worker reports about itself: memory, libraries, distributions, settings, and CPU time used."""

import os
import platform
import re
import resource
import sys
import threading
from pathlib import Path

from levelfield.record.measured import Memory
from levelfield.worker import IMPORT_PATH
from levelfield.worker.messages import Probed, Used

_KEPT = re.compile(
    r"(OMP|KMP|GOMP|MKL|OPENBLAS|BLIS|GOTO|TBB|VECLIB|TF|XLA|JAX|LIBTPU|TORCH\w*|PYTORCH|ATEN|ORT|ONNX\w*|OV|OPENVINO|"
    r"DNNL|CUDA|CUDNN|CUBLAS|NVIDIA|NCCL|TRT|TRITON|MALLOC|LEVELFIELD)_\w+|TORCHINDUCTOR\w*|TORCHDYNAMO\w*|LD_PRELOAD|"
    r"LD_LIBRARY_PATH|LD_BIND_NOW|GLIBC_TUNABLES|NUMEXPR_\w+|PYTHON(HASHSEED|MALLOC|OPTIMIZE|DONTWRITEBYTECODE|"
    r"UNBUFFERED|NOUSERSITE|_GIL|_JIT)|CC|CXX|CFLAGS|CXXFLAGS"
)
"""Variables that may change speed or numbers; no other variable is recorded."""
_UUID = re.compile(r"GPU-[0-9a-fA-F-]{8,}")
_CACHES = re.compile(r"[^\s:]*/(levelfield-run-\w+|compiled/[0-9a-f]{16})")
"""Where a launcher without containers keeps compile caches: another folder in every run, or one of the user's."""
_PRIVATE = re.compile(
    r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL|(CUDA|TRITON)_CACHE_|TF_(CLI|VAR|LOG|DATA|STATE|WORKSPACE|REGISTRY|PLUGIN)|"
    r"LEVELFIELD_PADDING",
    re.IGNORECASE,
)
"""Secrets, folders that differ in every run, the variables of Terraform, which begin as TensorFlow's do, and the
padding, which differs in every launch: the record has its length."""


def usage() -> Used:
    """Read the process's counters: one system call, about a microsecond.

    The sum of user and system time is what the scheduler counted, to the microsecond; how it divides into the two
    comes from timer ticks.
    """
    now = resource.getrusage(resource.RUSAGE_SELF)
    return Used(
        user_ns=round(now.ru_utime * 1e9),
        system_ns=round(now.ru_stime * 1e9),
        voluntary_switches=now.ru_nvcsw,
        involuntary_switches=now.ru_nivcsw,
        minor_faults=now.ru_minflt,
        major_faults=now.ru_majflt,
    )


def probe(*, installed: bool = True) -> Probed:
    """Describe this process; takes some tenths of a second, so it is asked outside of windows.

    Peak memory is `VmHWM`: the most that was resident at once since this program began. A container's own peak would
    count the page cache of the files it read, and `ru_maxrss` survives `exec`, so that a worker started from a large
    supervisor would inherit the supervisor's peak. Memory of child processes is not in it.
    """
    from levelfield.worker.libraries import libraries, mapped

    found = memory()  # first: the probe itself uses memory (some 15 MB)
    maps = Path("/proc/self/maps")
    return Probed(
        memory=found,
        threads_alive=threads(),
        libraries=libraries(mapped(maps.read_text(errors="replace"))) if maps.exists() else (),
        distributions=distributions() if installed else {},
        environment=environment(dict(os.environ)),
        affinity=affinity(),
        python=platform.python_version(),
    )


def memory() -> Memory:
    status = _status()
    if {"VmRSS", "VmHWM"} <= status.keys():
        return Memory(_kibibytes(status["VmHWM"]), _kibibytes(status["VmRSS"]), "VmHWM")
    import psutil

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Memory(peak * (1 if sys.platform == "darwin" else 1024), psutil.Process().memory_info().rss, "rusage")


def threads() -> int:
    """Return how many threads the process has, the frameworks' own among them."""
    return int(_status().get("Threads", threading.active_count()))


def distributions() -> dict[str, str]:
    """Return every distribution installed in this interpreter's environment, and its version.

    `sys.path` is taken as it was at the start. Setuptools adds folders that it vendors, and torch.compile imports
    setuptools when it compiles and not when it finds the result in its cache.
    """
    from importlib.metadata import distributions as installed

    found: dict[str, str] = {}
    for one in installed(path=list(IMPORT_PATH)):
        name = one.metadata["Name"]
        if name:  # a damaged installation may leave a folder without one
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), one.version)
    return dict(sorted(found.items()))


def environment(variables: dict[str, str]) -> dict[str, str]:
    """Return the variables that may change speed or numbers, without secrets.

    Folders that another machine, or the next run, has elsewhere are named `~`, `{python}` and `{run}`.
    """
    home = variables.get("HOME", "")
    folders = {sys.prefix: "{python}"} | ({home: "~"} if len(home) > 1 else {})
    return {
        name: _UUID.sub("GPU-…", _without(folders, _CACHES.sub("{run}", value)))
        for name, value in sorted(variables.items())
        if _KEPT.fullmatch(name) and not _PRIVATE.search(name)
    }


def _without(folders: dict[str, str], value: str) -> str:
    """Name folders of this machine otherwise, the longest first: an interpreter may lie in a home."""
    for folder in sorted(folders, key=len, reverse=True):
        value = value.replace(f"{folder}/", f"{folders[folder]}/") if folder not in {"/", "/usr"} else value
        value = folders[folder] if value == folder else value
    return value


def affinity() -> tuple[int, ...]:
    """Return the CPUs this process may run on; empty where the system has no such call."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def _status() -> dict[str, str]:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _kibibytes(value: str) -> int:
    return int(value.split(maxsplit=1)[0]) * 1024
