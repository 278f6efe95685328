"""The base of an image: made again with the same bytes, or pulled from a registry by digest."""

import contextlib
import datetime as dt
import hashlib
import json
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import base, debian, engine
from levelfield.images.build import build, recipe
from levelfield.record.bases import BaseLock
from tests.servers import Sources
from tests.share.evidence import image

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _blobs_of(tag: str, archive: Path) -> tuple[bytes, dict[str, bytes]]:
    """Return an image of the engine as a registry serves it: its manifest, and its blobs by digest."""
    with engine.connect() as client, archive.open("wb") as file:
        for chunk in client.api.get_image(tag):
            file.write(chunk)
    with tarfile.open(archive) as tar:

        def read(name: str) -> bytes:
            member = tar.extractfile(name)
            assert member is not None
            return member.read()

        listing = json.loads(read("manifest.json"))[0]
        config, layers = read(listing["Config"]), [read(name) for name in listing["Layers"]]
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "size": len(config), "digest": _digest(config)},
        "layers": [{"mediaType": LAYER, "size": len(layer), "digest": _digest(layer)} for layer in layers],
    }
    return json.dumps(manifest).encode(), {_digest(blob): blob for blob in [config, *layers]}


class _Registry(BaseHTTPRequestHandler):
    manifest: bytes
    blobs: dict[str, bytes]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        kind, _, digest = self.path.rpartition("/")
        if self.path == "/v2/":
            self._answer(b"{}", "application/json")
        elif kind.endswith("/manifests"):
            self._answer(self.manifest, MANIFEST)
        elif digest in self.blobs:
            self._answer(self.blobs[digest], "application/octet-stream")
        else:
            self.send_error(404)

    do_HEAD = do_GET  # noqa: N815  (the name is the library's)

    def _answer(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is the library's)
        pass


@contextlib.contextmanager
def _serving(manifest: bytes, blobs: dict[str, bytes]) -> Iterator[int]:
    handler = type("Registry", (_Registry,), {"manifest": manifest, "blobs": blobs})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def _name_base(checkout: Path, reference: str) -> None:
    (checkout / "images" / "base" / "registry.toml").write_text(f'[slim]\nreference = "{reference}"\n')


@pytest.mark.docker
@pytest.mark.alone  # a build removes what others of the same image left dangling
def test_an_image_stands_on_a_base_pulled_by_digest(checkout: Path, tmp_path: Path) -> None:
    with engine.connect() as client:
        base.ensure(client, base.describe("slim"))
    manifest, blobs = _blobs_of(base.describe("slim").reference, tmp_path / "base.tar")
    with _serving(manifest, blobs) as port:
        reference = f"127.0.0.1:{port}/base@{_digest(manifest)}"
        _name_base(checkout, reference)
        steps: list[str] = []
        built = build("canary", base_source="registry", progress=steps.append)
    assert f"pulling {reference}" in steps
    assert built.base == f"registry slim {_digest(manifest)}"
    assert built.tag != recipe("canary").tag
    with engine.connect() as client:
        client.images.remove(built.tag)
        client.images.remove(recipe("canary", base_source="registry").environment_tag)
        client.images.remove(reference)


@pytest.mark.docker
def test_a_registry_that_does_not_answer_is_never_replaced(checkout: Path) -> None:
    _name_base(checkout, "127.0.0.1:9/base@" + _digest(b"nothing"))
    steps: list[str] = []
    with pytest.raises(LevelfieldError, match="cannot be pulled"):
        build("canary", base_source="registry", progress=steps.append)
    assert not any("Debian" in step for step in steps)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("name", "own"), [("canary", "slim"), pytest.param("jax", "slim-trixie", marks=pytest.mark.extended)]
)
def test_the_base_made_again_is_the_same_bytes_as_the_one_in_the_image(name: str, own: str, tmp_path: Path) -> None:
    image = build(name)
    base.make(debian.lock_of(own), own, tmp_path / "base.tar")
    with (tmp_path / "base.tar").open("rb") as stream:
        assert image.layers[0] == "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


@pytest.fixture
def lock(monkeypatch: pytest.MonkeyPatch) -> BaseLock:
    """A lock of three packages, made ten days ago."""
    made = dt.datetime.now(dt.UTC) - dt.timedelta(days=10, hours=1)
    own = debian.read_lock()
    found = msgspec.structs.replace(own, packages=own.packages[:3], epoch=int(made.timestamp()))
    monkeypatch.setattr(debian, "read_lock", lambda _release: found)
    return found


@pytest.mark.docker
def test_what_no_mirror_has_any_more_is_named(sources: Sources, lock: BaseLock) -> None:
    first, second, third = lock.packages
    for server, package in ((sources.chosen, first), (sources.public, second)):
        server.files[f"/{package.archive}/{package.path}"] = bytes(package.size_bytes)
    found, _ = base.check()
    assert (found.archived, found.unknown, found.age_days) == ((third.title,), (), 10)
    assert sources.snapshot.asked == []


@pytest.fixture
def older() -> dict[str, BaseLock]:
    """The base of a report whose checkout locked other packages, by its label."""
    own = debian.lock_of("slim").only("slim")
    lock = msgspec.structs.replace(own, epoch=own.epoch - 3600, packages=own.packages[1:])
    return {f"debian slim {base.identity_of(lock, 'slim')}": lock}


def test_a_run_names_every_package_of_its_bases() -> None:
    own = msgspec.structs.replace(image(), base=base.describe("slim").label)
    pulled = msgspec.structs.replace(image(), base="registry slim sha256:0")
    assert base.recorded([own, own, pulled], "debian") == {own.base: debian.lock_of("slim").only("slim")}


def test_the_base_of_a_report_is_made_again_and_not_that_of_the_checkout(older: dict[str, BaseLock]) -> None:
    source = base.keep(older)
    ((label, lock),) = older.items()
    made = base.describe("slim", source)
    assert (made.label, made.lock) == (label, lock)
    assert base.describe("slim").label != label
    assert recipe("canary", base_source=source).base == made
    assert base.recorded([msgspec.structs.replace(image(), base=label)], source) == older


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "../bash"),
        ("version", "1/../../x"),
        ("architecture", "../x"),
        ("sha256", "0" * 63),
        ("sha1", ""),
        ("path", "pool/../../x.deb"),
        ("path", "http://mirror.test/pool/main/b/bash/x.deb"),
        ("archive", "mirror.test"),
        ("size_bytes", -1),
    ],
)
def test_a_package_without_the_form_of_one_is_refused(field: str, value: object, older: dict[str, BaseLock]) -> None:
    plain: Any = msgspec.to_builtins(older)
    next(iter(plain.values()))["packages"][0][field] = value
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(plain, dict[str, BaseLock])


def test_packages_that_do_not_make_the_named_base_are_refused(older: dict[str, BaseLock]) -> None:
    ((label, lock),) = older.items()
    changed = msgspec.structs.replace(lock, packages=lock.packages[1:])
    for name, content in ((label, changed), (label.replace("slim", "../x"), lock), ("", lock), ("registry x y", lock)):
        with pytest.raises(LevelfieldError, match="do not make its base"):
            base.keep({name: content})
