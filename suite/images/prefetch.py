"""Wheels fetched by a process of its own, which stands still while something is measured."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence

from suite.errors import LevelfieldError
from suite.images import catalogue, wheels
from suite.record.references import parse


class Prefetch:
    """Fetch the wheels of some images in the background; what cannot be fetched is tried again when it is needed.

    Parameters
    ----------
    names
        Images, as `suite.record.references` spells them, in the order in which they are wanted.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Begin to fetch; the kernel kills the process if this one is killed, even while it stands still."""
        setpriv = shutil.which("setpriv")
        bound = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv is not None else []
        self._process = subprocess.Popen(
            [*bound, sys.executable, "-m", __name__, *self._names],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Let nothing be fetched within the block: the process and its children are stopped."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def end(self) -> None:
        """Wait for nothing more: end what has not been fetched. Safe to call twice, and before `begin`."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


def main(names: Sequence[str]) -> None:
    """Fetch the wheels of images, one image after the other."""
    for name in map(parse, names):
        with contextlib.suppress(LevelfieldError):
            wheels.fetch(catalogue.lock(name.name, name.variant, name.version))


if __name__ == "__main__":
    main(sys.argv[1:])
