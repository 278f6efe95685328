"""Servers of files that tests start: what they have, how they misbehave, and what they were asked."""

import shutil
import socketserver
import ssl
import subprocess
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate of this machine that nobody else has signed, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("There is no openssl here that makes a certificate.")
    made, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    return made, key


def encrypted(server: socketserver.TCPServer, made: Path, key: Path) -> None:
    """Let a server speak TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)


class FileServer(ThreadingHTTPServer):
    """One that serves bytes by their path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.kind = "application/octet-stream"
        self.code = 200
        self.cut_bytes: int | None = None
        """Where the next answer ends too early."""
        self.delay_s = 0.0
        self.silent = False
        """Whether it hangs up in place of an answer."""
        self.asked: list[tuple[str, str]] = []
        """Paths and ranges."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range", "")
        server.asked.append((self.path, wanted))
        if server.silent:
            self.close_connection = True
            return
        time.sleep(server.delay_s)
        content = server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self.send_response(206 if wanted else server.code)
        self.send_header("Content-Type", server.kind)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if self.command == "GET":
            end, server.cut_bytes = server.cut_bytes, None
            self.wfile.write(content[start:end])

    do_HEAD = do_GET  # noqa: N815  (the name is the library's)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is the library's)
        pass


class Sources:
    """All that may have a Debian package, each a server of its own."""

    def __init__(self, serve: Callable[[], FileServer]) -> None:
        self.chosen, self.host, self.public, self.snapshot = serve(), serve(), serve(), serve()

    def asked(self) -> list[int]:
        return [len(server.asked) for server in (self.chosen, self.host, self.public, self.snapshot)]
