"""CPUs and memory of a worker, as the kernel carries them out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from levelfield.worker import pinning
from tests.commands import IMPORTS

ROOT = Path(pinning.__file__).parents[2]
BOUND = """
import os, re
from levelfield.worker import pinning
pinning.pin()
memory = bytearray(os.urandom(1 << 24))
maps = re.findall(r" (bind:0|default) anon=([0-9]+) .* N0=", open("/proc/self/numa_maps").read())
print(sorted(os.sched_getaffinity(0)), [policy for policy, pages in maps if int(pages) >= 4096])
"""
cannot = pinning.cannot_bind_memory()
binds = pytest.mark.skipif(bool(cannot), reason=cannot or "memory can be bound")


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": IMPORTS, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@binds
def test_memory_comes_from_the_node_that_is_named() -> None:
    cpu = min(os.sched_getaffinity(0))
    done = run(BOUND, **{pinning.CPUS: str(cpu), pinning.MEMORY_NODES: "0"})
    assert done.stdout.split("]") == [f"[{cpu}", " ['bind:0'", "\n"], done.stderr


@binds
def test_a_node_that_is_not_there_is_refused() -> None:
    done = run("from levelfield.worker import pinning; pinning.pin()", **{pinning.MEMORY_NODES: "63,700"})
    assert done.returncode
    assert "memory cannot be bound to the NUMA nodes 63, 700: Invalid argument" in done.stderr


def test_a_cpu_that_is_not_there_is_refused() -> None:
    done = run("from levelfield.worker import pinning; pinning.pin()", **{pinning.CPUS: "9999"})
    assert "Invalid argument" in done.stderr
