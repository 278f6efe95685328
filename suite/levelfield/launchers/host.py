"""Workers that are processes of this machine: from virtual environments, or in the current interpreter.

The latter takes whatever frameworks are installed: for machines with neither engine nor network. The channel to a
worker is its pipes.
"""

import contextlib
import os
import platform
import signal
import site
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from levelfield.errors import LevelfieldError
from levelfield.images import environments, worker_code
from levelfield.images.wheels import Progress
from levelfield.launchers import disk_limit
from levelfield.launchers.channel import (
    READS_AT_ONCE,
    Channel,
    ChannelClosed,
    ChannelTimeout,
    Ending,
    read_some,
    send_all,
    wait_readable,
)
from levelfield.launchers.protocol import Launcher, LaunchSpec, gpu_environment, memory_environment, worker_environment
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.paths import package_root, remove_tree
from levelfield.record.schema import Image


class ProcessChannel(Channel):
    """Start `command` in a process group of its own and talk to it over pipes.

    `environment`: the whole of it. `folder`: its working directory. `owned`: folder that is removed when it has ended.
    """

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path, owned: Path | None = None
    ) -> None:
        self._owned = owned
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
            bufsize=0,
        )
        super().__init__(self._process.pid)
        if self._process.stdin is None or self._process.stdout is None or self._process.stderr is None:
            raise RuntimeError("A process was started without its pipes.")
        self._stdin = self._process.stdin
        self._stdout = self._process.stdout
        self._stderr = self._process.stderr
        os.set_blocking(self._stdin.fileno(), False)
        self._open = {self._stdout.fileno(): "stdout", self._stderr.fileno(): "stderr"}

    def send(self, line: bytes) -> None:
        if self._stdin.closed:
            raise ChannelClosed
        send_all(self._stdin.fileno(), line + b"\n")

    def descriptors(self) -> tuple[int, ...]:
        return tuple(self._open)

    def _at_end(self) -> bool:
        return "stdout" not in self._open.values()

    def _read(self, ready: Sequence[int]) -> None:
        for descriptor in ready:
            chunk = read_some(descriptor)
            if not chunk:
                del self._open[descriptor]
            elif self._open[descriptor] == "stdout":
                self._lines.feed(chunk)
            else:
                self._lines.feed_stderr(chunk)

    def stderr_tail(self) -> str:
        if self._stderr.closed:
            return super().stderr_tail()
        os.set_blocking(self._stderr.fileno(), False)
        with contextlib.suppress(OSError):
            for _ in range(READS_AT_ONCE):
                if self._stderr.fileno() not in self._open or not (chunk := read_some(self._stderr.fileno())):
                    break
                self._lines.feed_stderr(chunk)
        return super().stderr_tail()

    def end(self, grace_s: float) -> None:
        with contextlib.ExitStack() as cleanup:
            if self._owned is not None:
                cleanup.callback(remove_tree, self._owned)
            with contextlib.suppress(OSError):
                self._stdin.close()
            if not self._exits(grace_s):
                self._killed_here = True
                self._kill_group()
                self._process.wait()
            self._kill_group()  # compilers a worker started may outlive it
            self.stderr_tail()
            self._stdout.close()
            self._stderr.close()
            self._open.clear()

    def _exits(self, grace_s: float) -> bool:
        """Wait for the exit, and drop its output meanwhile: a full pipe must not keep it from exiting."""
        self._lines.drop()
        deadline = time.monotonic() + grace_s
        ended = os.pidfd_open(self._process.pid)
        try:
            while ended not in (ready := wait_readable([*self._open, ended], deadline)):
                self._read(ready)
        except ChannelTimeout:
            return self._process.poll() is not None
        finally:
            os.close(ended)
        self._process.wait()
        return True

    def ending(self) -> Ending:
        return Ending(self._process.returncode, out_of_memory=False, killed_here=self._killed_here)

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


SERVE = ("-P", "-m", "levelfield.worker")


class VenvLauncher(Launcher):
    """Launch workers as child processes, each from the environment that its lock describes."""

    kind: Literal["docker", "venv", "host"] = "venv"

    def __init__(self) -> None:
        self._environments: dict[str, environments.Environment] = {}

    def prepare(self, image: str, variant: str, version: str | None, progress: Progress) -> Image:
        environment = environments.make(image, variant, version=version, progress=progress)
        self._environments[environment.image.tag] = environment
        return environment.image

    def launch(self, spec: LaunchSpec) -> Worker:
        found = self._environments[spec.image.tag]
        variables = _variables(spec)
        return start_process([str(found.python), *SERVE], spec.name, variables, found.worker_code)


def _variables(spec: LaunchSpec, passed_on: Mapping[str, str] = {}) -> dict[str, str]:
    fixed = worker_environment(threads=spec.threads, cpus=spec.cpus, padding_bytes=spec.padding_bytes)
    gpu = gpu_environment(spec.gpu, str(spec.cache or ""))
    return {**fixed, **memory_environment(spec.memory_nodes), **passed_on, **gpu}


def start_process(command: list[str], name: str, variables: dict[str, str], code: Path) -> Worker:
    """Start a worker process with `code` on its path and a private home and temporary folder.

    Raises WorkerError: the program cannot be started.
    """
    owned = disk_limit.make()
    home = owned / "home"
    home.mkdir()
    started_ns = time.perf_counter_ns()
    try:
        channel = ProcessChannel(
            command,
            environment={**variables, "HOME": str(home), "TMPDIR": str(home), "PYTHONPATH": str(code)},
            folder=home,
            owned=owned,
        )
    except OSError as error:
        remove_tree(owned)
        raise WorkerError("error", f"{name} could not be started: {error.strerror or error}.") from error
    return Worker(name, channel, started_ns=started_ns)


PASSED_ON = (
    "PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_HOME",
    "CUDA_PATH", "TRITON_LIBCUDA_PATH", "TRITON_PTXAS_PATH",
)  # fmt: skip
"""Variables without which an interpreter, or a compiler that a framework brings, may not find its own libraries."""


class HostLauncher(Launcher):
    """Launch workers with `sys.executable`: nothing is locked, and the record says so."""

    kind: Literal["docker", "venv", "host"] = "host"

    def prepare(self, image: str, variant: str, version: str | None, progress: Progress) -> Image:
        if version is not None:
            raise LevelfieldError(
                f"The host launcher runs what is installed here, not {image} {version}.",
                fix="Leave out --launcher host: versions need images or virtual environments.",
            )
        progress(f"using this interpreter for {image}")
        return Image(
            name=image,
            variant=variant,
            launcher="host",
            tag=f"host:{image}",
            python=platform.python_version(),
            architecture=platform.machine(),
            plugins=worker_code.distributions(image),
            unlocked="It ran in the interpreter that Levelfield itself runs in, with whatever is installed there.",
        )

    def launch(self, spec: LaunchSpec) -> Worker:
        variables = _variables(spec, {name: os.environ[name] for name in PASSED_ON if name in os.environ})
        # A worker has another home, and so no folder of the user's own packages but the one that this process has.
        user_site = site.getusersitepackages() if site.getusersitepackages() in sys.path else ""
        folders = (str(package_root().parent), variables.get("PYTHONPATH", ""), user_site)
        code = Path(os.pathsep.join(filter(None, folders)))
        return start_process([sys.executable, *SERVE], spec.name, variables, code)
