"""Images for another kind of processor are run to compare answers, and for nothing else."""

from pathlib import Path

import docker
import pytest

from levelfield.images import engine as engines
from levelfield.images.catalogue import AARCH64, ARCHITECTURE_VARIABLE, X86_64
from tests.commands import one_clear_sentence, run

pytestmark = pytest.mark.docker


@pytest.fixture
def other(engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch) -> str:
    """Ask for images of the kind of processor that the engine does not run on."""
    machine = str(engine.info()["Architecture"])
    wanted = X86_64 if machine in {AARCH64.name, AARCH64.debian} else AARCH64
    monkeypatch.setenv(ARCHITECTURE_VARIABLE, wanted.name)
    assert engines.emulates(engine) == f"{wanted.name} on {machine}"
    return wanted.name


@pytest.mark.usefixtures("other")
def test_what_is_emulated_is_not_measured(tmp_path: Path) -> None:
    refused = run("bench", "--models", "mlp", "--backends", "onnxruntime", folder=tmp_path)
    one_clear_sentence(refused, "The processor of these images is emulated")
    assert "--profile smoke" in refused.err
