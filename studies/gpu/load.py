"""Processes that keep a GPU busy, hold its memory, or never end; and what NVML lists of processes on it."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from suite.errors import LevelfieldError
from suite.machine.gpu import Problem, session

MEMORY = """
import sys, torch
free, _ = torch.cuda.mem_get_info()
held = torch.empty(free - int(sys.argv[1]), dtype=torch.uint8, device="cuda")
print("ready", flush=True)
sys.stdin.read()
"""
"""Leaves so many bytes of the GPU's memory free, until its input ends."""
ENDLESS = """
import torch
torch.zeros(1 << 28, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
print("ready", flush=True)
while True:
    torch.cuda._sleep(1 << 40)
    torch.cuda.synchronize()
"""
"""Runs a kernel that takes many minutes."""


@contextlib.contextmanager
def running(program: str, *arguments: str, timeout_s: float = 90.0) -> Iterator["subprocess.Popen[str]"]:
    """Start a program of this module in this interpreter, and kill it in the end."""
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            end = time.monotonic() + timeout_s
            line = process.stdout.readline() if process.stdout is not None else ""
            if line.strip() != "ready" or time.monotonic() > end:
                process.kill()
                words = process.stderr.read().strip().splitlines() if process.stderr is not None else []
                raise LevelfieldError(
                    f"A program that loads the GPU did not begin: {words[-1] if words else 'it gave no reason'}."
                )
            yield process
        finally:
            process.kill()


def processes_on(gpu: int) -> dict[int, int]:
    """Return the bytes that each process holds on a GPU, by process id, as NVML lists them."""
    with _nvml() as nvml:
        device = nvml.nvmlDeviceGetHandleByIndex(gpu)
        return {int(one.pid): int(one.usedGpuMemory or 0) for one in nvml.nvmlDeviceGetComputeRunningProcesses(device)}


@contextlib.contextmanager
def _nvml() -> Iterator[Any]:
    with session() as nvml:
        if isinstance(nvml, Problem):
            raise LevelfieldError(f"No GPU can be used: {nvml.reason}.")
        yield nvml
