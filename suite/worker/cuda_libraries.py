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

    Parameters
    ----------
    library
        Handle of a loaded library.
    name
        Its file name, such as `libcudnn.so.9`.

    Raises
    ------
    AttributeError
        It does not export the question.
    """
    return next((ask(library) for pattern, ask in _QUESTIONS if re.match(pattern, name)), "")


def _runtime(library: ctypes.CDLL) -> str:
    return f"CUDA runtime {_release(_written(library.cudaRuntimeGetVersion))}"


def _driver(library: ctypes.CDLL) -> str:
    return f"CUDA of the driver {_release(_written(library.cuDriverGetVersion))}"


def _cudnn(library: ctypes.CDLL) -> str:
    # Until 8.9 a thousand, from 9.0 on ten thousand to a major version.
    number = _returned(library.cudnnGetVersion)
    return f"cuDNN {_dotted(number, 10_000 if number >= 90_000 else 1_000)}"


def _cublas(library: ctypes.CDLL) -> str:
    parts = []
    for which in (_MAJOR, _MINOR, _PATCH):
        value = ctypes.c_int()
        if library.cublasGetProperty(which, ctypes.byref(value)):
            return ""
        parts.append(str(value.value))
    return f"cuBLAS {'.'.join(parts)}"


def _cublas_lt(library: ctypes.CDLL) -> str:
    return f"cuBLASLt {_dotted(_returned(library.cublasLtGetVersion), 10_000)}"


def _nccl(library: ctypes.CDLL) -> str:
    # Until 2.8 a thousand, from 2.9 on ten thousand to a major version.
    number = _written(library.ncclGetVersion)
    return f"NCCL {_dotted(number, 10_000 if number >= 20_000 else 1_000)}"


_QUESTIONS: tuple[tuple[str, Callable[[ctypes.CDLL], str]], ...] = (
    (r"libcudart\.so", _runtime),
    (r"libcuda\.so", _driver),
    (r"libcudnn\.so", _cudnn),
    (r"libcublasLt\.so", _cublas_lt),
    (r"libcublas\.so", _cublas),
    (r"libnccl\.so", _nccl),
)


def _written(ask: Callable[..., int]) -> int:
    """Return the number that a function writes where it is told; 0 where it fails."""
    value = ctypes.c_int()
    return 0 if ask(ctypes.byref(value)) else value.value


def _returned(ask: Any) -> int:  # noqa: ANN401  (ctypes has no public name for a library's function)
    ask.restype = ctypes.c_size_t
    return int(ask())


def _release(number: int) -> str:
    """`13.2` of 13020."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _dotted(number: int, major: int) -> str:
    return f"{number // major}.{number % major // 100}.{number % 100}"
