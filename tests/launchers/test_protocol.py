"""What every launcher does alike: the folders of a worker, and their names inside."""

from pathlib import Path
from typing import Any

import pytest

from levelfield.launchers.protocol import LaunchSpec
from levelfield.record.schema import Image

IMAGE = Image(name="canary", variant="cpu", launcher="host")


def spec(**folders: Any) -> LaunchSpec:
    return LaunchSpec("canary/canary", IMAGE, 1, (0,), 1 << 30, Path("/here/artifacts"), **folders)


@pytest.mark.parametrize(
    ("folders", "written"),
    [
        ({}, ()),
        ({"cache": Path("/c")}, (Path("/c"),)),
        ({"export": Path("/e")}, (Path("/e"),)),
        ({"cache": Path("/c"), "export": Path("/e")}, (Path("/c"), Path("/e"))),
    ],
)
def test_a_worker_writes_into_its_cache_and_its_export_alone(
    folders: dict[str, Path], written: tuple[Path, ...]
) -> None:
    assert spec(**folders).written == written
