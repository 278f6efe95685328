"""The processor, as the kernel shows it."""

from pathlib import Path

from levelfield.machine import cpu
from levelfield.record.schema import Absent
from tests.machine.folders import write


def test_two_sockets_with_smt(tmp_path: Path) -> None:
    files = {"sys/devices/system/cpu/online": "0-7", "sys/devices/system/cpu/smt/active": "1"}
    for number in range(8):
        folder = f"sys/devices/system/cpu/cpu{number}"
        files |= {
            f"{folder}/topology/physical_package_id": str(number // 2 % 2),
            f"{folder}/topology/core_id": str(number % 2),
            f"{folder}/topology/thread_siblings_list": f"{number % 4},{number % 4 + 4}",
            f"{folder}/cache/index3/level": "3",
            f"{folder}/cache/index3/type": "Unified",
            f"{folder}/cache/index3/size": "32768K",
            f"{folder}/cache/index3/shared_cpu_list": f"socket {number // 2 % 2}",
        }
    facts = cpu.cpu((0, 1), write(tmp_path, files))
    assert (facts["sockets"], facts["cores"], facts["threads"]) == (2, 4, 8)
    assert facts["SMT active"] is True
    assert facts["L3 cache"] == "32768 KiB x 2"
    assert facts["CPUs measured on"] == "0-1"
    assert cpu.siblings((0, 1), tmp_path) == (0, 1, 4, 5)


def test_the_last_level_of_cache_is_summed_over_those_that_are_used(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    for number in range(4):
        shared = "0-1" if number < 2 else "2-3"
        folder = f"sys/devices/system/cpu/cpu{number}/cache"
        for index, (level, size, where) in enumerate([(1, "48K", str(number)), (3, "32M", shared)]):
            files |= {
                f"{folder}/index{index}/level": str(level),
                f"{folder}/index{index}/size": size,
                f"{folder}/index{index}/shared_cpu_list": where,
            }
    root = write(tmp_path, files)
    assert cpu.last_cache_bytes([0], root) == 32 << 20
    assert cpu.last_cache_bytes([0, 1], root) == 32 << 20
    assert cpu.last_cache_bytes([1, 2], root) == 64 << 20
    assert cpu.last_cache_bytes([7], root) == Absent("the kernel shows no caches")
