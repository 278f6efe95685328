"""Advisories in the OSV format: which versions they are about, and files that hold none."""

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from suite.errors import LevelfieldError
from suite.images import advisories
from suite.images.advisories import Advisory


def affected(name: str = "NumPy", ecosystem: str = "PyPI", **rest: object) -> dict[str, Any]:
    return {"package": {"ecosystem": ecosystem, "name": name}, **rest}


def ranges(*events: dict[str, str], kind: str = "ECOSYSTEM") -> dict[str, Any]:
    return affected(ranges=[{"type": kind, "events": list(events)}])


def written(path: Path, *parts: dict[str, Any], **rest: object) -> Path:
    path.write_text(json.dumps({"id": "PYSEC-2026-1", "modified": "2026-01-01T00:00:00Z", "affected": parts, **rest}))
    return path


def read(path: Path) -> tuple[Advisory, ...]:
    return advisories.read(path, ["numpy", "jax"]).get("numpy", ())


@pytest.mark.parametrize(
    ("part", "hit", "missed"),
    [
        (ranges({"introduced": "0"}, {"fixed": "2.4.0"}), ("0.1", "2.3.9", "2.4.0rc1"), ("2.4.0", "3")),
        (ranges({"introduced": "1.2"}, {"last_affected": "1.10"}), ("1.2.0", "1.9", "1.10.0"), ("1.1", "1.10.1")),
        (
            ranges({"fixed": "1.5"}, {"introduced": "2.0"}, {"introduced": "1.0"}, {"fixed": "2.1"}),
            ("1.0", "1.4.9", "2.0"),
            ("0.9", "1.5", "1.9", "2.1"),
        ),
        (ranges({"introduced": "0"}, {"limit": "2"}), ("1.9",), ("2",)),
        (ranges({"introduced": "0"}), ("0", "99"), ()),
        (ranges({"introduced": "0"}, kind="GIT"), (), ("1",)),
        (ranges({"introduced": "2004d"}, {"fixed": "next"}), (), ("1",)),
        (affected(versions=["1.0", "2004d"]), ("1", "1.0.0", "2004d"), ("1.1",)),
        (affected(versions=["2.13.0"]), ("2.13.0+cpu",), ("2.13.1+cpu",)),
        (affected(ecosystem="Debian:12", versions=["1"]), (), ("1",)),
        (affected(name="other", versions=["1"]), (), ("1",)),
        ({"versions": ["1"]}, (), ("1",)),
    ],
)
def test_what_is_affected_is_what_the_format_says(
    tmp_path: Path, part: dict[str, Any], hit: tuple[str, ...], missed: tuple[str, ...]
) -> None:
    found = read(written(tmp_path / "one.json", part))
    assert [version for version in (*hit, *missed) if any(one.affects("numpy", version) for one in found)] == list(hit)


def test_versions_that_fix_it_are_those_above(tmp_path: Path) -> None:
    part = ranges({"introduced": "0"}, {"fixed": "1.9"}, {"introduced": "2"}, {"fixed": "2.10"}, {"fixed": "2.9"})
    (one,) = read(written(tmp_path / "one.json", part))
    assert one.fixed_in("numpy", "2.1+cpu") == ("2.9", "2.10")


def test_what_was_withdrawn_affects_nothing(tmp_path: Path) -> None:
    (one,) = read(written(tmp_path / "one.json", affected(versions=["1"]), withdrawn="2026-02-01T00:00:00Z"))
    assert not one.affects("numpy", "1")


def test_one_advisory_a_list_an_object_and_an_archive_are_read_alike(tmp_path: Path) -> None:
    one = written(tmp_path / "one.json", affected(versions=["1"]), summary="It overflows.", aliases=["CVE-2026-1"])
    expected = read(one)
    assert [(each.id, each.summary, each.aliases) for each in expected] == [
        ("PYSEC-2026-1", "It overflows.", ("CVE-2026-1",))
    ]
    (tmp_path / "list.json").write_text(f"\n[{one.read_text()}]")
    (tmp_path / "object.json").write_text(f'{{"vulns": [{one.read_text()}]}}')
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(one, "PYSEC-2026-1.json")
        archive.writestr("README", "no advisory")
    assert [read(tmp_path / name) for name in ("list.json", "object.json", "all.zip")] == [expected] * 3


def test_a_spelling_of_a_name_is_no_other_name(tmp_path: Path) -> None:
    path = written(tmp_path / "one.json", affected(name="Nvidia_ML.py", versions=["1"]))
    assert list(advisories.read(path, ["nvidia-ml-py", "numpy"])) == ["nvidia-ml-py"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"null", b'{"id": 1}', b'{"vulns": 1}', b"[" * 100_000, b"\xff\xfe", b"PK\x03\x04 and no archive"],
)
def test_a_file_that_holds_no_advisories_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(content)
    with pytest.raises(LevelfieldError) as caught:
        read(path)
    assert "OSV's format" in caught.value.fix


def test_files_that_are_none_and_those_that_are_too_long_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "absent.json", tmp_path, tmp_path / "pipe"):
        with pytest.raises(LevelfieldError, match="cannot be read"):
            read(path)
    monkeypatch.setattr(advisories, "MAX_ENTRY_BYTES", 1000)
    monkeypatch.setattr(advisories, "MAX_ENTRIES", 2)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one.json", b" " * 1_000_000)
    with pytest.raises(LevelfieldError, match=r"one\.json is longer than 1,000 bytes"):
        read(tmp_path / "bomb.zip")
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}.json", b"{}")
    with pytest.raises(LevelfieldError, match="more than 2 files"):
        read(tmp_path / "many.zip")
    monkeypatch.setattr(advisories, "MAX_FILE_BYTES", 10)
    with pytest.raises(LevelfieldError, match="longer than 10 bytes"):
        read(tmp_path / "many.zip")
