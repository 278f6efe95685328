import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.errors import ImageNotFound

from suite.errors import LevelfieldError
from suite.images import base, catalogue, debian, engine, wheels, worker_code
from suite.images.build import build
from suite.images.cost import estimate
from suite.images.recipe import recipe
from suite.machine import owner
from suite.record.schema import Image

pytestmark = pytest.mark.docker

LIST = """
import json, os, subprocess
from importlib.metadata import distributions
packages = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\\n"], capture_output=True, text=True)
print(json.dumps({"found": sorted((d.name.lower(), d.version) for d in distributions()),
                  "packages": packages.stdout.split("\\n")[:-1], "uid": os.getuid(),
                  "networks": os.listdir("/sys/class/net")}))
"""


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    with engine.connect() as connected:
        yield connected


@pytest.fixture(scope="module")
def canary() -> Image:
    return build("canary")


def _run(client: docker.DockerClient, image: str, code: str) -> bytes:
    output = client.containers.run(
        image,
        ["-P", "-c", code],
        entrypoint="/opt/levelfield/env/bin/python",
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        remove=True,
    )
    assert isinstance(output, bytes)
    return output


@pytest.mark.parametrize("name", ["canary", "onnxruntime"])
def test_an_image_holds_what_its_locks_say_and_nothing_else(client: docker.DockerClient, name: str) -> None:
    built = build(name)
    inside = json.loads(_run(client, built.tag, LIST))
    assert inside["found"] == [[pin.name, pin.version] for pin in catalogue.lock(name).pins]
    locked = debian.read_lock().packages_of("slim")
    assert inside["packages"] == [f"{package.name} {package.version}" for package in locked]
    assert inside["uid"] == 65534
    assert inside["networks"] == ["lo"]


def test_the_framework_works_inside(client: docker.DockerClient) -> None:
    built = build("onnxruntime")
    said = _run(client, built.tag, "import onnxruntime; print(onnxruntime.__version__)")
    pinned = next(pin.version for pin in catalogue.lock("onnxruntime").pins if pin.name == "onnxruntime")
    assert said.decode().split()[-1] == pinned


COMPILE = """
import json, sys, torch
from suite.worker.probes import distributions
torch.compile(lambda values: (values * 2).sin() + 1)(torch.ones(64))
print(json.dumps({"path": sys.path, "found": distributions()}))
"""


def test_what_a_cold_compilation_imports_is_not_taken_for_installed(client: docker.DockerClient) -> None:
    built = build("torch")
    output = client.containers.run(
        built.tag,
        ["-P", "-c", COMPILE],
        entrypoint="/opt/levelfield/env/bin/python",
        network_mode="none",
        tmpfs={"/tmp": "rw,exec"},
        environment={"HOME": "/tmp"},
        remove=True,
    )
    inside = json.loads(output)
    assert any(folder.endswith("setuptools/_vendor") for folder in inside["path"])  # else there is nothing to test
    assert inside["found"] == catalogue.lock("torch").versions


def test_the_worker_inside_is_the_one_out_here(client: docker.DockerClient, canary: Image) -> None:
    digest = """
import hashlib, pathlib
root = pathlib.Path("/opt/levelfield/worker")
whole = hashlib.sha256()
for path in sorted((p for p in root.rglob("*") if p.is_file()), key=lambda p: p.relative_to(root).as_posix()):
    whole.update(f"{path.relative_to(root)}\\n{hashlib.sha256(path.read_bytes()).hexdigest()}\\n".encode())
print(whole.hexdigest())
"""
    assert _run(client, canary.tag, digest).decode().strip() == worker_code.digest() == canary.worker_sha256


def test_nothing_is_built_or_fetched_the_second_time(
    canary: Image, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    steps: list[str] = []
    assert build("canary", progress=steps.append) == canary
    assert steps == []
    assert not (cache / "wheels").exists() or not any((cache / "wheels").iterdir())
    assert estimate(["canary"]).sentence() == "Everything needed is built already."


def test_another_image_under_our_tag_is_not_taken_for_ours(client: docker.DockerClient, canary: Image) -> None:
    wanted = recipe("canary")
    assert engine.find(client, wanted.tag, wanted.identity) is not None
    assert engine.find(client, wanted.tag, hashlib.sha256(b"other").hexdigest()) is None
    assert engine.find(client, "levelfield/nothing:0", wanted.identity) is None


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
    assert image.labels[engine.BUILD] != below.labels[engine.BUILD]
    while at.id != below.id:
        assert at.labels[engine.BUILD] == image.labels[engine.BUILD]
        found.append(str(at.id))
        at = client.images.get(at.attrs["Parent"])
    return found


@pytest.mark.alone  # it counts the stages of all builds
def test_a_build_with_no_cache_gives_the_same_layers_again(
    client: docker.DockerClient, canary: Image, checkout: Path
) -> None:
    again = build("canary", use_cache=False)
    third = build("canary", use_cache=False)
    assert len({canary.image_id, again.image_id, third.image_id}) == 3  # it was built again
    assert third.layers == again.layers == canary.layers
    own = f"{owner.mark_of(os.getpid())}/"
    left = client.api.images(filters={"label": engine.BUILD, "dangling": True})
    assert [each for each in left if each["Labels"][engine.BUILD].startswith(own)] == []
    with pytest.raises(ImageNotFound):  # what this process replaced is gone
        client.images.get(again.image_id)


def test_the_base_made_again_is_the_same_bytes_as_the_one_in_the_image(canary: Image, tmp_path: Path) -> None:
    base.make("slim", tmp_path / "base.tar")
    with (tmp_path / "base.tar").open("rb") as stream:
        assert canary.layers[0] == "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def test_a_tampered_wheel_stops_the_build(cache: Path) -> None:
    pin = catalogue.lock("canary").pins[0]
    (wheels.wheel_folder() / pin.file).write_bytes(b"tampered")
    with pytest.raises(LevelfieldError) as caught:
        build("canary", use_cache=False)
    assert pin.file in caught.value.message
    assert f"expected sha256 {pin.sha256}" in caught.value.message
    assert f"found {hashlib.sha256(b'tampered').hexdigest()}" in caught.value.message


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


def test_a_host_without_mmdebstrap_is_told_both_ways_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LevelfieldError, match="mmdebstrap") as caught:
        base.make("slim", tmp_path / "base.tar")
    assert "apt-get install mmdebstrap" in caught.value.fix
    assert "--base registry" in caught.value.fix
