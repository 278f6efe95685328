"""The container engine: what it builds, and what is said where none answers."""

import hashlib
from pathlib import Path

import docker
import pytest

from suite.errors import LevelfieldError
from suite.images import engine
from suite.images.build import build
from suite.images.recipe import recipe
from suite.record.schema import Image


@pytest.mark.docker
def test_another_image_under_our_tag_is_not_taken_for_ours(client: docker.DockerClient, canary: Image) -> None:
    wanted = recipe("canary")
    assert engine.find(client, wanted.tag, wanted.identity) is not None
    assert engine.find(client, wanted.tag, hashlib.sha256(b"other").hexdigest()) is None
    assert engine.find(client, "levelfield/nothing:0", wanted.identity) is None


@pytest.mark.docker
def test_two_builds_have_no_step_in_common(client: docker.DockerClient, canary: Image) -> None:
    """Removing an image takes its steps along: one in common would be taken from under the other build."""
    text = b"ARG BASE\nFROM ${BASE}\nCOPY inputs/ /inputs/\nARG EPOCH\n"
    tags = ("levelfield-test/one:stage", "levelfield-test/another:stage")
    steps = [_steps(client, text, canary, tag) for tag in tags]
    for tag in tags:
        client.images.remove(tag)
    assert all(len(made) >= 3 for made in steps)
    assert not set(steps[0]) & set(steps[1])


def _steps(client: docker.DockerClient, text: bytes, base: Image, tag: str) -> list[str]:
    """Build a stage as far as its inputs, and return the images of its steps; each must bear this build's label."""
    arguments = {"BASE": base.tag, "EPOCH": "0"}
    image = engine.build(
        client, [("inputs/name", b"the same")], recipe=text, tag=tag, arguments=arguments, labels={"a": "1", "b": "2"}
    )
    below, found, at = client.images.get(base.tag), [], image
    # An image that was pulled or loaded, as other tests do, names no build.
    assert image.labels[engine.BUILD] != below.labels.get(engine.BUILD)
    while at.id != below.id:
        assert at.labels[engine.BUILD] == image.labels[engine.BUILD]
        found.append(str(at.id))
        at = client.images.get(at.attrs["Parent"])
    return found


@pytest.mark.docker
def test_a_build_has_no_network(client: docker.DockerClient, canary: Image) -> None:
    code = "import os; print('networks', os.listdir('/sys/class/net')); raise SystemExit(3)"
    text = f'FROM {canary.tag}\nUSER 0\nRUN /opt/levelfield/env/bin/python -c "{code}"\n'
    with pytest.raises(LevelfieldError, match=r"networks \['lo'\]") as caught:
        engine.build(client, [], recipe=text.encode(), tag="levelfield-test/network:1", arguments={}, labels={})
    assert "non-zero code: 3" in caught.value.message


def test_an_engine_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    with pytest.raises(LevelfieldError, match=r"^No container engine answers: No such file") as caught:
        build("canary")
    assert "--launcher venv" in caught.value.fix
