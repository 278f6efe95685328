"""Layers made by a command in a container: what they hold, and what is left when the command or its process ends."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import engine, layer
from levelfield.images.build import build, recipe
from tests.commands import IMPORTS, eventually

pytestmark = pytest.mark.docker

KILLED = """
import sys
from levelfield.images import engine
with engine.connect() as client:
    with engine.container_of(client, sys.argv[1], [], command=["/bin/sh", "-c", "sleep 600"]):
        pass
"""


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    with engine.connect() as connected:
        yield connected


@pytest.fixture(scope="module")
def base() -> str:
    build("canary")
    return recipe("canary").base.reference


def install(client: docker.DockerClient, base: str, script: str) -> layer.Layer:
    command = ["/bin/sh", "-euc", script]
    with engine.container_of(client, base, [("inputs/name", b"given")], command=command) as container:
        return engine.layer_of(container, "/opt", "opt", io.BytesIO())


def containers(client: docker.DockerClient) -> set[str]:
    """Return the containers of installations, by id."""
    engine.wait_for_removals()
    return {each["Id"] for each in client.api.containers(all=True, filters={"name": "levelfield-install-"})}


def test_a_layer_holds_what_the_command_wrote_and_not_what_it_was_given(client: docker.DockerClient, base: str) -> None:
    before = containers(client)
    made = install(client, base, "cp /mnt/inputs/name /opt/kept; echo lost > /mnt/inputs/other; chmod 644 /opt/kept")
    assert made == layer.of_files({"opt/kept": b"given"}, io.BytesIO())
    assert containers(client) <= before


def test_a_command_that_fails_is_one_sentence_and_leaves_nothing(client: docker.DockerClient, base: str) -> None:
    before = containers(client)
    with pytest.raises(LevelfieldError, match=r"returned a non-zero code: 3\. Last output: no such wheel"):
        install(client, base, "echo no such wheel; exit 3")
    assert containers(client) <= before


def test_a_command_has_neither_a_network_nor_the_users_proxies(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxies = {"httpProxy": "http://user:secret@proxy.invalid"}
    (tmp_path / "config.json").write_text(json.dumps({"proxies": {"default": proxies}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with (
        engine.connect() as client,
        pytest.raises(LevelfieldError, match=r"Last output: lo / .*HOME=") as caught,
    ):
        install(client, base, "ls /sys/class/net; env | sort -r | tr '\\n' ' '; echo; exit 1")
    assert "secret" not in caught.value.message


@pytest.mark.alone  # any other build would remove what the killed one left
@pytest.mark.parametrize("by", ["the next build", "clean"])
def test_the_container_of_a_killed_process_is_removed(client: docker.DockerClient, base: str, by: str) -> None:
    before, volumes = containers(client), client.volumes.list()
    process = subprocess.Popen([sys.executable, "-c", KILLED, base], env={**os.environ, "PYTHONPATH": IMPORTS})
    assert eventually(lambda: process.poll() is not None or bool(containers(client) - before))
    engine.sweep(client)
    assert containers(client) - before, "its process is alive"
    process.send_signal(signal.SIGKILL)
    process.wait()
    if by == "clean":
        engine.remove_images(client, "levelfield.test-of-nothing")
    else:
        engine.sweep(client)
    assert not containers(client) - before
    assert client.volumes.list() == volumes
