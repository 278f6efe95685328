"""What stops pip, each cause for real, and what is said of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import wheels
from tests.commands import eventually
from tests.conftest import mounted
from tests.images.test_wheels import _lock, _make_wheel
from tests.launchers.scripts import gone


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("PIP_") or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")


def test_an_index_that_cannot_be_reached_is_told_apart(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = _lock(_make_wheel(tmp_path / "wheel"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(LevelfieldError) as caught:
        wheels.fetch(lock)
    assert "cannot be reached" in caught.value.message
    assert "index-url" in caught.value.fix
    assert "127.0.0.1" not in caught.value.message


@pytest.mark.parametrize(
    ("options", "says"), [("512k", "the disk is full"), ("8m,nr_inodes=11", "the disk has no inode left")]
)
def test_a_disk_that_is_full_is_not_called_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, says: str
) -> None:
    wheel = _make_wheel(tmp_path / "index", "X = '" + os.urandom(300_000).hex() + "'\n")
    lock = _lock(wheel)
    with mounted(tmp_path / "disk", options) as disk:
        monkeypatch.setenv("LEVELFIELD_CACHE", str(disk))
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
        with pytest.raises(LevelfieldError) as caught:
            wheels.fetch(lock)
    assert says in caught.value.message.lower()
    assert "levelfield images clean" in caught.value.fix


def test_a_program_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from levelfield.images import registries\n"
        f"registries.run([sys.executable, '-c', 'import os, time; from pathlib import Path;"
        f' Path("{tmp_path}/pid").write_text(str(os.getpid())); time.sleep(1000)\'])'
    )
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        assert eventually(lambda: (tmp_path / "pid").is_file() and (tmp_path / "pid").read_text() != "")
        process.send_signal(signal.SIGKILL)
    assert eventually(lambda: gone(int((tmp_path / "pid").read_text())))
