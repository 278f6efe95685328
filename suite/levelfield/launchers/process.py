"""A channel to a worker that is a child process of this one."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

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
                cleanup.callback(shutil.rmtree, self._owned, ignore_errors=True)
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
