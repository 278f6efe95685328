"""The kernel's own description of itself."""

from pathlib import Path

from levelfield.machine import kernel
from tests.machine.folders import write


def test_boot_parameters_keep_speed_and_drop_identity() -> None:
    line = (
        "BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=3e5ab0ff-9a3c-4be2-8a6b-1d9bfc0ae0f7 ro quiet "
        "mitigations=off isolcpus=2-3 ip=10.1.2.3 systemd.hostname=secret //share/home -- --addr 10.0.0.1:22"
    )
    assert kernel.boot_parameters(line) == (
        "BOOT_IMAGE=… root=… ro quiet mitigations=off isolcpus=2-3 ip=… systemd.hostname=…"
    )


def test_huge_pages_of_other_sizes_than_the_default(tmp_path: Path) -> None:
    sizes = "sys/kernel/mm/hugepages/hugepages"
    files = {
        "proc/meminfo": "HugePages_Total:      64\nHugepagesize:       2048 kB\n",
        f"{sizes}-2048kB/nr_hugepages": "64",
        f"{sizes}-1048576kB/nr_hugepages": "16",
    }
    facts = kernel.memory(write(tmp_path, files))
    assert facts["huge pages reserved"] == 64
    assert facts["huge pages of 1048576 KiB"] == 16
    assert "huge pages of 2048 KiB" not in facts
