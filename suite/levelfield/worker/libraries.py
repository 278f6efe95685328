"""Which numerical libraries this process really loaded: as files of their own, and inside a framework's own library.

Wheels link oneDNN, MKL, Eigen or XLA into one large library, where `/proc/self/maps` cannot show them. They are found
by texts that only they contain, in the read-only data of libraries that are mapped anyway. NVIDIA's libraries are asked
for their versions; all of these answer without a GPU.

See CUDA Runtime API, cudaRuntimeGetVersion; CUDA Driver API, cuDriverGetVersion; cuBLAS, cublasGetProperty and
cublasLtGetVersion; cuDNN, cudnnGetVersion; NCCL, ncclGetVersion.
"""

import ctypes
import re
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from levelfield.record.measured import Library

_KINDS = (
    # First match wins: a pattern for the file's name, and what it is.
    (r"lib(scipy_)?openblas", "OpenBLAS"),
    (r"libmkl_", "MKL"),
    (r"lib(dnnl|onednn|mkldnn)", "oneDNN"),
    (r"libblis", "BLIS"),
    (r"lib(gomp|iomp5|omp)\b|lib(gomp|iomp5|omp)-", "OpenMP"),
    (r"libtbb", "TBB"),
    (r"libcudnn", "cuDNN"),
    (r"libcublas", "cuBLAS"),
    (r"libnccl", "NCCL"),
    (r"libnvinfer|libtensorrt", "TensorRT"),
    (r"lib(cudart|cuda|cufft|curand|cusolver|cusparse|cupti|nvrtc|nvjitlink|nvshmem)", "CUDA"),
    (r"lib(tcmalloc|jemalloc|mimalloc)", "allocator"),
    (r"libtorch(_cpu|_cuda)?\.so|libtensorflow_(cc|framework)\.|libjax_common\.", "framework"),
    (r"onnxruntime_pybind11_state|libonnxruntime\.|libonnxruntime_providers_(?!shared)", "framework"),
    (r"libopenvino(_intel_[a-z]+_plugin)?\.", "framework"),
    (r"libmxnet\.|ncnn\.cpython", "framework"),
)
_MARKS = (
    (b"oneDNN v%d.%d.%d", "oneDNN"),
    (b"Math Kernel Library Version ", "MKL"),
    (b"OPENBLAS_NUM_THREADS", "OpenBLAS"),
    (b"5Eigen", "Eigen"),
    (b"N3xla", "XLA"),
)
"""Texts that mark a library linked into another: its own version text, or the names of its C++ types."""
_INSIDE = {"onnxruntime_pybind11_state": "MLAS", "libonnxruntime.": "MLAS"}
"""ONNX Runtime's own kernels, which leave no text of their own."""
_CHUNK_BYTES = 1 << 22
_MAJOR, _MINOR, _PATCH = 0, 1, 2
"""`libraryPropertyType` of CUDA's headers."""


def mapped(maps: str) -> list[str]:
    """Return the shared libraries in the text of `/proc/PID/maps`, each once, in order."""
    paths = (line.split(None, 5)[5] for line in maps.splitlines() if line.count(" ") >= 5 and "/" in line)
    return sorted({path for path in paths if re.search(r"\.so(\.|$)", path)})


def classify(name: str) -> str:
    """Return what a library is by its file name; empty when it decides neither speed nor numbers."""
    return next((kind for pattern, kind in _KINDS if re.match(pattern, name)), "")


def libraries(paths: list[str]) -> tuple[Library, ...]:
    """Return those libraries that decide speed or numbers, and what is linked into them.

    Paths are relative to the folder of installed packages, or the file's name alone for libraries of the system:
    where a person keeps an environment is private. A library found inside another has that one's path.
    """
    found: list[Library] = []
    for path in paths:
        name = Path(path).name
        kind = classify(name)
        if not kind:
            continue
        shown = relative(path)
        own = version(path, kind)
        found.append(Library(name=f"{name} ({own})" if own else name, path=shown, kind=kind))
        if kind == "framework":
            inside = [*_inside(path), *(part for prefix, part in _INSIDE.items() if name.startswith(prefix))]
            found.extend(
                Library(name=version(path, part) or part, path=shown, kind=part) for part in dict.fromkeys(inside)
            )
    return tuple(found)


