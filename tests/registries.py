"""A container registry of our own: Debian's `docker-registry` on this machine, in a temporary folder."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import urllib.error
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
_WITH_PASSWORDS = """\
auth:
  htpasswd:
    realm: levelfield
    path: {folder}/passwords
"""
_WITH_TLS = """\
  tls:
    certificate: {folder}/certificate.pem
    key: {folder}/key.pem
"""
USER, PASSWORD = "ada", "levelfield"
_ADA = "ada:$2y$05$ykFztpBwklSIKALSy2yRnOhPU6x0JQ7lACgqo29TIzNX7Ez/iaD7K\n"
_NOBODY = "nobody:$2y$05$abcdefghijklmnopqrstuuNyz1xTqeNPyp3YkQ1gWmkQ5hHkD3x3a\n"
"""A user with a hash that no password is known for."""


class Registry:
    """A registry that engines on this machine reach without TLS: they do so for all addresses of the loopback.

    Parameters
    ----------
    passwords
        Whether it lets only those in who log in.
    secure
        Address of this machine, not of the loopback, at which it answers with TLS; empty: without, on the loopback.
    """

    def __init__(self, *, passwords: bool = False, secure: str = "") -> None:
        if shutil.which(PROGRAM) is None:
            pytest.skip(f"There is no {PROGRAM} here (Debian: apt-get install {PROGRAM}).")
        self._folder = Path(tempfile.mkdtemp(prefix="levelfield-registry-"))
        host = secure or "127.0.0.1"
        with socket.socket() as free:
            free.bind((host, 0))
            self.address = f"{host}:{free.getsockname()[1]}"
        self._scheme = "https" if secure else "http"
        places = {"folder": self._folder, "address": self.address}
        text = _CONFIGURATION + (_WITH_TLS if secure else "") + (_WITH_PASSWORDS if passwords else "")
        (self._folder / "config.yml").write_text(text.format(**places))
        (self._folder / "passwords").write_text(_NOBODY + _ADA)
        if secure:
            self._certify(host)
        self._log = (self._folder / "log").open("wb")
        self._process = subprocess.Popen(
            [PROGRAM, "serve", str(self._folder / "config.yml")], stdout=self._log, stderr=self._log
        )
        assert eventually(lambda: self._process.poll() is not None or self._answers()), self.log()
        assert self._process.poll() is None, self.log()

    def _answers(self) -> bool:
        try:
            unchecked = ssl._create_unverified_context()
            with urllib.request.urlopen(f"{self._scheme}://{self.address}/v2/", timeout=5, context=unchecked):
                return True
        except urllib.error.HTTPError as error:
            error.close()
            return error.code == 401
        except OSError:
            return False

    def _certify(self, host: str) -> None:
        """Make a certificate for an address, which is its own authority."""
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=levelfield"]
        command += ["-addext", f"subjectAltName=IP:{host}", "-keyout", str(self._folder / "key.pem")]
        subprocess.run([*command, "-out", str(self.certificate)], check=True, capture_output=True)

    @property
    def certificate(self) -> Path:
        return self._folder / "certificate.pem"

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
