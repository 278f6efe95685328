"""Archives that `docker load` takes."""

from pathlib import Path

import docker
import pytest

from levelfield.images import engine as engines
from levelfield.images.build import build
from levelfield.images.export import export_image


@pytest.mark.docker
def test_a_real_image_leaves_and_comes_back_as_itself(engine: docker.DockerClient, tmp_path: Path) -> None:
    built = build("canary")
    archive = export_image(built, tmp_path / "out")
    again = export_image(built, tmp_path / "again")
    assert archive.read_bytes() == again.read_bytes()
    assert sorted(path.name for path in archive.parent.iterdir()) == [
        "levelfield-canary-cpu.cdx.json",
        "levelfield-canary-cpu.tar",
    ]
    with archive.open("rb") as stream:
        (loaded,) = engine.images.load(stream)
    assert built.tag in loaded.tags
    assert engines.layers(loaded) == built.layers
    assert build("canary") == built  # found by its identity, and not built again
