"""Containers around this process."""

from pathlib import Path

import pytest

from levelfield.machine import system
from tests.machine.folders import write


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"run/systemd/container": "lxc\n"}, "lxc"),
        ({}, "none"),
    ],
)
def test_containers_are_known_by_their_marks(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert system.container(write(tmp_path, files)) == expected


def test_boot_parameters_keep_speed_and_drop_identity() -> None:
    line = (
        "BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=3e5ab0ff-9a3c-4be2-8a6b-1d9bfc0ae0f7 ro quiet "
        "mitigations=off isolcpus=2-3 ip=10.1.2.3 systemd.hostname=secret //share/home -- --addr 10.0.0.1:22"
    )
    assert system.boot_parameters(line) == (
        "BOOT_IMAGE=… root=… ro quiet mitigations=off isolcpus=2-3 ip=… systemd.hostname=…"
    )
