"""CPU clocks of processes, and the kernel's counters."""

import subprocess
import time
from pathlib import Path

from levelfield.machine import counters
from tests.machine.processes import known, process


def test_another_process_has_a_clock_of_nanoseconds_with_all_its_threads() -> None:
    program = (
        "import threading, zlib\ndata = bytes(1 << 20)\n"
        "def work():\n    while True: zlib.crc32(data)\n"
        "threading.Thread(target=work, daemon=True).start()\nprint('up', flush=True)\nwork()"
    )
    with process(program) as child:
        before = known(counters.process_cpu_ns(child.pid))
        time.sleep(0.5)
        spent_ns = known(counters.process_cpu_ns(child.pid)) - before
        assert spent_ns % counters.TICK_NS  # not a number of ticks
        ticks = sum(map(int, Path(f"/proc/{child.pid}/stat").read_text().split()[13:15]))
        assert abs(known(counters.process_cpu_ns(child.pid)) - ticks * counters.TICK_NS) < 10 * counters.TICK_NS


def test_processes_that_a_worker_started_are_its_own() -> None:
    program = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'while True: pass'])\n"
        "print('up', flush=True)\nchild.wait()"
    )
    with process(program) as parent:
        try:
            before = known(counters.family_cpu_ns(parent.pid))
            alone = known(counters.process_cpu_ns(parent.pid))
            time.sleep(0.5)
            assert known(counters.family_cpu_ns(parent.pid)) - before > 100_000_000
            assert known(counters.process_cpu_ns(parent.pid)) - alone < 50_000_000
        finally:
            for child in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split():
                subprocess.run(["kill", child], check=False)
