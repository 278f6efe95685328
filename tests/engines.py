"""What tests need to know of the container engine: whose containers are there, and a way to cut it off."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import docker
import psutil
import pytest
from docker.errors import DockerException

from levelfield.images.build import build
from levelfield.launchers.docker import LABEL
from tests.commands import eventually


def containers(engine: docker.DockerClient, owner: int | None = None) -> list[Any]:
    """Return the containers of one supervisor: this process, unless told otherwise."""
    mark = f"{owner or os.getpid()}:"
    found = engine.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
    return [each for each in found if each.labels[LABEL].startswith(mark)]


def none_left(engine: docker.DockerClient, owner: int | None = None) -> bool:
    return eventually(lambda: not containers(engine, owner))


def said_inside(engine: docker.DockerClient, image: str, code: str, *words: str) -> dict[str, Any]:
    """Run code in a CPU image of ours, with what workers have, and return the JSON object that it prints last."""
    output = engine.containers.run(
        build(image).tag,
        ["-P", "-c", code, *words],
        entrypoint="/opt/levelfield/env/bin/python",
        environment={"HOME": "/tmp"},
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        tmpfs={"/tmp": "rw,exec"},
        remove=True,
    )
    answer: dict[str, Any] = json.loads(output.splitlines()[-1])
    return answer


def nothing_runs(engine: docker.DockerClient, owner: int) -> bool:
    """Whether nothing of a killed supervisor's runs any more.

    A kill between a container's creation and its start leaves one that never ran; the next run sweeps it away.
    """
    return eventually(lambda: all(each.status == "created" for each in containers(engine, owner)))


def remove(folder: Path) -> None:
    """Remove a folder of an engine, and what is mounted in it."""
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for place in sorted((place for place in mounted if place.startswith(str(folder))), reverse=True):
        subprocess.run(["umount", "--lazy", place], check=False)
    shutil.rmtree(folder, ignore_errors=True)


def _hide(folder: Path) -> str:
    return f"mount -t tmpfs tmpfs {shlex.quote(str(folder))} && "


class PrivateEngine:
    """An engine of our own, which may be killed: its own folders, no network, beside the one that everybody uses.

    Parameters
    ----------
    hidden
        Folders in whose place it sees empty ones: it has a mount namespace of its own.
    options
        Further ones of `dockerd`.
    """

    def __init__(self, *hidden: Path, options: Sequence[str] = ()) -> None:
        if os.getuid() != 0 or shutil.which("dockerd") is None:
            pytest.skip("Starting a second engine needs root and dockerd.")
        self._hidden = hidden
        self._options = options
        self.folder = Path(tempfile.mkdtemp(prefix="levelfield-engine-"))
        self.host = f"unix://{self.folder}/socket"
        self._log = (self.folder / "log").open("wb")
        self._start()

    def _start(self) -> None:
        folders = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "pid"}
        self._process = subprocess.Popen(
            # In a network namespace of its own: an engine without a bridge deletes the one that is there, `docker0`.
            [
                "unshare", "--net", "--mount", "sh", "-c",
                "".join(map(_hide, self._hidden)) + 'ip link set lo up; exec "$@"', "sh",
            ]
            + ["dockerd", "--host", self.host, "--bridge=none", "--iptables=false"]
            + [*self._options]
            + [word for option, name in folders.items() for word in (option, str(self.folder / name))],
            stdout=self._log,
            stderr=self._log,
        )  # fmt: skip
        assert eventually(lambda: self._process.poll() is not None or self._answers()), self.log()
        assert self._process.poll() is None, self.log()

    def _answers(self) -> bool:
        # The SDK forgets the socket that it could not connect.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as knock:
            knock.connect(self.host.removeprefix("unix://"))
            with contextlib.suppress(DockerException), contextlib.closing(docker.DockerClient(self.host)) as client:
                return bool(client.ping())
        return False

    @property
    def pid(self) -> int:
        return self._process.pid

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]

    def load(self, engine: docker.DockerClient, *tags: str) -> None:
        """Give it images that another engine has."""
        with contextlib.closing(docker.DockerClient(self.host)) as client:
            for tag in tags:
                client.images.load(b"".join(engine.api.get_image(tag)))

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def restart(self) -> None:
        # The processes of these numbers are dead, but may not have been waited for, or others have the numbers by now.
        for name in ("pid", "exec/containerd/containerd.pid"):
            (self.folder / name).unlink(missing_ok=True)
        self._start()

    def close(self) -> None:
        """End it and all that it started, and give its disk back."""
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()
        for process in psutil.process_iter(["cmdline"]):
            if any(str(self.folder) in word for word in process.info["cmdline"] or ()):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self._log.close()
        remove(self.folder)
