"""Errors that the driver reports: events of NVML through ctypes, or the kernel's log."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from levelfield.machine import xid
from levelfield.machine.xid import KernelLog, codes_of
from levelfield.record.schema import Absent
from tests.commands import IMPORTS
from tests.machine.fake_nvml import compile_library, environment

HERE = (0, 0x3B, 0)
FELL_OFF = "3,1042,98123,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus.\n"
OTHERS = "3,1043,98124,-;NVRM: Xid (PCI:0000:af:00): 31, pid=7, name=python3, MMU Fault\n"
OLD = "4,7,12,-;NVRM: Xid (PCI:0000:3B:00.0): 13, Graphics SM Warp Exception\n"

_QUESTION = """
import json, os, pathlib, sys, msgspec, pynvml
from levelfield.machine.xid import Watch
now, log = pathlib.Path(os.environ["FAKE_NVML"]), pathlib.Path(sys.argv[1])
said = []
def set_(**values):
    now.write_text("".join(f"{name}={value}\\n" for name, value in values.items()))
set_(**{"xid-count": 0})
pynvml.nvmlInit()
watch = Watch(pynvml, pynvml.nvmlDeviceGetHandleByIndex(0), log)
said.append(watch.new_errors())
set_(**{"xid-count": 1, "xid": 79})
said.append(watch.new_errors())
said.append(watch.new_errors())
set_(**{"xid-count": 300, "xid": 31})
said.append(watch.new_errors())
if log.exists():
    with log.open("a") as file:
        file.write("3,1,2,-;NVRM: Xid (PCI:0000:3b:00): 48, pid=4711\\n")
    said.append(watch.new_errors())
watch.close()
watch.close()
said.append(watch.new_errors())
print(json.dumps(msgspec.to_builtins(said)))
"""


def ask(folder: Path, log: Path, without: tuple[str, ...] = ()) -> list[Any]:
    library = compile_library(folder / "nvml", without=without)
    answer = subprocess.run(
        [sys.executable, "-c", _QUESTION, log],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": IMPORTS, "FAKE_NVML": str(folder / "now"), **environment(library)},
    )
    found = json.loads(answer.stdout)
    assert isinstance(found, list)
    return found


def test_events_are_reported_once_and_nobody_waits_for_them(tmp_path: Path) -> None:
    quiet, one, none, many, closed = ask(tmp_path, tmp_path / "no-log")
    assert (quiet, one, none) == ([], [79], [])
    assert many == [31] * xid.MAX_ERRORS
    assert closed["reason"] == "the GPU is no longer watched"


def test_where_nvml_tells_no_events_the_kernels_log_does(tmp_path: Path) -> None:
    log = tmp_path / "kmsg"
    log.write_text(FELL_OFF)  # before anybody watched
    *silent, codes, _ = ask(tmp_path, log, without=("XID",))
    assert silent == [[], [], [], []]
    assert codes == [48]


def test_lines_of_this_gpu_only() -> None:
    assert codes_of(OTHERS + FELL_OFF + OLD + "3,1,1,-;NVRM: GPU at PCI:0000:3b:00: fine\n", HERE) == [79, 13]
    assert codes_of(OTHERS, (0, 0xAF, 0)) == [31]
    assert codes_of("", HERE) == []


def test_a_log_is_read_from_now_on_and_never_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "kmsg"
    os.mkfifo(pipe)
    log = KernelLog(HERE, pipe)
    writer = os.open(pipe, os.O_WRONLY)
    try:
        assert log.new_errors() == ()
        os.write(writer, FELL_OFF.encode())
        os.write(writer, OTHERS.encode())
        assert log.new_errors() == (79,)
        assert log.new_errors() == ()
    finally:
        os.close(writer)
    log.close()
    assert isinstance(log.new_errors(), Absent)
