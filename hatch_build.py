"""Names the commit of a build in `levelfield/_commit`: as git says it, or the source distribution that is built."""

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Commit(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        kept = Path(self.root) / "COMMIT"
        file = kept if kept.is_file() else self._described()
        if version == "editable" or file is None:
            return
        build_data["force_include"][str(file)] = "COMMIT" if self.target_name == "sdist" else "levelfield/_commit"

    def _described(self) -> Path | None:
        if not (Path(self.root) / ".git").exists():
            return None  # a folder above may be another repository
        words = ["git", "-C", self.root, "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"]
        try:
            found = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return None
        file = Path(tempfile.mkdtemp()) / "COMMIT"
        file.write_text(found, encoding="utf-8")
        return file
