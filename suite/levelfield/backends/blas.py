"""The matrix library under NumPy: how many threads it uses."""

import ctypes
from pathlib import Path


def set_threads(threads: int) -> str:
    """Set the thread count of the OpenBLAS that NumPy's wheels carry, and say what it is now.

    NumPy has no call for it, and the environment variable is read before this code can run.
    """
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    for path in sorted({line.split(maxsplit=5)[-1] for line in lines if "openblas" in line}):
        library = ctypes.CDLL(path)
        for prefix, suffix in (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", "")):
            setter = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
            getter = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
            if setter is not None and getter is not None:
                setter(ctypes.c_int(threads))
                return str(getter())
    return "as NumPy's matrix library chooses"
