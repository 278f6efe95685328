import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from levelfield import paths
from levelfield.images import debian, engine, worker_code
from levelfield.images.build import build
from levelfield.record.schema import Image
from tests.servers import FileServer, Sources


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the checkout whose files a test may change, with a cache of its own."""
    source = paths.package_root().parents[1]
    copy = tmp_path / "checkout"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source / "images", copy / "images", ignore=ignore)
    shutil.copytree(source / "suite", copy / "suite", ignore=ignore)
    monkeypatch.setattr(paths, "package_root", lambda: copy / "suite" / "levelfield")
    monkeypatch.setattr(worker_code, "package_root", lambda: copy / "suite" / "levelfield")
    return copy


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    with engine.connect() as connected:
        yield connected


@pytest.fixture(scope="module")
def canary() -> Image:
    return build("canary")


@pytest.fixture
def serve() -> Iterator[Callable[[], FileServer]]:
    """Start servers that end with the test."""
    running: list[tuple[FileServer, threading.Thread]] = []

    def start() -> FileServer:
        server = FileServer()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of apt's configuration."""
    folder = tmp_path / "apt"
    (folder / "sources.list.d").mkdir(parents=True)
    monkeypatch.setattr(debian, "_APT", folder)
    return folder


@pytest.fixture
def sources(serve: Callable[[], FileServer], apt: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    found = Sources(serve)
    (apt / "sources.list").write_text(f"deb {found.host.address}/debian-security bookworm-security main\n")
    text = (paths.images_root() / "indexes.toml").read_text()
    text = re.sub(r"https?://(deb.debian.org)", found.public.address, text)
    (apt / "indexes.toml").write_text(re.sub("https://snapshot.debian.org", found.snapshot.address, text))
    monkeypatch.setattr(debian, "images_root", lambda: apt)
    monkeypatch.setenv(
        debian.MIRRORS, " ".join(f"{found.chosen.address}/{name}" for name in ("debian", "debian-security"))
    )
    return found
