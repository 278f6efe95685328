"""Archives that `docker load` takes: the same layers, and nothing that differs between two builds."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

import docker
import pytest

from suite.errors import LevelfieldError
from suite.images import engine as engines
from suite.images.build import build
from suite.images.export import export_image, write

TAG = "levelfield/x:1"


def layer(content: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        entry = tarfile.TarInfo("file")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def saved(
    *, created: str, folder: str, layers: tuple[bytes, ...], stored: tuple[bytes, ...] | None = None
) -> io.BytesIO:
    """What an engine gives for `docker save`: its own names and times."""
    config = {
        "architecture": "amd64",
        "os": "linux",
        "created": created,
        "container": f"c-{created}",
        "docker_version": "20.10",
        "history": [{"created": created}],
        "config": {
            "Hostname": f"h-{created}",
            "User": "65534",
            "Env": ["A=1"],
            "Labels": {"l": "1", engines.BUILD: created},
            "Image": created,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(each).hexdigest()}" for each in layers]},
    }
    names = [f"{folder}{number}/layer.tar" for number in range(len(layers))]
    members = {
        f"{folder}.json": json.dumps(config).encode(),
        "manifest.json": json.dumps([{"Config": f"{folder}.json", "RepoTags": [TAG], "Layers": names}]).encode(),
        "repositories": b"{}",
        **dict(zip(names, stored or layers, strict=True)),
    }
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), len(created)
            archive.addfile(entry, io.BytesIO(content))
    stream.seek(0)
    return stream


def written(source: io.BytesIO) -> bytes:
    target = io.BytesIO()
    write(source, target, TAG)
    return target.getvalue()


LAYERS = (layer(b"one"), layer(b"two"))


def test_two_builds_give_the_same_archive() -> None:
    one = written(saved(created="2026-01-01T00:00:00Z", folder="aa", layers=LAYERS))
    other = written(saved(created="2027-02-02T02:02:02.22Z", folder="bb", layers=LAYERS))
    assert one == other
    assert one != written(saved(created="2026-01-01T00:00:00Z", folder="aa", layers=LAYERS[::-1]))


def test_what_matters_of_the_configuration_is_kept_and_its_name_is_its_digest() -> None:
    with tarfile.open(fileobj=io.BytesIO(written(saved(created="c", folder="aa", layers=LAYERS)))) as archive:
        (manifest,) = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
        content = archive.extractfile(manifest["Config"]).read()  # type: ignore[union-attr]
    config = json.loads(content)
    assert manifest["Config"] == f"{hashlib.sha256(content).hexdigest()}.json"
    assert manifest["RepoTags"] == [TAG]
    assert config["config"] == {"User": "65534", "Env": ["A=1"], "Labels": {"l": "1"}}
    assert "history" not in config
    assert len(config["rootfs"]["diff_ids"]) == len(manifest["Layers"]) == 2


def test_compressed_layers_are_written_plain_and_twins_once() -> None:
    twins = (LAYERS[0], LAYERS[1], LAYERS[0])
    packed = tuple(gzip.compress(each) for each in twins)
    plain = written(saved(created="c", folder="aa", layers=twins))
    assert written(saved(created="c", folder="aa", layers=twins, stored=packed)) == plain
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        assert len(archive.getnames()) == 4


@pytest.mark.parametrize("stored", [(LAYERS[0], LAYERS[0]), (b"x", b"y")])
def test_a_layer_that_is_not_what_it_should_be_is_refused(stored: tuple[bytes, ...]) -> None:
    with pytest.raises(LevelfieldError, match="another layer"):
        written(saved(created="c", folder="aa", layers=LAYERS, stored=stored))


@pytest.mark.parametrize("content", [b"", b"not a tar", layer(b"no manifest")])
def test_what_is_no_archive_of_an_image_is_one_sentence(content: bytes) -> None:
    with pytest.raises(LevelfieldError, match="no archive"):
        write(io.BytesIO(content), io.BytesIO(), TAG)


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
    before = engine.images.get(built.tag)
    with archive.open("rb") as stream:
        (loaded,) = engine.images.load(stream)
    try:
        assert built.tag in loaded.tags
        assert engines.layers(loaded) == built.layers
        with tarfile.open(archive) as members:
            (manifest,) = json.load(members.extractfile("manifest.json"))  # type: ignore[arg-type]
        assert loaded.id == f"sha256:{manifest['Config'].removesuffix('.json')}"
        for kept in ("Entrypoint", "Env", "User", "WorkingDir"):
            assert loaded.attrs["Config"][kept] == before.attrs["Config"][kept]
        assert {**loaded.labels, engines.BUILD: before.labels[engines.BUILD]} == before.labels
        assert build("canary").image_id == loaded.id  # found by its identity, and not built again
        said = engine.containers.run(
            loaded,
            ["-c", "import suite.worker"],
            entrypoint="/opt/levelfield/env/bin/python",
            remove=True,
            network_mode="none",
        )
        assert said == b""
    finally:
        repository, _, tag = built.tag.partition(":")
        before.tag(repository, tag)
