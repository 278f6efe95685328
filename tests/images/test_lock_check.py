"""What is old in locks, by the index that answers here."""

from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue, lock_check, locks
from levelfield.images.catalogue import Pin
from levelfield.images.lock_check import GONE, Outdated, withdrawn
from levelfield.record.references import Reference


def test_an_older_pin_is_outdated(checkout: Path) -> None:
    shared = checkout / "images" / "worker.in"
    before = catalogue.lock("canary").versions
    shared.write_text(shared.read_text().replace(f"numpy=={before['numpy']}", "numpy==2.3.5"))
    locks.lock_image("canary")
    (checked,) = lock_check.check([Reference("canary")])
    assert (checked.image, checked.lock, checked.python, checked.problem) == ("canary", "cpu", "3.11", "")
    assert checked.outdated is not None
    numpy = next(each for each in checked.outdated if each.name == "numpy")
    assert numpy == Outdated("numpy", "2.3.5", numpy.newest, "worker.in")
    assert catalogue.version_key(numpy.newest) >= catalogue.version_key(before["numpy"])


LOCK = catalogue.lock("canary")


def test_yanked_releases_and_lost_files_are_named_each() -> None:
    yanked = Pin(
        name="attrs", version="21.1.0", file="attrs-21.1.0-py2.py3-none-any.whl",
        sha256="3901be1cb7c2a780f14668691474d9252c070a756be0a9ead98cfeabfa11aeb8", size_bytes=1, installed_bytes=1,
    )  # fmt: skip
    no_release = msgspec.structs.replace(yanked, version="21.1.99")
    no_file = msgspec.structs.replace(LOCK.pins[0], sha256="0" * 64)
    first, second = withdrawn(msgspec.structs.replace(LOCK, pins=(no_file, *LOCK.pins[1:], yanked)))
    assert (first.name, first.locked, first.reason) == (no_file.name, no_file.version, GONE)
    assert second.name == "attrs"
    assert second.reason == "It is yanked: Installable but not importable on Python 3.4."
    lost = withdrawn(msgspec.structs.replace(LOCK, pins=(LOCK.pins[0], no_release)))
    assert [(each.name, each.locked, each.reason) for each in lost] == [("attrs", "21.1.99", GONE)]


def test_an_index_that_does_not_answer_withdraws_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PIP_INDEX_URL", "http://127.0.0.1:9/simple"), ("UV_HTTP_RETRIES", "0")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path))
    with pytest.raises(LevelfieldError, match="is not known") as caught:
        withdrawn(LOCK)
    assert "://" not in caught.value.message
