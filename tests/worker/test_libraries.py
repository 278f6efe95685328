"""Which numerical libraries a process loaded."""

from pathlib import Path

import numpy as np
import pytest

from levelfield.record.measured import Library
from levelfield.worker.libraries import libraries, relative
from levelfield.worker.probes import probe


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