def relative(path: str) -> str:
    """Return a path from the folder of installed packages on; for any other file its name."""
    for folder in sorted(filter(None, sys.path), key=len, reverse=True):
        if Path(folder).name in {"site-packages", "dist-packages"} and path.startswith(f"{folder}/"):
            return path[len(folder) + 1 :]
    _, packages, rest = path.rpartition("site-packages/")
    return rest if packages else Path(path).name


def version(path: str, kind: str) -> str:
    """Ask a library that is loaded for its version; empty when it exports no such function."""
    try:
        match kind:
            case "MKL":
                text = ctypes.create_string_buffer(256)
                _loaded(path).MKL_Get_Version_String(text, len(text))
                answer = re.search(r"Version ([\d.]+)", text.value.decode())
                return f"MKL {answer[1]}" if answer else ""
            case "oneDNN":
                return _onednn(_loaded(path))
            case "OpenBLAS":
                return _openblas(_loaded(path))
            case "CUDA" | "cuDNN" | "cuBLAS" | "NCCL":
                return _cuda_version(_loaded(path), Path(path).name)
    except (OSError, AttributeError):
        pass
    return ""


def _loaded(path: str) -> ctypes.CDLL:
    """Return a handle of a library that is mapped already; one that is not is never loaded for the asking."""
    return ctypes.CDLL(path, mode=getattr(ctypes, "RTLD_LOCAL", 0) | 4)  # 4: RTLD_NOLOAD


def _onednn(library: ctypes.CDLL) -> str:
    class Version(ctypes.Structure):
        _fields_ = (("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int))

    ask = library.dnnl_version
    ask.restype = ctypes.POINTER(Version)
    answer = ask().contents
    return f"oneDNN {answer.major}.{answer.minor}.{answer.patch}"


def _openblas(library: ctypes.CDLL) -> str:
    """NumPy's and SciPy's builds rename the question; the answer names the kernel set chosen for this processor."""
    for name in ("scipy_openblas_get_config64_", "scipy_openblas_get_config", "openblas_get_config"):
        try:
            ask = getattr(library, name)
        except AttributeError:
            continue
        ask.restype = ctypes.c_char_p
        return str(ask().decode()).strip()
    return ""


def _inside(path: str) -> list[str]:
    """Return the libraries whose texts are in the read-only data of this one."""
    missing = dict(_MARKS)
    found: list[str] = []
    try:
        for chunk in _read_only_data(Path(path)):
            found.extend(missing.pop(mark) for mark in list(missing) if mark in chunk)
    except (OSError, struct.error, ValueError):
        return found  # not a file we can read: what is inside stays unknown
    return sorted(found)


def _read_only_data(file: Path) -> Iterator[bytes]:
    """Read the `.rodata` of a 64-bit ELF file in overlapping chunks: mapping it would swell the process's memory."""
    overlap = max(len(mark) for mark, _ in _MARKS)
    with file.open("rb") as stream:
        header = stream.read(64)
        if header[:5] != b"\x7fELF\x02":
            return
        (table,) = struct.unpack_from("<Q", header, 40)
        size, count, names_index = struct.unpack_from("<HHH", header, 58)
        stream.seek(table)
        rows = stream.read(size * count)
        # Of each section: offset of its name, type, flags, address, offset in the file, length.
        sections = [struct.unpack_from("<IIQQQQ", rows, index * size) for index in range(count)]
        stream.seek(sections[names_index][4])
        names = stream.read(sections[names_index][5])
        for name, _, _, _, offset, length in sections:
            if names[name : names.index(b"\0", name)].startswith(b".rodata"):
                stream.seek(offset)
                tail = b""
                while length > 0 and (chunk := stream.read(min(_CHUNK_BYTES, length))):
                    length -= len(chunk)  # noqa: PLW2901  (what is left of the section)
                    yield tail + chunk
                    tail = chunk[-overlap:]


def _cuda_version(library: ctypes.CDLL, name: str) -> str:
    """Return `cuDNN 9.10.2` and the like by a library's file name; empty where it is none that can be asked."""
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
