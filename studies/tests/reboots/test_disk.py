"""File systems that are made, written and read with e2fsprogs."""

import shutil
from pathlib import Path

import pytest

from studies.reboots import disk
from suite.errors import LevelfieldError

pytestmark = pytest.mark.skipif(shutil.which("debugfs") is None, reason="e2fsprogs is not installed")
SIZE_BYTES = 8 << 20


def made(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "var/reports/one").mkdir(parents=True)
    (folder / "var/reports/one/run.json").write_text("{}")
    image = tmp_path / "the disk.img"
    disk.make(folder, image, SIZE_BYTES)
    return image


def test_what_a_file_system_holds_comes_back(tmp_path: Path) -> None:
    image = made(tmp_path)
    disk.put(image, "new\n", "/var/plan")
    disk.replay(image)
    found = disk.take(image, "/var", tmp_path / "the copy")
    assert (found / "plan").read_text() == "new\n"
    assert (found / "reports/one/run.json").read_text() == "{}"


def test_a_folder_that_is_not_there_is_not_made_up(tmp_path: Path) -> None:
    assert not disk.take(made(tmp_path), "/srv/none", tmp_path / "out").exists()


def test_a_file_goes_into_a_folder_that_is_there_or_nowhere(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match=r"/none/plan could not be written into the disk\.img"):
        disk.put(made(tmp_path), "x", "/none/plan")


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    (tmp_path / "big/file").write_bytes(bytes(range(256)) * (SIZE_BYTES // 128))
    with pytest.raises(LevelfieldError, match="could not be made"):
        disk.make(tmp_path / "big", tmp_path / "disk.img", SIZE_BYTES)


def test_a_damaged_file_system_is_refused(tmp_path: Path) -> None:
    image = made(tmp_path)
    with image.open("r+b") as file:
        file.write(bytes(1 << 20))
    with pytest.raises(LevelfieldError, match="is damaged"):
        disk.replay(image)
