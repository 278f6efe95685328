"""What tests need to know of the container engine: whose containers are there, and a way to cut it off."""

import contextlib
import os
import socket
import threading
from pathlib import Path
from typing import Any

import docker

from suite.launchers.docker import LABEL
from tests.commands import eventually


def containers(engine: docker.DockerClient, owner: int | None = None) -> list[Any]:
    """Return the containers of one supervisor: this process, unless told otherwise."""
    mark = f"{owner or os.getpid()}:"
    found = engine.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
    return [each for each in found if each.labels[LABEL].startswith(mark)]


def none_left(engine: docker.DockerClient, owner: int | None = None) -> bool:
    return eventually(lambda: not containers(engine, owner))


class Cable:
    """A way to the real engine that can be cut: a socket of its own, and every byte passed on."""

    def __init__(self, path: Path, engine: str) -> None:
        self._engine = engine
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._engine)
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, sink: socket.socket) -> None:
        try:
            while chunk := source.recv(1 << 16):
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def cut(self) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
