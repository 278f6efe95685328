import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from suite.errors import LevelfieldError
from suite.images import archive, base, catalogue, debian, engine, wheels, worker_code
from suite.images.build import BuiltImage, build
from suite.images.cost import estimate
from suite.images.recipe import recipe
from suite.paths import package_root

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
def canary() -> BuiltImage:
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
    locked = debian.read_lock().of("slim")
    assert inside["packages"] == [f"{package.name} {package.version}" for package in locked]
    assert inside["uid"] == 65534
    assert inside["networks"] == ["lo"]


def test_the_framework_works_inside(client: docker.DockerClient) -> None:
    built = build("onnxruntime")
    said = _run(client, built.tag, "import onnxruntime; print(onnxruntime.__version__)")
    pinned = next(pin.version for pin in catalogue.lock("onnxruntime").pins if pin.name == "onnxruntime")
    assert said.decode().split()[-1] == pinned


def test_the_worker_inside_is_the_one_out_here(client: docker.DockerClient, canary: BuiltImage) -> None:
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
    canary: BuiltImage, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    steps: list[str] = []
    assert build("canary", progress=steps.append) == canary
    assert steps == []
    assert not (cache / "wheels").exists() or not any((cache / "wheels").iterdir())
    assert estimate(["canary"]).sentence() == "Everything needed is built already."


def test_another_image_under_our_tag_is_not_taken_for_ours(client: docker.DockerClient, canary: BuiltImage) -> None:
    wanted = recipe("canary")
    assert engine.find(client, wanted.tag, wanted.identity) is not None
    assert engine.find(client, wanted.tag, hashlib.sha256(b"other").hexdigest()) is None
    assert engine.find(client, "levelfield/nothing:0", wanted.identity) is None


def test_the_stages_of_two_builds_have_no_step_in_common(client: docker.DockerClient, canary: BuiltImage) -> None:
    """Removing one stage takes its steps along: one in common would be taken from under the other build."""
    text = (package_root().parent / "images" / "environment.Dockerfile").read_text(encoding="utf-8").split("\nRUN ")[0]
    tags = ("levelfield-test/one:stage", "levelfield-test/another:stage")
    steps = [_steps(client, text, canary, tag) for tag in tags]
    for tag in tags:
        client.images.remove(tag)
    assert all(len(made) >= 4 for made in steps)
    assert not set(steps[0]) & set(steps[1])


def _steps(client: docker.DockerClient, text: str, base: BuiltImage, tag: str) -> list[str]:
    """Build a stage as far as its inputs, and return the images of its steps."""
    context = io.BytesIO()
    archive.write(context, [("Dockerfile", text.encode()), ("inputs/name", tag.encode())])
    context.seek(0)
    arguments = {"BASE": base.tag, "EPOCH": "0", "STAGE": tag}
    image = engine.build(client, context, recipe="Dockerfile", tag=tag, arguments=arguments, labels={})
    found, at = [], str(image.id)
    while at != base.image_id:
        found.append(at)
        at = client.images.get(at).attrs["Parent"]
    return found


def test_a_build_with_no_cache_gives_the_same_layers_again(
    client: docker.DockerClient, canary: BuiltImage, checkout: Path
) -> None:
    again = build("canary", use_cache=False)
    assert again.image_id != canary.image_id  # it was built again
    assert again.layers == canary.layers
    stages = client.images.list(filters={"label": "levelfield.stage", "dangling": True})
    assert stages == []


def test_the_base_made_again_is_the_same_bytes_as_the_one_in_the_image(canary: BuiltImage, tmp_path: Path) -> None:
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


def test_a_build_has_no_network(client: docker.DockerClient, canary: BuiltImage) -> None:
    code = "import os; print('networks', os.listdir('/sys/class/net')); raise SystemExit(3)"
    text = f'FROM {canary.tag}\nUSER 0\nRUN /opt/levelfield/env/bin/python -c "{code}"\n'
    context = io.BytesIO()
    archive.write(context, [("recipe", text.encode())])
    context.seek(0)
    with pytest.raises(LevelfieldError, match=r"networks \['lo'\]") as caught:
        engine.build(client, context, recipe="recipe", tag="levelfield-test/network:1", arguments={}, labels={})
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
