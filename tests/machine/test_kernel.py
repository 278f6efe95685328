"""The kernel's own description of itself."""

from suite.machine import kernel


def test_boot_parameters_keep_speed_and_drop_identity() -> None:
    line = (
        "BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=3e5ab0ff-9a3c-4be2-8a6b-1d9bfc0ae0f7 ro quiet "
        "mitigations=off isolcpus=2-3 ip=10.1.2.3 systemd.hostname=secret //share/home -- --addr 10.0.0.1:22"
    )
    assert kernel.boot_parameters(line) == (
        "BOOT_IMAGE=… root=… ro quiet mitigations=off isolcpus=2-3 ip=… systemd.hostname=…"
    )
