"""Images and folders of other tools, and their answers."""

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from levelfield.errors import LevelfieldError
from levelfield.images.build import build
from levelfield.launchers.docker import NOBODY
from studies.harness.contestants import Reading, Target, last_answer
from studies.harness.optimum_benchmark_program import ANSWER

PYPERF, OPTIMUM_BENCHMARK = "peer-pyperf", "peer-optimum-benchmark"
"""Images."""
TIMEOUT_S = 900.0


class Answer(msgspec.Struct, frozen=True):
    """What a tool answers; its supervisor's CPU time is a share of one core."""

    median_ns: float
    calls: int
    supervisor_share: float | None
    wall_s: float


def in_image(target: Target, image: str) -> Target:
    """Return the same target in another image."""
    return target._replace(other_image=build(image).tag)


def reading_of(output: str, name: str) -> Reading:
    """Read a tool's answer out of what it printed; raises LevelfieldError where there is none, or no time."""
    found = last_answer(output, ANSWER, Answer, name)
    if not found.median_ns > 0 or found.calls < 1:
        raise LevelfieldError(f"{name} answered that a call takes {found.median_ns} ns, of {found.calls} calls.")
    return Reading(found.median_ns, found.calls, found.supervisor_share)


class Workspace:
    """Folders that containers see, removed in the end: `/trial` and `/model` read-only, `/out` for results."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="levelfield-trial-"))
        self.root.chmod(0o755)
        for name in ("trial", "out", "model"):
            (self.root / name).mkdir()
        self.out = self.root / "out"
        if os.getuid() == 0:
            os.chown(self.out, NOBODY, NOBODY)

    def keep(self, name: str, content: bytes) -> None:
        """Write a file that containers see under `/trial`."""
        path = self.root / "trial" / name
        path.write_bytes(content)
        path.chmod(0o644)

    def folders(self, *names: str) -> dict[str, tuple[Path, str]]:
        """Return some of the folders as `plain_container` takes them."""
        return {f"/{name}": (self.root / name, "rw" if name == "out" else "ro") for name in names}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
