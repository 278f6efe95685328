"""An engine that does not see our files: a real one, in a mount namespace of its own."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.launchers.docker import LABEL, NOBODY, DockerLauncher
from levelfield.launchers.protocol import LaunchSpec
from levelfield.launchers.volumes import Volumes, sees_our_files
from levelfield.machine.engine import mark_of
from levelfield.record.schema import Image
from tests.engines import PrivateEngine, containers, none_left
from tests.launchers.scripts import PATIENCE_S

pytestmark = pytest.mark.docker

USER = (os.getuid(), os.getgid()) if os.getuid() else (NOBODY, NOBODY)


@pytest.fixture(scope="module")
def image(engine: docker.DockerClient) -> Image:
    return DockerLauncher(engine).prepare("canary", "cpu", None, lambda _: None)


@pytest.fixture(scope="module")
def hidden() -> Iterator[Path]:
    """A folder that the other engine sees empty; it lies outside of pytest's, which others use."""
    folder = Path(tempfile.mkdtemp(prefix="levelfield-hidden-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def place(hidden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a cache for one test."""
    folder = hidden / tmp_path.name
    folder.mkdir()
    monkeypatch.setenv("LEVELFIELD_CACHE", str(folder / "cache"))
    return folder


@pytest.fixture(scope="module")
def blind(engine: docker.DockerClient, image: Image, hidden: Path) -> Iterator[docker.DockerClient]:
    """An engine that sees nothing of `hidden`."""
    with contextlib.closing(PrivateEngine(hidden)) as private:
        private.load(engine, image.tag)
        with contextlib.closing(docker.DockerClient(private.host)) as client:
            yield client


def spec_of(image: Image, place: Path, **others: Any) -> LaunchSpec:
    artifacts = place / "cache" / "artifacts"
    for folder in ("weights", "own"):
        (artifacts / folder).mkdir(parents=True, exist_ok=True)
        (artifacts / folder / "one").write_bytes(b"first")
    return LaunchSpec(
        name="test", image=image, threads=1, cpus=(min(os.sched_getaffinity(0)),), memory_bytes=512 << 20,
        artifacts=artifacts, reads=("weights",), **others,
    )  # fmt: skip


def said(client: docker.DockerClient, command: str) -> str:
    (container,) = containers(client)
    code, output = container.exec_run(["sh", "-c", command])
    assert code == 0, output
    return str(output.decode())


def volumes(client: docker.DockerClient) -> list[Any]:
    return [each for each in client.volumes.list() if (each.attrs["Labels"] or {}).get(LABEL)]


def test_an_engine_that_sees_our_files_is_given_folders(engine: docker.DockerClient, image: Image, place: Path) -> None:
    assert sees_our_files(engine, image.tag, USER, {LABEL: mark_of(os.getpid())})
    one = DockerLauncher(engine).launch(spec_of(image, place, cache=place / "compiled"))
    one.await_ready(PATIENCE_S)
    (container,) = containers(engine)
    assert {mount["Type"] for mount in container.attrs["Mounts"]} == {"bind"}
    one.stop()
    assert none_left(engine)
    assert not [each for each in (place / "cache" / "temporary").iterdir() if each.is_dir()]


def test_a_link_that_an_earlier_worker_left_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Volumes, "_writable", lambda *_: "levelfield-0")
    (tmp_path / "cache").mkdir()
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "cache" / ".volume").symlink_to(tmp_path / "precious")
    assert Volumes(docker.DockerClient(), {}, USER)._cache(tmp_path / "cache", "image") == "levelfield-0"
    assert (tmp_path / "precious").read_text() == "precious"
    assert (tmp_path / "cache" / ".volume").read_text() == "levelfield-0"


@pytest.mark.extended
def test_volumes_take_the_place_of_folders_that_the_engine_does_not_see(
    blind: docker.DockerClient, image: Image, place: Path
) -> None:
    assert not sees_our_files(blind, image.tag, USER, {LABEL: mark_of(os.getpid())})
    launcher, cache = DockerLauncher(blind), place / "compiled"
    spec = spec_of(image, place, cache=cache)
    one = launcher.launch(spec)
    one.await_ready(PATIENCE_S)
    assert said(blind, "cat /artifacts/weights/one; cp /bin/true /cache/kernel; /cache/kernel") == "first"
    one.stop()
    (spec.artifacts / "weights" / "two").write_bytes(b"second")
    one = launcher.launch(spec)  # it finds what the first compiled, and what was made since
    one.await_ready(PATIENCE_S)
    assert said(blind, "cat /artifacts/*/*; /cache/kernel") == "firstsecond"
    one.stop()
    shutil.rmtree(cache)  # as before a cold start
    one = launcher.launch(spec)
    one.await_ready(PATIENCE_S)
    assert said(blind, "ls /cache") == ""
    one.stop()
    assert none_left(blind)
    del launcher
    assert not volumes(blind)


@pytest.mark.extended
def test_what_an_exporter_writes_is_copied_and_nothing_but_files(
    blind: docker.DockerClient, image: Image, place: Path
) -> None:
    out = place / "out"
    one = DockerLauncher(blind).launch(spec_of(image, place, export=out))
    one.await_ready(PATIENCE_S)
    said(blind, "echo model > /export/model.onnx; mkdir /export/deep; echo x > /export/deep/x; ln -s / /export/link")
    one.stop()
    assert {each.name: each.read_text() for each in out.iterdir()} == {"model.onnx": "model\n"}


@pytest.mark.extended
def test_an_export_that_is_too_large_is_refused(blind: docker.DockerClient, image: Image, place: Path) -> None:
    spec = spec_of(image, place, export=place / "out")
    one = DockerLauncher(blind).launch(msgspec.structs.replace(spec, disk_bytes=1000))
    one.await_ready(PATIENCE_S)
    said(blind, "head -c 1001 /dev/zero > /export/model.onnx")
    with pytest.raises(LevelfieldError, match="wrote more than"):
        one.stop()
