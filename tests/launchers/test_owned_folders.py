"""Temporary folders that belong to a process."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from levelfield.launchers import owned_folders

KILLED = (
    "import os; from levelfield.launchers import owned_folders;"
    " print(owned_folders.make(), flush=True); os.kill(os.getpid(), 9)"
)


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_the_folder_of_a_killed_process_is_swept_and_ones_own_is_not(tmp_path: Path) -> None:
    own = owned_folders.make()
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    left = Path(done.stdout.strip())
    assert (left / "owner").is_file()
    assert owned_folders.sweep() == 1
    assert list(tmp_path.iterdir()) == [own]


@pytest.mark.parametrize("owner", ["", "1:1", "not a mark", "ä"])
def test_a_folder_whose_owner_is_not_known_stays(tmp_path: Path, owner: str) -> None:
    folder = tmp_path / "levelfield-run-other"
    folder.mkdir()
    (folder / "owner").write_text(owner, encoding="utf-8")
    assert owned_folders.sweep() == 0
    assert folder.is_dir()


def test_a_pipe_in_place_of_the_owner_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "levelfield-run-pipe").mkdir()
    os.mkfifo(tmp_path / "levelfield-run-pipe" / "owner")
    assert owned_folders.sweep() == 0
