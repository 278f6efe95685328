"""The file of digests: written and read, and what is no such file."""

import io
import json
import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import jsonschema
import msgspec
import pytest
from docker.errors import ImageNotFound

from levelfield import paths
from levelfield.cli.json import schema_of
from levelfield.errors import LevelfieldError
from levelfield.images import published, worker_code
from levelfield.images.build import Recipe, recipe
from levelfield.images.published import ImagesFile, Published, pull, push
from levelfield.record.references import parse
from tests.commands import Command, one_clear_sentence, run
from tests.registries import Registry

ONE = Published(
    image="onnxruntime",
    variant="cu13@1.30.0",
    identity="0" * 64,
    reference=f"registry.example.org:5000/team/levelfield/onnxruntime@sha256:{'1' * 64}",
    layers=(f"sha256:{'2' * 64}", f"sha256:{'3' * 64}"),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    published.write((ONE,), tmp_path / "images.json")
    assert published.read(tmp_path / "images.json") == ImagesFile(format=published.FORMAT, images=(ONE,))
    assert str(ONE.name) == "onnxruntime@1.30.0+cu13"


@pytest.mark.parametrize("address", ["", "https://localhost:5000", "localhost:5000/", "-rf", "host/../x", "x\n"])
def test_what_is_no_address(address: str) -> None:
    assert not re.fullmatch(published.REPOSITORY, address)


def changed(**fields: object) -> bytes:
    return msgspec.json.encode({"format": published.FORMAT, "images": [{**msgspec.to_builtins(ONE), **fields}]})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[" * 100_000,
        changed()[:-1],
        msgspec.json.encode({"format": published.FORMAT, "images": []}),
        changed(image="../../etc"),
        changed(reference="localhost:5000/x:latest"),
        changed(reference=f"localhost:5000/x@sha256:{'1' * 64}\n"),
        changed(layers=["sha256:x"]),
        changed(layers=[f"sha256:{'2' * 64}"] * 129),
    ],
)
def test_what_is_no_such_file_is_one_sentence(content: bytes) -> None:
    with pytest.raises(LevelfieldError, match=r"^images.json names no images as `levelfield images push`"):
        published.decode(content, "images.json")


def test_images_whose_licences_restrict_it_are_named_with_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    names = [parse(name) for name in ("canary", "torch@cu12", "onnxruntime@cu13")]
    with pytest.raises(LevelfieldError) as refused:
        push(names, "localhost:5000/levelfield")
    assert refused.value.message.startswith(
        "torch cu12, onnxruntime cu13 may not be published at will: the licences of"
    )
    assert "cuda-bindings" in refused.value.message
    assert "--i-may-redistribute" in refused.value.fix
    with pytest.raises(LevelfieldError, match="No container engine answers"):
        push(names, "localhost:5000/levelfield", may_redistribute=True)


class Site(msgspec.Struct):
    """A checkout whose canary is its own, so that its image may be removed; and the registry it was pushed to."""

    folder: Path
    registry: Registry
    tag: str = ""
    answer: dict[str, Any] = {}

    def levelfield(self, *words: str | Path) -> Command:
        return run(*words, folder=self.folder, environment={"PYTHONPATH": str(self.folder / "checkout" / "suite")})

    @property
    def file(self) -> ImagesFile:
        return published.read(self.folder / "images.json")

    def write(self, **fields: object) -> Path:
        """Write a file of digests that is changed in some fields."""
        published.write((msgspec.structs.replace(self.file.images[0], **fields),), self.folder / "changed.json")
        return self.folder / "changed.json"


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    one = Registry()
    yield one
    one.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, registry: Registry, client: docker.DockerClient) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site"), registry)
    source, copy = paths.package_root().parents[1], made.folder / "checkout"
    for name in ("images", "suite"):
        shutil.copytree(source / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "suite" / "levelfield" / "worker" / "__init__.py").open("a") as worker:
        worker.write(f"# {made.folder}\n")
    built = made.levelfield("images", "build", "canary")
    assert built.code == 0, built.err
    made.tag = built.out.split()[-1]
    pushed = made.levelfield("images", "push", f"{registry.address}/levelfield", "canary", "--json")
    assert pushed.code == 0, pushed.err
    made.answer = json.loads(pushed.out)
    yield made
    remove(client, made.tag)


def remove(client: docker.DockerClient, *tags: str) -> None:
    for tag in tags:
        client.images.remove(tag)


