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
