import hashlib
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import fetching
from levelfield.images.fetching import Reason, Wanted
from levelfield.images.wheels import silent
from tests.servers import FileServer, certificate, encrypted

CONTENT = bytes(range(256)) * 1600
LOST = "Lock again."


@pytest.fixture
def wanted(tmp_path: Path) -> Wanted:
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    return Wanted("tiny 1.0", tmp_path / "tiny.deb", sha256, len(CONTENT), ())


def _fetch(wanted: Wanted, *addresses: str, timeout_s: float = 5.0) -> None:
    file = msgspec.structs.replace(wanted, addresses=addresses)
    fetching.fetch([file], lost=LOST, progress=silent, timeout_s=(timeout_s, timeout_s))


def _with(server: FileServer, content: bytes = CONTENT) -> str:
    server.files["/pool/tiny.deb"] = content
    return f"{server.address}/pool/tiny.deb"


def test_the_first_address_that_has_the_file_gives_it(serve: Callable[[], FileServer], wanted: Wanted) -> None:
    lost, other, page, good, last = (serve() for _ in range(5))
    page.kind = "text/html; charset=utf-8"
    addresses = [f"{lost.address}/pool/tiny.deb", _with(other, CONTENT[::-1]), _with(page), _with(good), _with(last)]
    _fetch(wanted, *addresses)
    assert wanted.path.read_bytes() == CONTENT
    assert [len(server.asked) for server in (lost, other, page, good, last)] == [1, 1, 1, 1, 0]
    assert list(wanted.path.parent.iterdir()) == [wanted.path]


def test_an_answer_that_breaks_off_is_continued(serve: Callable[[], FileServer], wanted: Wanted) -> None:
    server = serve()
    server.cut_bytes = 300_000
    _fetch(wanted, _with(server))
    assert wanted.path.read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == ["", f"bytes={2 * fetching._CHUNK_BYTES}-"]


def test_what_was_begun_elsewhere_is_begun_again_where_it_does_not_fit(
    serve: Callable[[], FileServer], wanted: Wanted
) -> None:
    server = serve()
    (wanted.path.parent / ".tiny.deb.partial").write_bytes(b"login required")
    _fetch(wanted, _with(server))
    assert wanted.path.read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == ["bytes=14-", ""]


def test_no_more_than_the_locked_size_is_taken(serve: Callable[[], FileServer], wanted: Wanted) -> None:
    server = serve()
    with pytest.raises(LevelfieldError, match="another file than the locked one at 127"):
        _fetch(wanted, _with(server, CONTENT + b"more"))
    assert list(wanted.path.parent.iterdir()) == []


def test_a_host_that_cannot_be_reached_is_not_asked_for_every_file(
    serve: Callable[[], FileServer], wanted: Wanted, tmp_path: Path
) -> None:
    silent_one, good = serve(), serve()
    silent_one.silent = True
    addresses = (_with(silent_one), _with(good))
    files = [msgspec.structs.replace(wanted, path=tmp_path / str(index), addresses=addresses) for index in range(40)]
    fetching.fetch(files, lost=LOST, progress=silent)
    assert all(file.path.read_bytes() == CONTENT for file in files)
    assert len(silent_one.asked) <= 2 * fetching._THREADS


def _closed() -> str:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listening.getsockname()[1]}/pool/tiny.deb"


@pytest.mark.parametrize(
    ("code", "kind", "content", "reason", "fix"),
    [
        (200, "application/octet-stream", CONTENT[::-1], Reason.OTHER, "another mirror"),
        (200, "text/html", CONTENT, Reason.PAGE, "Log in"),
        (403, "text/plain", CONTENT, Reason.REFUSED, "later"),
        (407, "text/plain", CONTENT, Reason.PROXY, "https_proxy"),
        (410, "text/plain", CONTENT, Reason.GONE, LOST),
        (503, "text/plain", CONTENT, Reason.REFUSED, "later"),
    ],
)
def test_what_a_server_answers_is_told_apart(
    code: int, kind: str, content: bytes, reason: Reason, fix: str, serve: Callable[[], FileServer], wanted: Wanted
) -> None:
    server = serve()
    server.code, server.kind = code, kind
    with pytest.raises(LevelfieldError, match=f"tiny 1.0 cannot be fetched: {reason} at 127") as caught:
        _fetch(wanted, _with(server, content))
    assert fix in caught.value.fix


def test_why_no_server_answers_is_told_apart(
    serve: Callable[[], FileServer], wanted: Wanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = serve()
    slow.delay_s = 5.0
    closed = _closed()
    for address, reason, fix in (
        ("http://mirror.invalid/tiny.deb", Reason.NAME, "name server"),
        (closed, Reason.CLOSED, "run the command again"),
        (_with(slow), Reason.SLOW, "run the command again"),
    ):
        with pytest.raises(LevelfieldError, match=str(reason)) as caught:
            _fetch(wanted, address, timeout_s=0.2)
        assert fix in caught.value.fix
    monkeypatch.setenv("http_proxy", closed)
    with pytest.raises(LevelfieldError, match=Reason.PROXY) as caught:
        _fetch(wanted, "http://mirror.invalid/tiny.deb")
    assert "http_proxy" in caught.value.fix


def test_certificates_come_from_the_environment(
    serve: Callable[[], FileServer], wanted: Wanted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    server = serve()
    own, key = certificate(tmp_path)
    encrypted(server, own, key)
    address = _with(server).replace("http:", "https:")
    with pytest.raises(LevelfieldError, match=Reason.CERTIFICATE) as caught:
        _fetch(wanted, address)
    assert "SSL_CERT_FILE" in caught.value.fix
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    _fetch(wanted, address)
    assert wanted.path.read_bytes() == CONTENT


def test_a_full_disk_is_said(small_disk: Path, serve: Callable[[], FileServer], wanted: Wanted) -> None:
    content = bytes(100_000)
    file = msgspec.structs.replace(wanted, path=small_disk / "tiny.deb", size_bytes=len(content))
    with pytest.raises(LevelfieldError, match="The disk is full"):
        _fetch(file, _with(serve(), content))
