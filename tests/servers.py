"""Servers of files that tests start: what they have, how they misbehave, and what they were asked."""

import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FileServer(ThreadingHTTPServer):
    """One that serves bytes by their path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.code = 200
        self.cut_bytes: int | None = None
        """Where every answer ends too early."""
        self.delay_s = 0.0
        self.asked: list[str] = []
        """Paths."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        time.sleep(self.server.delay_s)
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(self.server.code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.server.cut_bytes])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is the library's)
        pass


class Sources:
    """All that may have a Debian package, each a server of its own."""

    def __init__(self, serve: Callable[[], FileServer]) -> None:
        self.chosen, self.public, self.snapshot = serve(), serve(), serve()

    def asked(self) -> list[int]:
        return [len(server.asked) for server in (self.chosen, self.public, self.snapshot)]
