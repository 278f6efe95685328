"""What stops pip, each cause for real, and what is said of it."""

import contextlib
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import programs, registries, wheels
from tests.commands import eventually
from tests.conftest import mounted
from tests.images.test_wheels import _lock, make_wheel
from tests.known import known
from tests.launchers.scripts import gone
from tests.servers import certificate, encrypted


class _Refusing(http.server.BaseHTTPRequestHandler):
    """An index and a proxy that refuse."""

    def do_GET(self) -> None:
        self.send_error(403)

    def do_CONNECT(self) -> None:
        self.send_error(407)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving(*pair: Path) -> Iterator[int]:
    """Yield the port of a server that refuses."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing)
    if pair:
        encrypted(server, *pair)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """Yield the port of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("PIP_") or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cause", ["refused", "time-out", "name", "access", "proxy", "certificate"])
def test_what_keeps_pip_from_its_index_is_told_apart(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    lock = _lock(make_wheel(tmp_path / "wheel"))
    with serving() as refusing, serving(*certificate(tmp_path)) as untrusted, silent() as mute:
        settings, says, fix = {
            "refused": ({"PIP_INDEX_URL": "http://127.0.0.1:9/simple"}, "cannot be reached", "index-url"),
            "time-out": (
                {"PIP_INDEX_URL": f"http://127.0.0.1:{mute}/simple", "PIP_DEFAULT_TIMEOUT": "1"},
                "did not answer in time",
                "PIP_DEFAULT_TIMEOUT",
            ),
            "name": ({"PIP_INDEX_URL": "https://nowhere.invalid/simple"}, "index nowhere.invalid is not known", "DNS"),
            "access": ({"PIP_INDEX_URL": f"http://127.0.0.1:{refusing}/simple"}, "refuses access", "password"),
            "proxy": (
                {"PIP_INDEX_URL": "https://index.invalid/simple", "HTTPS_PROXY": f"http://127.0.0.1:{refusing}"},
                "the proxy refuses",
                "HTTPS_PROXY",
            ),
            "certificate": ({"PIP_INDEX_URL": f"https://127.0.0.1:{untrusted}/simple"}, "not trusted", "PIP_CERT"),
        }[cause]
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(LevelfieldError) as caught:
            wheels.fetch(lock)
    assert says in caught.value.message
    assert fix in caught.value.fix
    assert "://" not in caught.value.message, "addresses may hold passwords"


@pytest.mark.parametrize(
    "complaint",
    [
        (
            "URL https://me:secret@far.invalid/torch/: HTTPSConnectionPool(host='far.invalid', port=443): "
            "[Errno -2] Name or service not known\nCould not fetch URL https://near.example/: 404"
        ),
        "WARNING: Retrying after 'Name or service not known': /torch/\nCould not fetch URL https://far.invalid/torch/",
        "error: Failed to fetch: `https://me:secret@far.invalid/torch/`\n  Caused by: dns error: failed to lookup",
    ],
)
def test_the_index_is_named_by_its_host_alone(tmp_path: Path, complaint: str) -> None:
    found = known(programs.reason(complaint, tmp_path))
    assert found.sentence == "the name of the package index far.invalid is not known here"


def test_what_to_do_without_a_public_index_is_said(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", tmp_path.as_uri())
    lock = _lock(make_wheel(tmp_path / "wheel"), version="1.0+cpu")
    public = registries.Index("far", "https://far.invalid/cpu", ("tiny",), ("cpu",))
    monkeypatch.setattr(registries, "indexes", lambda _: (public,))
    with pytest.raises(LevelfieldError, match=r"package index far\.invalid is not known") as caught:
        wheels.fetch(lock)
    assert "docs/versions.md, PyTorch" in caught.value.fix


@pytest.mark.parametrize(
    ("complaint", "says"),
    [
        ("127.0.0.1 didn't respond within 1.0 seconds", "did not answer in time"),
        ("connection error: the connection was closed without a reply from the server.", "cannot be reached"),
    ],
)
def test_what_pip_26_says_has_the_same_reasons(tmp_path: Path, complaint: str, says: str) -> None:
    found = programs.reason(f"Could not fetch URL http://127.0.0.1/simple/tiny/: {complaint} - skipping", tmp_path)
    assert says in known(found).sentence


@pytest.mark.parametrize(
    ("options", "says"), [("512k", "the disk is full"), ("8m,nr_inodes=11", "the disk has no inode left")]
)
def test_a_disk_that_is_full_is_not_called_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, says: str
) -> None:
    lock = _lock(make_wheel(tmp_path / "index", "X = '" + os.urandom(300_000).hex() + "'\n"))
    with mounted(tmp_path / "disk", options) as disk:
        monkeypatch.setenv("LEVELFIELD_CACHE", str(disk))
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
        with pytest.raises(LevelfieldError) as caught:
            wheels.fetch(lock)
    assert says in caught.value.message.lower()
    assert "levelfield images clean" in caught.value.fix


def test_a_program_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from levelfield.images import programs\n"
        f"programs.run([sys.executable, '-c', 'import os, time; from pathlib import Path;"
        f' Path("{tmp_path}/pid").write_text(str(os.getpid())); time.sleep(1000)\'])'
    )
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        assert eventually(lambda: (tmp_path / "pid").is_file() and (tmp_path / "pid").read_text() != "")
        process.send_signal(signal.SIGKILL)
    assert eventually(lambda: gone(int((tmp_path / "pid").read_text())))


def test_what_a_program_leaves_is_not_in_the_system_s_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv keeps a whole cache there, and cannot remove it when it is killed."""
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    done = programs.run([sys.executable, "-c", "import tempfile; print(tempfile.mkdtemp())"])
    made = Path(done.stdout.strip())
    assert made.is_relative_to(tmp_path / "temporary")
    assert not made.exists()
