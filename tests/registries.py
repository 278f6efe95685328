"""A container registry of our own: Debian's `docker-registry` on this machine, in a temporary folder."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import urllib.request
from pathlib import Path

import pytest

from tests.commands import eventually

PROGRAM = "docker-registry"
_CONFIGURATION = """\
version: 0.1
storage:
  filesystem:
    rootdirectory: {folder}/data
http:
  addr: {address}
"""


class Registry:
    """A registry that engines on this machine reach without TLS: they do so for all addresses of the loopback."""

    def __init__(self) -> None:
        if shutil.which(PROGRAM) is None:
            pytest.skip(f"There is no {PROGRAM} here (Debian: apt-get install {PROGRAM}).")
        self._folder = Path(tempfile.mkdtemp(prefix="levelfield-registry-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        text = _CONFIGURATION.format(folder=self._folder, address=self.address)
        (self._folder / "config.yml").write_text(text)
        self._log = (self._folder / "log").open("wb")
        self._process = subprocess.Popen(
            [PROGRAM, "serve", str(self._folder / "config.yml")], stdout=self._log, stderr=self._log
        )
        assert eventually(lambda: self._process.poll() is not None or self._answers()), self.log()
        assert self._process.poll() is None, self.log()

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.address}/v2/", timeout=5):
                return True
        except OSError:
            return False

    def log(self) -> str:
        return (self._folder / "log").read_text(errors="replace")[-2000:]

    def close(self) -> None:
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._process.kill()
        self._process.wait()
        self._log.close()
        shutil.rmtree(self._folder)
