import hashlib
import zipfile
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import wheels
from levelfield.images.catalogue import Lock, Pin
from levelfield.images.registries import Places

FILE = "tiny-1.0-py3-none-any.whl"


def make_wheel(folder: Path, code: str = "ANSWER = 42\n", file: str = FILE) -> Path:
    folder.mkdir(exist_ok=True)
    name, version, tag = file.removesuffix(".whl").split("-", 2)
    metadata = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / file, "w") as archive:
        archive.writestr(f"{name}.py", code)
        archive.writestr(f"{metadata}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{metadata}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(f"{metadata}/RECORD", "")
    return folder / file


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _lock(path: Path, **changes: str) -> Lock:
    values = {"name": "tiny", "version": "1.0", "file": FILE, "sha256": _sha256(path), **changes}
    pin = Pin(**values, size_bytes=path.stat().st_size, installed_bytes=12, sized=True)
    return Lock(image="test", variant="cpu", version=None, path=path, sha256="", pins=(pin,))


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip knows of the world."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_a_wheel_is_fetched_once_and_used_offline_after_that(index: Path, cache: Path) -> None:
    wheel = make_wheel(index)
    lock = _lock(wheel)
    assert wheels.missing(lock) == lock.pins
    steps: list[str] = []
    (fetched,) = wheels.fetch(lock, progress=steps.append)
    assert fetched.read_bytes() == wheel.read_bytes()
    assert any("fetching 1 wheel of" in step for step in steps)
    wheel.unlink()
    steps.clear()
    assert wheels.fetch(lock, progress=steps.append) == (fetched,)
    assert not any("fetching" in step for step in steps)
    assert wheels.missing(lock) == ()
    assert {path.name for path in (cache / "wheels").glob("*.whl")} == {FILE}


def test_a_wheel_changed_in_the_cache_stops_with_file_expected_and_found(index: Path, cache: Path) -> None:
    lock = _lock(make_wheel(index))
    (fetched,) = wheels.fetch(lock)
    fetched.write_bytes(fetched.read_bytes() + b"x")
    with pytest.raises(LevelfieldError) as caught:
        wheels.fetch(lock)
    assert FILE in caught.value.message
    assert f"expected sha256 {lock.pins[0].sha256}" in caught.value.message
    assert f"found {_sha256(fetched)}" in caught.value.message
    assert str(fetched) in caught.value.fix


def test_an_index_with_another_file_stops_with_file_expected_and_found(index: Path, cache: Path) -> None:
    lock = _lock(make_wheel(index))
    other = make_wheel(index, "ANSWER = 41\n")
    with pytest.raises(LevelfieldError) as caught:
        wheels.fetch(lock)
    assert FILE in caught.value.message
    assert f"expected sha256 {lock.pins[0].sha256}" in caught.value.message
    assert f"found {_sha256(other)}" in caught.value.message
    assert wheels.missing(lock) == lock.pins


def test_a_wheel_that_nobody_has_is_named_without_any_address(
    index: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = _lock(make_wheel(index), version="2.0", file="tiny-2.0-py3-none-any.whl")
    monkeypatch.setenv("PIP_FIND_LINKS", f"{index.as_uri()} http://user:secret@127.0.0.1:9/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(LevelfieldError, match=r"tiny 2\.0.*index 127\.0\.0\.1 cannot be reached") as caught:
        wheels.fetch(lock)
    assert "secret" not in str(caught.value)
    assert "://" not in str(caught.value)


def test_a_public_index_is_asked_only_for_what_nobody_else_has(
    index: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Places] = []
    real = wheels._fetch_pins

    def watched(pins: list[Pin], folder: Path, places: Places, python: str) -> str:
        asked.append(places)
        return real(pins, folder, places, python)

    monkeypatch.setattr(wheels, "_fetch_pins", watched)
    wheels.fetch(_lock(make_wheel(index)))
    assert asked == [Places()]
    elsewhere = make_wheel(tmp_path / "elsewhere")
    renamed = elsewhere.rename(elsewhere.with_name("tiny-1.0+cpu-py3-none-any.whl"))
    with pytest.raises(LevelfieldError):
        wheels.fetch(_lock(renamed, version="1.0+cpu", file=renamed.name))
    assert asked[1] == Places()
    assert len(asked[2].indexes) == 1
