"""The canary: a fixed NumPy workload. When its time moves, the machine moved."""

import ctypes
from pathlib import Path

import numpy as np
import numpy.typing as npt

from levelfield.backends.checks import require_supported
from levelfield.backends.protocol import Arrays, Options, Source, Step, Unsupported


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


class Canary:
    """Two matrix products and a pass over 16 MiB of memory, each result written to memory kept from call to call."""

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("canary", options)
        self.version = np.__version__
        self._threads = set_threads(options.threads)

    def load(self, source: Source) -> Step:
        """Return the workload.

        Raises Unsupported: if another model is asked for.
        """
        if source.model != "canary":
            raise Unsupported(f"The canary runs its own model only, not {source.model}.")
        # Copies: the given arrays may be a mapped file, and page faults are not what is to be seen.
        mix = np.array(source.weights["mix"], dtype=np.float32)
        memory = np.array(source.weights["memory"], dtype=np.float32)
        first, second, swept = np.empty_like(mix), np.empty_like(mix), np.empty_like(memory)

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            signals = inputs["signal"]
            out = np.empty((len(signals), signals.shape[1] + 1), dtype=np.float32)
            for row, signal in zip(out, signals, strict=True):
                np.multiply(signal[:, None], mix, out=first)
                np.matmul(first, mix, out=second)
                np.matmul(second, mix, out=first)
                np.sum(first, axis=0, out=row[:-1])
                np.multiply(memory, signal[0], out=swept)
                row[-1] = swept.mean()
            return out

        return step

    def settings(self) -> dict[str, str]:
        """Return the number of threads of NumPy's matrix library, read back from it."""
        return {"threads": self._threads, "precision": "fp32", "output": "a new array every call"}
