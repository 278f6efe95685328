"""LoadGen's library comes from the locked wheel, whole or not at all."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield_loadgen import library


def prepare(root: Path, *pythons: str) -> tuple[list[Path], tuple[str, ...]]:
    """The files of workers, and the digests that the record has of them."""
    driver = library.prepare(pythons, root, lambda _: None)
    (folder,) = (root / library.IMAGE).iterdir()
    return sorted(folder.iterdir()), tuple(artifact.sha256 for artifact in driver.artifacts)


def test_what_workers_are_handed_is_in_one_folder_and_in_the_record(tmp_path: Path) -> None:
    files, digests = prepare(tmp_path, "3.11", "3.13", "3.11")
    assert [file.name.split(".")[1][:11] for file in files] == ["py", "cpython-311", "cpython-313"]
    assert {hashlib.sha256(file.read_bytes()).hexdigest() for file in files} == set(digests)
    assert "mlcommons-loadgen" in catalogue.lock("loadgen").versions
    files[1].write_bytes(b"not a library")
    assert prepare(tmp_path, "3.11", "3.13") == (files, digests), "what is damaged is made again"
    assert hashlib.sha256(files[1].read_bytes()).hexdigest() in digests


def test_a_python_without_a_lock_is_left_out_or_named(tmp_path: Path) -> None:
    assert len(prepare(tmp_path, "3.11", "2.7")[0]) == 2
    with pytest.raises(LevelfieldError, match="none of the Pythons"):
        prepare(tmp_path, "2.7")


def test_a_wheel_with_another_content_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as opened:
        opened.writestr("../mlperf_loadgen.so", b"x")
    with pytest.raises(LevelfieldError, match="does not hold LoadGen's library"):
        library._library(tmp_path / "other.whl")
