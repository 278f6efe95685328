"""Versions of NVIDIA's libraries, through ctypes: libraries compiled here that answer as theirs do."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from levelfield.worker.libraries import libraries
from tests.commands import IMPORTS

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
    answer = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True, env={"PYTHONPATH": IMPORTS}
    )
    assert answer.stdout.strip() == (f"{name} ({says})" if says else name)


def test_one_that_is_not_loaded_is_not_loaded_for_the_asking(tmp_path: Path) -> None:
    path = compiled(tmp_path, "libnccl.so.2", WRITES.format(name="ncclGetVersion", value=22705))
    assert libraries([str(path)])[0].name == "libnccl.so.2"
    with pytest.raises(OSError, match="dlopen"):  # it is still not in this process
        ctypes.CDLL(str(path), mode=4)
