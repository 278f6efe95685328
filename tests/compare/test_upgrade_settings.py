"""Identity, hardware and differences, over this machine's fingerprint, files that a test wrote, and a fake driver."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from levelfield.compare import upgrade_rules
from levelfield.compare.types import Setting
from levelfield.compare.upgrade_settings import differences, hardware, identity
from levelfield.machine.cpu import clock, mitigations
from levelfield.machine.fingerprint import fingerprint
from levelfield.machine.system import kernel, memory, virtualisation
from levelfield.record.schema import Fact, Fingerprint
from tests.machine.fake_nvml import H100, RTX_4090, FakeGpu, ask, compile_library
from tests.machine.folders import write

CPUFREQ = "sys/devices/system/cpu/cpu0/cpufreq"
FILES = {
    "proc/sys/kernel/osrelease": "6.1.0-37-amd64",
    "proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1 (2025-05-22)",
    "proc/cmdline": "BOOT_IMAGE=/vmlinuz-6.1.0-37-amd64 root=UUID=1 ro quiet mitigations=off isolcpus=2-3",
    "proc/sys/kernel/numa_balancing": "0",
    "proc/sys/kernel/sched_rt_runtime_us": "950000",
    "proc/sys/vm/swappiness": "10",
    "proc/meminfo": "MemTotal:       24684096 kB\nHugePages_Total:      64\nHugepagesize:       2048 kB\n",
    "sys/devices/system/cpu/online": "0",
    f"{CPUFREQ}/scaling_governor": "performance",
    f"{CPUFREQ}/scaling_driver": "intel_pstate",
    f"{CPUFREQ}/scaling_max_freq": "3500000",
    f"{CPUFREQ}/energy_performance_preference": "performance",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1",
    "sys/devices/system/cpu/vulnerabilities/spectre_v2": "Vulnerable",
    "sys/class/dmi/id/bios_version": "2.1",
    "sys/class/dmi/id/bios_date": "05/01/2025",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
}
OTHER_KERNEL = {
    "proc/sys/kernel/osrelease": "6.12.38-amd64",
    "proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC Debian 6.12.38-1 (2025-07-16)",
    "proc/cmdline": FILES["proc/cmdline"].replace("6.1.0-37", "6.12.38"),
}


def boot(folder: Path, changed: Mapping[str, str | None] | None = None) -> Fingerprint:
    """Return the fingerprint of a machine with these files; None: the file is not there."""
    files = {name: content for name, content in {**FILES, **(changed or {})}.items() if content is not None}
    root = write(folder, files)
    return {
        "clock": clock(root),
        "mitigations": mitigations(root),
        "memory": memory(root),
        "kernel": kernel(root),
        "virtualisation": virtualisation(root),
    }


def titles(found: Iterable[Setting], meant: str) -> set[str]:
    return {f"{one.where}, {one.name}" for one in found if one.meant == meant}


@pytest.fixture(scope="module")
def here() -> Fingerprint:
    return fingerprint()


def test_this_machine_has_one_identity_and_differs_in_nothing_from_itself(here: Fingerprint) -> None:
    again = fingerprint()
    assert identity(again) == identity(here)
    assert identity(here)["kernel, release"] == here["kernel"]["release"]
    assert hardware(again) == hardware(here)
    assert differences([here, again], [fingerprint()]) == ()


def test_each_fact_of_a_fingerprint_has_a_rule_of_its_own(here: Fingerprint, tmp_path: Path) -> None:
    gpus = gpu(tmp_path / "nvml")
    every = {**here, **boot(tmp_path / "root"), "gpu": gpus, "system": here["system"]}
    unknown = [
        f"{group}, {name}"
        for group, facts in every.items()
        for name in facts
        if upgrade_rules.rule(f"{group}, {name}").pattern == "*"
    ]
    assert unknown == []


def test_no_rule_is_hidden_by_an_earlier_one() -> None:
    for row in upgrade_rules.RULES:
        assert upgrade_rules.rule(row.pattern.replace("*", "zz")) is row, row.pattern


def test_settings_that_a_restart_lost_are_named(tmp_path: Path) -> None:
    lost: dict[str, str | None] = {
        f"{CPUFREQ}/scaling_governor": "powersave",
        f"{CPUFREQ}/scaling_max_freq": "4200000",
        f"{CPUFREQ}/energy_performance_preference": "balance_performance",
        "sys/devices/system/cpu/intel_pstate/no_turbo": "0",
        "proc/sys/kernel/numa_balancing": "1",
        "proc/sys/kernel/sched_rt_runtime_us": "-1",
        "proc/sys/vm/swappiness": "60",
        "proc/meminfo": FILES["proc/meminfo"].replace("64\n", "0\n"),
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    }
    found = differences([boot(tmp_path / "a")], [boot(tmp_path / "b", lost)])
    assert titles(found, "not meant") == {
        "clock, governor", "clock, maximum kHz", "clock, preference", "clock, boost", "memory, NUMA balancing",
        "memory, swappiness", "memory, huge pages reserved", "memory, transparent huge pages",
        "kernel, sched_rt_runtime_us",
    }  # fmt: skip
    assert titles(
        differences([boot(tmp_path / "a")], [boot(tmp_path / "b", lost)], ("clock, *", "memory, swappiness")),
        "not meant",
    ) == {
        "memory, NUMA balancing", "memory, huge pages reserved", "memory, transparent huge pages",
        "kernel, sched_rt_runtime_us",
    }  # fmt: skip


def test_a_new_kernel_brings_its_own_defaults_and_mitigations(tmp_path: Path) -> None:
    changed: dict[str, str | None] = {
        **OTHER_KERNEL,
        "proc/sys/kernel/sched_rt_runtime_us": None,
        "proc/sys/kernel/sched_autogroup_enabled": "1",
        "sys/devices/system/cpu/vulnerabilities/spectre_v2": "Vulnerable: eIBRS with unprivileged eBPF",
        "sys/devices/system/cpu/vulnerabilities/vmscape": "Vulnerable",
        "sys/class/dmi/id/bios_version": "2.3",
        "proc/meminfo": FILES["proc/meminfo"].replace("24684096", "24601000"),
        "proc/sys/vm/compaction_proactiveness": "20",
        f"{CPUFREQ}/scaling_governor": "powersave",
    }
    old, new = boot(tmp_path / "a"), boot(tmp_path / "b", changed)
    found = differences([old], [new])
    assert titles(found, "upgrade") == {
        "kernel, release", "kernel, version", "kernel, sched_rt_runtime_us", "kernel, sched_autogroup_enabled",
        "mitigations, spectre_v2", "mitigations, vmscape", "virtualisation, firmware",
        "memory, compaction proactiveness",
    }  # fmt: skip
    assert titles(found, "not meant") == {"clock, governor"}
    (added,) = [one for one in found if one.name == "vmscape"]
    assert (added.old, added.new) == ("not there", "Vulnerable")
    assert identity(old) != identity(new)
    assert hardware(old) == hardware(new)


def test_a_knob_that_vanishes_without_a_new_kernel_was_lost(tmp_path: Path) -> None:
    gone: dict[str, str | None] = {name: None for name in FILES if name.startswith(CPUFREQ)}
    found = differences([boot(tmp_path / "a")], [boot(tmp_path / "b", gone)])
    assert "clock, governor" in titles(found, "not meant")
    newer = differences([boot(tmp_path / "a")], [boot(tmp_path / "c", {**gone, **OTHER_KERNEL})])
    assert "clock, governor" in titles(newer, "upgrade")


def test_a_parameter_of_the_kernel_that_was_lost_is_a_setting_whatever_the_kernel(tmp_path: Path) -> None:
    line = OTHER_KERNEL["proc/cmdline"].replace(" mitigations=off", "").replace("root=UUID=1", "nosmt")
    found = differences([boot(tmp_path / "a")], [boot(tmp_path / "b", OTHER_KERNEL | {"proc/cmdline": line})])
    by_name = {one.name: one for one in found if one.meant == "not meant"}
    assert set(by_name) == {"boot parameter mitigations", "boot parameter nosmt", "boot parameter root"}
    lost = by_name["boot parameter mitigations"]
    assert (lost.old, lost.new) == ("mitigations=off", "not there")
    assert "boot loader" in lost.reason
    assert not titles(
        differences(
            [boot(tmp_path / "a")],
            [boot(tmp_path / "b", OTHER_KERNEL | {"proc/cmdline": line})],
            ("kernel, boot parameter *",),
        ),
        "not meant",
    )


def gpu(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch | None = None,
    now: str = "",
    *,
    driver: str = "580.95.05",
    gpus: tuple[FakeGpu, ...] = (H100,),
    without: tuple[str, ...] = (),
) -> dict[str, Fact]:
    folder.mkdir(parents=True)
    if monkeypatch is not None:
        (folder / "now").write_text(now)
        monkeypatch.setenv("FAKE_NVML", str(folder / "now"))
    found: Any = ask(compile_library(folder / "nvml", driver=driver, gpus=gpus, without=without))["facts"]
    return msgspec.convert(found, dict[str, Fact])


@pytest.fixture
def side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Fingerprint]:
    """Return what makes the fingerprint of a machine with the fake driver; every call is another boot."""
    boots = iter(range(100))
    return lambda now="", **options: {"gpu": gpu(tmp_path / str(next(boots)), monkeypatch, now, **options)}


def test_settings_of_a_gpu_that_a_new_driver_came_without(side: Callable[..., Fingerprint]) -> None:
    old = side(
        "power-limit=350500\npower-enforced=350500\napplication-graphics=1410\napplication-memory=2619\n"
        "persistence=1\nmode=3\necc=1\n"
    )
    new = side("persistence=0\nmode=0\necc=0\n", driver="590.48.01", gpus=(H100._replace(mig=1),))
    found = differences([old], [new])
    assert titles(found, "not meant") == {
        "gpu, device 0 application graphics clock MHz", "gpu, device 0 power limit set mW",
        "gpu, device 0 persistence mode", "gpu, device 0 compute mode", "gpu, device 0 ECC", "gpu, device 0 MIG",
    }  # fmt: skip
    assert titles(found, "upgrade") == {"gpu, driver", "gpu, device 0 GSP firmware"}
    assert not titles(differences([old], [new], ("gpu, device 0 *",)), "not meant")


def test_firmware_names_the_stack_and_a_lost_gpu_is_no_stack(side: Callable[..., Fingerprint]) -> None:
    one, two = side(), side(gpus=(H100, RTX_4090))
    assert identity(one) == identity(side("persistence=0\npower-limit=350000\nmode=3\ngeneration=1\npstate=8\n"))
    assert identity(one) != identity(side("vbios=144\n"))
    assert titles(differences([two], [one]), "not meant") == {"gpu, devices"}
    assert hardware(one) != hardware(two)
