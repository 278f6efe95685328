"""The container engine: what it builds, and what is said where none answers."""

import hashlib
from pathlib import Path

import docker
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import engine
from levelfield.images.build import build
from levelfield.images.recipe import recipe
from levelfield.record.schema import Image


@pytest.mark.docker
def test_another_image_under_our_tag_is_not_taken_for_ours(client: docker.DockerClient, canary: Image) -> None:
    wanted = recipe("canary")
    assert engine.find(client, wanted.tag, wanted.identity) is not None
    assert engine.find(client, wanted.tag, hashlib.sha256(b"other").hexdigest()) is None
    assert engine.find(client, "levelfield/nothing:0", wanted.identity) is None


def test_an_engine_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    with pytest.raises(LevelfieldError, match=r"^No container engine answers: No such file") as caught:
        build("canary")
    assert "--launcher venv" in caught.value.fix
