"""What makes timings vary, judged before a run."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from levelfield.machine import quiet
from levelfield.record.schema import Absent, Noise
from tests.machine.folders import states, write

QUIET = Noise(
    elapsed_ns=1_000_000_000,
    steal_ns=0,
    pressure_ns=0,
    others_ns=0,
    supervisor_ns=0,
    idle_workers_ns=0,
    context_switches=100,
    major_faults=0,
    swapped_pages=0,
)


@pytest.mark.parametrize(
    ("changes", "topic"),
    [
        ({"steal_ns": 100_000_000}, "stolen time"),
        ({"others_ns": 300_000_000}, "other processes"),
        ({"pressure_ns": 300_000_000}, "waiting for a CPU"),
    ],
)
def test_noise_right_now(changes: dict[str, int], topic: str) -> None:
    found = states(quiet.describe(msgspec.structs.replace(QUIET, **changes), 2, ["cc1plus (7) 90 %"]))
    assert found.pop(topic) == "warn"
    assert set(found.values()) == {"ok"}


def test_noise_that_cannot_be_seen_is_said() -> None:
    unknown = msgspec.structs.replace(QUIET, pressure_ns=Absent("/proc/pressure/cpu is not there"))
    found = {finding.topic: finding for finding in quiet.describe(unknown, 2, [])}
    assert "psi=1" in found["waiting for a CPU"].fix


def test_a_busy_process_is_named() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            found = {finding.topic: finding for finding in quiet.now(0.5)}
        finally:
            busy.kill()
    assert found["other processes"].state == "warn"
    assert "of a CPU" in found["other processes"].message


def test_a_laptop_with_everything_on(tmp_path: Path) -> None:
    folder = "sys/devices/system/cpu"
    write(
        tmp_path,
        {
            f"{folder}/online": "0-3",
            f"{folder}/cpu0/cpufreq/scaling_governor": "powersave",
            f"{folder}/intel_pstate/no_turbo": "0",
            f"{folder}/smt/active": "1",
            **{f"{folder}/cpu{n}/topology/thread_siblings_list": f"{n % 2},{n % 2 + 2}" for n in range(4)},
            "sys/class/power_supply/AC/type": "Mains",
            "sys/class/power_supply/AC/online": "0",
            "sys/class/power_supply/BAT0/type": "Battery",
            "sys/class/power_supply/BAT0/status": "Discharging",
        },
    )
    found = {finding.topic: finding for finding in quiet.clock(tmp_path)}
    assert set(found) == {"governor", "turbo", "SMT", "power"}
    assert all(finding.state == "warn" for finding in found.values())
    assert "each of the 2 cores" in found["SMT"].message
    assert "--threads 2" in found["SMT"].fix


def test_a_server_set_for_measuring(tmp_path: Path) -> None:
    folder = "sys/devices/system/cpu"
    write(
        tmp_path,
        {
            f"{folder}/online": "0",
            f"{folder}/cpu0/cpufreq/scaling_governor": "performance",
            f"{folder}/cpufreq/boost": "0",
            f"{folder}/smt/active": "0",
        },
    )
    assert states(quiet.clock(tmp_path)) == {"governor": "ok"}


def test_swap_in_use_and_huge_pages(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/meminfo": "SwapTotal: 4194304 kB\nSwapFree: 1048576 kB\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
        },
    )
    assert states(quiet.memory(tmp_path)) == {"swap": "warn", "huge pages": "warn"}
    write(tmp_path, {"proc/meminfo": "SwapTotal: 0 kB\nSwapFree: 0 kB\n"})
    assert states(quiet.memory(tmp_path))["swap"] == "ok"


@pytest.mark.parametrize(("setting", "state"), [("2", "ok"), ("1", "warn"), ("0", "warn"), (None, "ok")])
def test_addresses_that_are_the_same_in_every_launch(tmp_path: Path, setting: str | None, state: str) -> None:
    if setting is not None:
        write(tmp_path, {"proc/sys/kernel/randomize_va_space": setting})
    found = quiet.layout(tmp_path)
    assert (found.topic, found.state) == ("address randomisation", state)
    assert ("the same memory layout" in found.message) == (state == "warn")
