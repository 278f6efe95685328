"""CUDA and cuDNN of the host."""

from pathlib import Path

from levelfield.machine.cuda import host_libraries
from levelfield.record.schema import Absent
from tests.machine.folders import write


def test_a_toolkit_and_a_library(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "usr/local/cuda/version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.8.1"}, "gdb": 1}',
            "usr/lib/x86_64-linux-gnu/libcudnn.so.9": "",
            "usr/lib/x86_64-linux-gnu/libcudnn.so.9.8.0": "",
            "usr/lib/x86_64-linux-gnu/libcudnn_ops.so.9.8.0": "",
        },
    )
    assert host_libraries(tmp_path) == {"CUDA toolkit": "12.8.1", "cuDNN": "9.8.0"}


def test_a_host_without_them(tmp_path: Path) -> None:
    facts = host_libraries(tmp_path)
    assert all(isinstance(fact, Absent) for fact in facts.values())


def test_a_damaged_description_is_absent_with_its_reason(tmp_path: Path) -> None:
    toolkit = host_libraries(write(tmp_path, {"usr/local/cuda/version.json": "{"}))["CUDA toolkit"]
    assert isinstance(toolkit, Absent)
    assert "version.json cannot be read" in toolkit.reason
