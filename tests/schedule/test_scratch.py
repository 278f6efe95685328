"""Folders of runs: a killed run's goes, a live one's stays."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from levelfield.launchers import disk_limit
from levelfield.launchers.host import start_process
from levelfield.paths import MARK
from levelfield.schedule import scratch


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_a_killed_runs_folder_is_removed_and_a_live_ones_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path / "cache"))
    killed = (
        "import os, signal; from levelfield.schedule import scratch;"
        " print(scratch.make_folder(), flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", killed], stdout=subprocess.PIPE, check=False)
    left = Path(done.stdout.decode().strip())
    assert left.is_dir()
    mine = scratch.make_folder()
    assert not left.parent.exists()
    assert mine.is_dir()
    scratch.remove(mine)
    assert [each.name for each in (tmp_path / "cache" / "temporary").iterdir()] == [MARK]


def test_folders_of_others_and_links_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "levelfield-run-unmarked").mkdir()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "owner").write_text("1:1")
    (tmp_path / "levelfield-run-link").symlink_to(tmp_path / "thesis")
    (tmp_path / "levelfield-run-pipe").mkdir()
    os.mkfifo(tmp_path / "levelfield-run-pipe" / "owner")
    assert disk_limit.sweep() == 0
    assert (tmp_path / "thesis" / "owner").exists()


def test_the_home_of_a_killed_supervisors_worker_is_removed(tmp_path: Path) -> None:
    killed = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from levelfield.launchers.host import start_process\n"
        "start_process([sys.executable, '-c', 'input()'], 'one', {}, Path('.'))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", killed], check=False)
    assert list(tmp_path.glob("*/home"))
    living = start_process([sys.executable, "-c", "input()"], "one", {}, tmp_path)
    assert disk_limit.sweep() == 1
    assert len(list(tmp_path.glob("*/home"))) == 1
    living.stop()
    assert list(tmp_path.iterdir()) == []
