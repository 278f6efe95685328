"""A fake NVML: a shared library, compiled here, that answers through the real ctypes calls what real drivers do."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tests.commands import python

_SOURCE = Path(__file__).with_name("fake_nvml.c")


class FakeGpu(NamedTuple):
    name: str
    major: int
    minor: int
    mig: int = -1
    """1 on, 0 off, -1: not supported by this device."""
    memory_bytes: int = 16 << 30


H100 = FakeGpu("NVIDIA H100 80GB HBM3", 9, 0, mig=0, memory_bytes=85_520_809_984)
A100 = FakeGpu("NVIDIA A100-SXM4-40GB", 8, 0, mig=0)
RTX_4090 = FakeGpu("NVIDIA GeForce RTX 4090", 8, 9)


def compile_library(
    folder: Path,
    *,
    driver: str = "580.95.05",
    cuda: int = 13000,
    gpus: tuple[FakeGpu, ...] = (H100,),
    init: int = 0,
    lost: int | None = None,
    without: tuple[str, ...] = (),
) -> Path:
    """Compile a library that answers like this; return the folder it is in.

    `cuda`: major × 1000 + minor × 10, as NVML gives it. `init`: what opening returns; 18: the library and the kernel's
    driver are of different versions. `lost`: index of a device that fell off the bus. `without`: `APPLICATION_CLOCKS`:
    what a new library no longer has; `XID`, `POLICIES`, `LINK`: what a device does not tell.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = ", ".join(f'{{"{one.name}", {one.major}, {one.minor}, {one.mig}, {one.memory_bytes}ULL}}' for one in gpus)
    lines = [
        f"static const struct gpu gpus[] = {{{rows or '{0}'}}};",
        f'#define DRIVER "{driver}"',
        f"#define CUDA {cuda}",
        f"#define COUNT {len(gpus)}",
        f"#define INIT {init}",
        f"#define LOST {lost if lost is not None else 99}u",
        *(f"#define WITHOUT_{name}" for name in without),
    ]
    (folder / "recorded.h").write_text("\n".join(lines) + "\n", encoding="utf-8")
    target = folder / "libnvidia-ml.so.1"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O0", "-w", "-Wl,-soname,libnvidia-ml.so.1", "-I", folder, "-o", target, _SOURCE],
        check=True,
    )
    return folder


_QUESTION = """
import json, msgspec
from levelfield.machine.doctor import driver_findings as findings
from levelfield.machine.gpu import gpu, nvidia
facts = gpu()
print(json.dumps({
    "facts": msgspec.to_builtins(facts),
    "nvidia": msgspec.to_builtins(nvidia()),
    "findings": msgspec.to_builtins(findings()),
}))
"""


def environment(folder: Path) -> dict[str, str]:
    return {"LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"}


def ask(folder: Path) -> dict[str, Any]:
    """Ask a process that finds this library what it makes of the machine."""
    found: dict[str, Any] = json.loads(python(_QUESTION, **environment(folder)))
    return found
