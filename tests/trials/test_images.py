"""The trial of reproducible images, for real, on the smallest one."""

import os
import subprocess
import sys
from pathlib import Path

import docker
import msgspec
import pytest

from suite.trials.images import Record, Twice
from tests.commands import ROOT


def test_another_layer_is_not_the_same() -> None:
    one = Twice("canary", "t", "l", "b", ("sha256:1", "sha256:2"), ("sha256:1", "sha256:2"), 1, 1.0)
    assert one.same
    assert not msgspec.structs.replace(one, second=("sha256:1", "sha256:3")).same


@pytest.mark.extended
@pytest.mark.docker
@pytest.mark.alone  # a build removes what others of the same image left dangling
def test_the_record_tells_both_builds(engine: docker.DockerClient, tmp_path: Path) -> None:
    out = tmp_path / "images.json"
    done = subprocess.run(
        [sys.executable, "-m", "suite.trials.images", "--images", "canary", "--out", str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (one,) = msgspec.json.decode(out.read_bytes(), type=Record).images
    assert one.same
    assert len(one.second) >= 3
    assert list(one.second) == engine.images.get(one.tag).attrs["RootFS"]["Layers"]
