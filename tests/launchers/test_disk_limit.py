"""How much a worker may write to this machine's disk, on this machine's disk."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from levelfield.launchers import disk_limit
from levelfield.launchers.disk_limit import DiskLimit
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.worker.messages import Measure, Measured, Probe, Probed
from tests.commands import python
from tests.launchers.scripts import NEXT, PATIENCE_S, READY, channel

MIB = 1 << 20
WRITES = """
import time
while True:
    try:
        with open({path!r}, "ab") as file:
            file.write(bytes(1 << 20))
    except OSError:
        {then}
"""


@pytest.fixture
def folder(disk_of_its_own: Path) -> Path:
    place = disk_of_its_own / "cache"
    place.mkdir()
    (place / "kept").write_bytes(b"from an earlier launch")
    return place


def writer(folder: Path, limit: DiskLimit, then: str = "time.sleep(0.1)") -> Worker:
    """Start a program that writes without end; `then` is what it does when the disk is full."""
    script = READY + NEXT + WRITES.format(path=str(folder / "ballast"), then=then)
    one = Worker("the script", channel(script), started_ns=time.perf_counter_ns(), disk=limit)
    one.await_ready(PATIENCE_S)
    return one


def test_a_worker_that_writes_without_end_is_ended_whoever_waits_for_it(folder: Path) -> None:
    one = writer(folder, DiskLimit([folder], 64 * MIB))
    with pytest.raises(
        WorkerError, match=r"the script wrote more than 0\.1 GiB, or [\d,]+ files, to its compile cache"
    ) as caught:
        one.ask(Probe(), Probed, PATIENCE_S)
    assert caught.value.kind == "error"
    assert caught.value.gone
    assert list(folder.iterdir()) == []

    one = writer(folder, DiskLimit([folder], 64 * MIB))
    with pytest.raises(WorkerError, match="wrote more than"):
        one.ask_asleep(Measure(window_ns=1), Measured, PATIENCE_S)


def test_a_worker_that_makes_files_without_end_is_ended_too(folder: Path) -> None:
    limit = DiskLimit([folder], limit_files=100)
    deep = folder
    for number in range(50):
        deep = deep / "d"
        deep.mkdir()
        (folder / f"{number}").touch()
    assert limit.is_exceeded()
    assert not DiskLimit([folder], limit_files=100).is_exceeded(), "those were there before"


def test_what_others_write_and_what_was_there_is_not_the_workers(folder: Path) -> None:
    (folder / "large").write_bytes(bytes(100 * MIB))
    limit = DiskLimit([folder], 64 * MIB)
    (folder.parent / "of somebody else").write_bytes(bytes(200 * MIB))
    assert not limit.is_exceeded()
    (folder / "larger").write_bytes(bytes(64 * MIB))
    assert limit.is_exceeded()


HIDES = """
import os, sys
from pathlib import Path
from typing import Any
from levelfield.launchers.disk_limit import DiskLimit
os.chdir(sys.argv[1])  # to nobody the folders above are closed
os.chown(".", 65534, -1)
os.setuid(65534)
folder = Path("cache")
folder.mkdir()
limit = DiskLimit([folder], 16 << 20)
hidden = folder / "hidden"
hidden.mkdir()
for name in ("one", "two"):
    (hidden / name).write_bytes(bytes(32 << 20))
for mode in (0o000, 0o400):
    hidden.chmod(mode)
    assert limit.is_exceeded(), oct(mode)
folder.chmod(0o000)
assert limit.is_exceeded()
limit.clear()
folder.chmod(0o700)
hidden.chmod(0o700)
limit.clear()
assert list(folder.iterdir()) == []
"""


def test_what_a_worker_hides_counts_and_no_rights_of_its_folders_end_the_run(disk_of_its_own: Path) -> None:
    """As somebody who is not root: root reads everything."""
    python(HIDES, disk_of_its_own)


KILLED = (
    "import os; from levelfield.launchers import disk_limit;"
    " print(disk_limit.make(), flush=True); os.kill(os.getpid(), 9)"
)


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_the_folder_of_a_killed_process_is_swept_and_ones_own_is_not(tmp_path: Path) -> None:
    own = disk_limit.make()
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    assert (Path(done.stdout.strip()) / "owner").is_file()
    assert disk_limit.sweep() == 1
    assert list(tmp_path.iterdir()) == [own]


@pytest.mark.parametrize("owner", ["", "ä"])
def test_a_folder_whose_owner_is_not_known_stays(tmp_path: Path, owner: str) -> None:
    folder = tmp_path / "levelfield-run-other"
    folder.mkdir()
    (folder / "owner").write_text(owner, encoding="utf-8")
    assert disk_limit.sweep() == 0
    assert folder.is_dir()


def test_a_pipe_in_place_of_the_owner_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "levelfield-run-pipe").mkdir()
    os.mkfifo(tmp_path / "levelfield-run-pipe" / "owner")
    assert disk_limit.sweep() == 0
