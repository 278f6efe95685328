"""Which numerical libraries a process loaded."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from levelfield.record.measured import Library
from levelfield.worker.libraries import libraries, relative
from levelfield.worker.probes import probe
from tests.commands import python


def test_numpys_blas_is_found_with_its_version_and_without_a_private_path() -> None:
    np.ones((64, 64)) @ np.ones((64, 64))
    found = [library for library in probe().libraries if library.kind == "OpenBLAS"]
    assert found
    assert any("OpenBLAS 0." in library.name for library in found)
    assert all(library.path.startswith(("numpy.libs/", "scipy.libs/")) for library in found)


def test_no_path_tells_where_it_is() -> None:
    assert relative("/home/someone/.venv/lib/python3.11/site-packages/torch/lib/libc10.so") == "torch/lib/libc10.so"
    assert relative("/home/someone/build/libgomp.so.1") == "libgomp.so.1"


def elf(content: bytes) -> bytes:
    """Make a small ELF file whose `.rodata` is `content`."""
    names = b"\0.rodata\0.shstrtab\0"
    header = bytearray(64)
    header[:5] = b"\x7fELF\x02"
    table = 64 + len(content) + len(names)
    header[40:48] = table.to_bytes(8, "little")
    header[58:64] = b"".join(part.to_bytes(2, "little") for part in (64, 3, 2))

    def section(name: int, offset: int, length: int) -> bytes:
        parts = ((name, 4), (1, 4), (0, 8), (0, 8), (offset, 8), (length, 8))
        return b"".join(value.to_bytes(size, "little") for value, size in parts).ljust(64, b"\0")

    sections = section(0, 0, 0) + section(1, 64, len(content)) + section(9, 64 + len(content), len(names))
    return bytes(header) + content + names + sections


def test_what_is_linked_into_a_framework_is_found_even_across_chunks(tmp_path: Path) -> None:
    file = tmp_path / "libtorch_cpu.so"
    boundary = (1 << 22) - 5
    file.write_bytes(elf(b"\0" * boundary + b"oneDNN v%d.%d.%d (commit %s)" + b"\0" * 99 + b"N3xla3cpuE"))
    assert libraries([str(file)]) == (
        Library(name="libtorch_cpu.so", path="libtorch_cpu.so", kind="framework"),
        Library(name="XLA", path="libtorch_cpu.so", kind="XLA"),
        Library(name="oneDNN", path="libtorch_cpu.so", kind="oneDNN"),
    )


@pytest.mark.parametrize("content", [b"", b"not a library", b"\x7fELF\x02", elf(b"")[:-64]])
def test_a_damaged_library_is_still_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "libtorch_cpu.so"
    file.write_bytes(content)
    assert [library.kind for library in libraries([str(file)])] == ["framework"]


WRITES = "int {name}(int *version) {{ *version = {value}; return 0; }}"
RETURNS = "unsigned long {name}(void) {{ return {value}; }}"
PROPERTY = "int cublasGetProperty(int which, int *value) { *value = (int[]){13, 4, 1}[which]; return 0; }"


def compiled(folder: Path, name: str, source: str) -> Path:
    (folder / "source.c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / name, folder / "source.c"], check=True)
    return folder / name


@pytest.mark.parametrize(
    ("name", "source", "says"),
    [
        ("libcudart.so.13", WRITES.format(name="cudaRuntimeGetVersion", value=13020), "CUDA runtime 13.2"),
        ("libcudnn.so.9", RETURNS.format(name="cudnnGetVersion", value=91002), "cuDNN 9.10.2"),
        ("libcudnn.so.8", RETURNS.format(name="cudnnGetVersion", value=8907), "cuDNN 8.9.7"),
        ("libcublas.so.13", PROPERTY, "cuBLAS 13.4.1"),
        ("libnccl.so.2", WRITES.format(name="ncclGetVersion", value=22705), "NCCL 2.27.5"),
        ("libcudnn.so.7", "int nothing;", ""),
    ],
)
def test_a_loaded_library_says_its_version(tmp_path: Path, name: str, source: str, says: str) -> None:
    path = compiled(tmp_path, name, source)
    code = (
        "import ctypes, sys; from levelfield.worker.libraries import libraries\n"
        "ctypes.CDLL(sys.argv[1]); print(libraries([sys.argv[1]])[0].name)"
    )
    assert python(code, path).strip() == (f"{name} ({says})" if says else name)


def test_one_that_is_not_loaded_is_not_loaded_for_the_asking(tmp_path: Path) -> None:
    path = compiled(tmp_path, "libnccl.so.2", WRITES.format(name="ncclGetVersion", value=22705))
    assert libraries([str(path)])[0].name == "libnccl.so.2"
    with pytest.raises(OSError, match="dlopen"):  # it is still not in this process
        ctypes.CDLL(str(path), mode=4)
