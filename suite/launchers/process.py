"""A channel to a worker that is a child process of this one."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from suite.launchers.channel import (
    ChannelClosed,
    ChannelTimeout,
    Ending,
    Lines,
    LineTooLong,
    read_some,
    wait_readable,
)


class ProcessChannel:
    """Start `command` in a process group of its own and talk to it over pipes."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> None:
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
        self.pid: int | None = self._process.pid
        self._lines = Lines()
        if self._process.stdin is None or self._process.stdout is None or self._process.stderr is None:
            raise RuntimeError("A process was started without its pipes.")
        self._stdin = self._process.stdin
        self._stdout = self._process.stdout
        self._stderr = self._process.stderr
        self._open = {self._stdout.fileno(): "stdout", self._stderr.fileno(): "stderr"}
        self._killed_here = False

    def send(self, line: bytes) -> None:
        try:
            self._stdin.write(line + b"\n")
        except OSError as error:
            raise ChannelClosed from error

    def receive(self, timeout_s: float) -> bytes:
        deadline = time.monotonic() + timeout_s
        while (line := self._lines.pop()) is None:
            if "stdout" not in self._open.values():
                raise ChannelClosed
            self._read(deadline)
        return line

    def poll(self) -> bool:
        try:
            while not self._lines.waiting() and "stdout" in self._open.values():
                self._read(0.0)
        except ChannelTimeout:
            return False
        except LineTooLong:
            return True
        return True

    def descriptors(self) -> tuple[int, ...]:
        return tuple(self._open)

    def _read(self, deadline: float) -> None:
        for descriptor in wait_readable(self._open, deadline):
            chunk = read_some(descriptor)
            if not chunk:
                del self._open[descriptor]
            elif self._open[descriptor] == "stdout":
                self._lines.feed(chunk)
            else:
                self._lines.feed_stderr(chunk)

    def stderr_tail(self) -> str:
        if self._stderr.closed:
            return self._lines.tail()
        os.set_blocking(self._stderr.fileno(), False)
        with contextlib.suppress(OSError):
            while self._stderr.fileno() in self._open and (chunk := read_some(self._stderr.fileno())):
                self._lines.feed_stderr(chunk)
        return self._lines.tail()

    def end(self, grace_s: float) -> None:
        with contextlib.suppress(OSError):
            self._stdin.close()
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._killed_here = True
            self._kill_group()
            self._process.wait()
        self._kill_group()  # compilers a worker started may outlive it
        self.stderr_tail()
        self._stdout.close()
        self._stderr.close()
        self._open.clear()

    def ending(self) -> Ending:
        return Ending(code=self._process.returncode, killed_here=self._killed_here)

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
