"""Versions of NVIDIA's libraries, asked of the libraries themselves; all of these answer without a GPU.

References
----------
CUDA Runtime API, cudaRuntimeGetVersion; CUDA Driver API, cuDriverGetVersion; cuBLAS, cublasGetProperty and
cublasLtGetVersion; cuDNN, cudnnGetVersion; NCCL, ncclGetVersion.
"""

import ctypes
import re
from collections.abc import Callable
from typing import Any

_MAJOR, _MINOR, _PATCH = 0, 1, 2
"""`libraryPropertyType` of CUDA's headers."""


def version(library: ctypes.CDLL, name: str) -> str:
    """Return `cuDNN 9.10.2` and the like by a library's file name; empty where it is none that can be asked.

    Raises AttributeError: it does not export the question.
    """
    for pattern, product, ask in _QUESTIONS:
        if re.match(pattern, name):
            number = ask(library)
            return f"{product} {number}" if number else ""
    return ""


def _cublas_properties(library: ctypes.CDLL) -> str:
    parts = []
    for which in (_MAJOR, _MINOR, _PATCH):
        value = ctypes.c_int()
        if library.cublasGetProperty(which, ctypes.byref(value)):
            return ""
        parts.append(str(value.value))
    return ".".join(parts)


def _written(ask: Callable[..., int]) -> int:
    """Return the number that a function writes through a pointer; 0 where it fails."""
    value = ctypes.c_int()
    return 0 if ask(ctypes.byref(value)) else value.value


def _returned(ask: Any) -> int:  # noqa: ANN401  (ctypes has no public name for a library's function)
    ask.restype = ctypes.c_size_t
    return int(ask())


def _release(number: int) -> str:
    """`13.2` of 13020."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _dotted(number: int, since: int) -> str:
    """`9.10.2` of 91002: a major version counts ten thousand from `since` on, and a thousand before."""
    major = 10_000 if number >= since else 1_000
    return f"{number // major}.{number % major // 100}.{number % 100}"


_QUESTIONS: tuple[tuple[str, str, Callable[[ctypes.CDLL], str]], ...] = (
    (r"libcudart\.so", "CUDA runtime", lambda library: _release(_written(library.cudaRuntimeGetVersion))),
    (r"libcuda\.so", "CUDA of the driver", lambda library: _release(_written(library.cuDriverGetVersion))),
    (r"libcudnn\.so", "cuDNN", lambda library: _dotted(_returned(library.cudnnGetVersion), since=90_000)),
    (r"libcublasLt\.so", "cuBLASLt", lambda library: _dotted(_returned(library.cublasLtGetVersion), since=0)),
    (r"libcublas\.so", "cuBLAS", _cublas_properties),
    (r"libnccl\.so", "NCCL", lambda library: _dotted(_written(library.ncclGetVersion), since=20_000)),
)
"""File name, product, and how its version is asked for."""
