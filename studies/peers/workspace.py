"""Folders that containers of other tools see, made for one trial and removed in the end."""

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from suite.launchers.docker import NOBODY


class Workspace:
    """Folders that containers see, removed in the end: `/trial` read-only, `/out` for results."""

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

    def close(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
