"""CPU clocks of processes, and the kernel's counters."""

import subprocess
import time
from pathlib import Path

from levelfield.machine import counters
from levelfield.machine.counters import Package, Rapl, spent_uj
from levelfield.record.schema import Absent
from tests.commands import eventually
from tests.machine.processes import known, process


def test_another_process_has_a_clock_of_nanoseconds_with_all_its_threads() -> None:
    program = (
        "import threading, zlib\ndata = bytes(1 << 20)\n"
        "def work():\n    while True: zlib.crc32(data)\n"
        "threading.Thread(target=work, daemon=True).start()\nprint('up', flush=True)\nwork()"
    )
    with process(program) as child:
        time.sleep(0.5)
        before_ns = known(counters.process_cpu_ns(child.pid))
        assert before_ns % counters.TICK_NS  # not a number of ticks
        ticks = sum(map(int, Path(f"/proc/{child.pid}/stat").read_text().split()[13:15]))
        after_ns = known(counters.process_cpu_ns(child.pid))
    assert before_ns < (ticks + 10) * counters.TICK_NS
    assert after_ns > (ticks - 10) * counters.TICK_NS


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
            assert eventually(lambda: known(counters.family_cpu_ns(parent.pid)) - before > 100_000_000)
            assert known(counters.process_cpu_ns(parent.pid)) - alone < 50_000_000
        finally:
            for child in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split():
                subprocess.run(["kill", child], check=False)


RANGE_UJ = 262_143_328_850


def zone(root: Path, name: str, what: str, energy_uj: int, range_uj: int = RANGE_UJ) -> Path:
    folder = root / "sys/class/powercap" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"{what}\n")
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    (folder / "max_energy_range_uj").write_text(f"{range_uj}\n")
    return folder / "energy_uj"


def two_sockets(root: Path) -> tuple[Path, Path]:
    """A server of two packages, with parts beneath them, the same again by another way, and the whole board."""
    first = zone(root, "intel-rapl:0", "package-0", 1_000_000)
    zone(root, "intel-rapl:0:0", "core", 600_000)
    zone(root, "intel-rapl:0:1", "dram", 300_000)
    zone(root, "intel-rapl-mmio:0", "package-0", 1_000_000)
    second = zone(root, "intel-rapl:1", "package-1", 2_000_000)
    zone(root, "intel-rapl:2", "psys", 9_000_000)
    return first, second


def test_packages_are_added_up_and_nothing_twice(tmp_path: Path) -> None:
    first, second = two_sockets(tmp_path)
    with Rapl(tmp_path) as rapl:
        before = rapl.read()
        assert before == (Package(1_000_000, RANGE_UJ), Package(2_000_000, RANGE_UJ))
        first.write_text("1500000\n")
        second.write_text("2250000\n")
        assert spent_uj(before, rapl.read()) == 750_000


def test_a_package_that_stops_answering_makes_no_wrong_sum(tmp_path: Path) -> None:
    first, _ = two_sockets(tmp_path)
    with Rapl(tmp_path) as rapl:
        before = rapl.read()
        first.write_text("")
        after = rapl.read()
    assert isinstance(after, Absent)
    assert spent_uj(before, after) == after
    assert isinstance(spent_uj(before, (Package(1, 1),)), Absent)
