"""What a launcher is: it prepares images, starts workers in them, and leaves nothing behind."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from suite.launchers.worker import Worker
from suite.records.schema import Image

READY_TIMEOUT_S = 60.0
"""A container starts in half a second; a machine under load may need many times that."""

Progress = Callable[[str], None]
"""Is told in a few words what is being done now."""


class LaunchSpec(msgspec.Struct, frozen=True):
    """One worker to start."""

    name: str
    """For people and labels: the arm and case."""
    image: Image
    threads: int
    """Of every process in it."""
    cpus: tuple[int, ...]
    memory_bytes: int
    artifacts: Path
    """Folder that the worker may read."""
    cache: Path | None = None
    """Folder that the worker may write its compile cache into."""
    export: Path | None = None
    """Folder that an exporter may write into."""
    gpu: str = ""
    """UUID of the one GPU that the worker may use; empty: none."""


class Inside(msgspec.Struct, frozen=True):
    """The folders of a `LaunchSpec` under the names the worker knows them by."""

    artifacts: str
    cache: str | None
    export: str | None


class Launcher(Protocol):
    """A place where workers live."""

    kind: Literal["docker", "venv", "host"]

    def prepare(self, image: str, variant: str, version: str | None, progress: Progress) -> Image:
        """Make the image ready (build it, install it, or look at what is there) and say exactly what it is."""
        ...

    def inside(self, spec: LaunchSpec) -> Inside: ...

    def launch(self, spec: LaunchSpec) -> Worker:
        """Start a worker and return at once; `Worker.await_ready` waits for its first line.

        Raises
        ------
        LevelfieldError
            When nothing can be launched any more (the engine is gone).
        WorkerError
            When this one worker could not be started.
        """
        ...

    def sweep(self) -> int:
        """Remove what earlier, killed supervisors left behind; return how many."""
        ...