def empty(client: docker.DockerClient, tag: str, labels: dict[str, str], *changes: str) -> tuple[str, ...]:
    """Make an image that holds nothing and says of itself what it is asked to; return its layers."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    all_changes = [*changes, *(f"LABEL {name}={json.dumps(value)}" for name, value in labels.items())]
    repository, _, name = tag.rpartition(":")
    client.api.import_image_from_data(layer.getvalue(), repository=repository, tag=name, changes=all_changes)
    return tuple(client.images.get(tag).attrs["RootFS"]["Layers"])


@pytest.mark.docker
def test_the_answer_is_the_file(site: Site, client: docker.DockerClient) -> None:
    jsonschema.validate(site.answer, schema_of("images push"))
    (one,) = site.file.images
    assert site.answer["images"] == json.loads(msgspec.json.encode([one]))
    assert one.reference.startswith(f"{site.registry.address}/levelfield/canary@sha256:")
    image = client.images.get(site.tag)
    assert image.tags == [site.tag], "the name under which it was pushed is gone"
    assert one.layers == tuple(image.attrs["RootFS"]["Layers"])


@pytest.mark.docker
def test_what_was_pushed_and_removed_is_taken_and_nothing_is_built(site: Site, client: docker.DockerClient) -> None:
    pushed = client.images.get(site.tag)
    remove(client, site.tag)
    taken = site.levelfield("images", "build", "--from", "images.json")
    assert taken.code == 0, taken.err
    assert f"pulling {site.file.images[0].reference}" in taken.out.replace("\n", "")
    assert "installing" not in taken.out
    here = client.images.get(site.tag)
    assert (here.id, here.tags) == (pushed.id, [site.tag])
    assert not here.attrs["RepoDigests"]
    said = client.containers.run(
        here, ["-c", "import numpy, levelfield.worker; print('runs')"], entrypoint="python", remove=True
    )
    assert said == b"runs\n"
    again = site.levelfield("images", "build", "canary", "--from", "images.json")
    assert "canary is here already, with the layers that the file names" in again.out.replace("\n", "")


@pytest.mark.docker
def test_an_image_here_with_other_layers_is_kept(site: Site) -> None:
    changed = site.write(layers=(f"sha256:{'0' * 64}",))
    one_clear_sentence(
        site.levelfield("images", "build", "--from", changed), "has other layers than the file names", "docker rmi"
    )


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """What the canary would be made from if other code ran inside: no engine has that image."""
    monkeypatch.setattr(worker_code, "digest", lambda _: "f" * 64)
    return recipe("canary")


@pytest.mark.docker
@pytest.mark.parametrize(
    ("labelled", "change", "layers", "says"),
    [
        (False, "USER 65534:65534", (), "levelfield.base, levelfield.identity, levelfield.image"),
        (True, "USER 65534:65534", (f"sha256:{'0' * 64}",), "canary name: .*its layers"),
        (True, "USER 0", (), "canary name: .*User"),
        (True, "ENV LD_PRELOAD=/opt/slow.so", (), "canary name: .*Env"),
        (True, "HEALTHCHECK CMD true", (), "canary name: .*Healthcheck"),
    ],
)
def test_a_forged_image_is_refused_and_not_kept(
    registry: Registry,
    client: docker.DockerClient,
    target: Recipe,
    labelled: bool,
    change: str,
    layers: tuple[str, ...],
    says: str,
) -> None:
    repository = f"{registry.address}/forged"
    made = empty(client, f"{repository}:x", target.labels if labelled else {}, change)
    events = list(client.api.push(repository, "x", stream=True, decode=True))
    remove(client, f"{repository}:x")
    reference = f"{repository}@{events[-1]['aux']['Digest']}"
    entry = Published("canary", "cpu", target.identity, reference, layers or made)
    with pytest.raises(LevelfieldError, match=says):
        pull(ImagesFile(format=published.FORMAT, images=(entry,)))
    for name in (entry.reference, target.tag):
        with pytest.raises(ImageNotFound):
            client.images.get(name)


def test_names_and_recipes_are_compared_before_an_engine_is_asked(
    target: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    named = {"image": "canary", "variant": "cpu", "identity": target.identity}
    file = ImagesFile(format=published.FORMAT, images=(msgspec.structs.replace(ONE, **named),))
    with pytest.raises(LevelfieldError, match=r"The file names no image torch\. It names canary"):
        pull(file, [parse("canary"), parse("torch")])
    with pytest.raises(LevelfieldError, match="No container engine answers"):
        pull(file)
