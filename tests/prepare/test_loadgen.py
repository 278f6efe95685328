"""LoadGen's library comes from the locked wheel, whole or not at all."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.prepare import loadgen


def test_the_library_of_every_python_is_in_one_folder(tmp_path: Path) -> None:
    found = loadgen.prepare(["3.11", "3.13", "3.11"], tmp_path, lambda _: None)
    files = sorted((tmp_path / found.folder).iterdir())
    assert [file.name.split(".")[1][:11] for file in files] == ["cpython-311", "cpython-313"]
    assert {hashlib.sha256(file.read_bytes()).hexdigest() for file in files} == {a.sha256 for a in found.artifacts}
    pins = {pin.sha256 for pin in catalogue.lock("loadgen").pins}
    assert found.artifacts[0].made_by["wheel"] in pins
    assert found.version == "6.0.17"


def test_a_damaged_library_is_made_again(tmp_path: Path) -> None:
    found = loadgen.prepare(["3.11"], tmp_path, lambda _: None)
    (file,) = (tmp_path / found.folder).iterdir()
    file.write_bytes(b"not a library")
    again = loadgen.prepare(["3.11"], tmp_path, lambda _: None)
    assert hashlib.sha256(file.read_bytes()).hexdigest() == again.artifacts[0].sha256


def test_a_python_without_a_lock_is_left_out_or_named(tmp_path: Path) -> None:
    assert len(loadgen.prepare(["3.11", "2.7"], tmp_path, lambda _: None).artifacts) == 1
    with pytest.raises(LevelfieldError, match="none of the Pythons"):
        loadgen.prepare(["2.7"], tmp_path, lambda _: None)


def test_a_wheel_with_another_content_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "other.whl"
    with zipfile.ZipFile(wheel, "w") as opened:
        opened.writestr("../mlperf_loadgen.so", b"x")
    with pytest.raises(LevelfieldError, match="does not hold LoadGen's library"):
        loadgen._library(wheel)
