""""""

from pathlib import Path

import pytest

from levelfield.compatibility import table
from levelfield.compatibility.table import is_version, key, minor
from levelfield.errors import LevelfieldError
from levelfield.paths import images_root

TABLE = table.read()


def driver(release: str) -> str | None:
    found = table.requirement(TABLE, release)
    assert found is not None
    return found.driver


def test_a_listed_release_has_its_own_row() -> None:
    assert driver("12.8.0") == "570.26"
    assert driver("12.8.1") == "570.124.06"
    assert driver("13.0.2") == "580.95.05"


@pytest.mark.parametrize(
    ("release", "listed"), [("12.8.2", "12.8.1"), ("12.8", "12.8.1"), ("13.2.2", "13.2.1"), ("11.8.3", "11.8.0")]
)
def test_a_patch_release_that_the_table_lacks_takes_the_highest_of_its_minor(release: str, listed: str) -> None:
    assert driver(release) == TABLE.release[listed]


def test_a_minor_that_the_table_lacks_has_its_family_only() -> None:
    assert driver("13.9.0") is None
    found = table.requirement(TABLE, "13.9.0")
    assert found is not None
    assert found.family.minimum_driver == "580.65.06"


def test_later_releases_need_no_older_drivers() -> None:
    names = sorted(TABLE.release, key=key)
    needed = [key(TABLE.release[name]) for name in names]
    assert needed == sorted(needed)
    for name in names:
        assert key(TABLE.family[str(minor(name)[0])].minimum_driver) <= key(TABLE.release[name])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("schema = 1", "schema = 2", "has schema 2"),
        ('"570.26"', '"570-26"', "no version"),
        ('below = "9.10.1"', 'below = "nine"', "no version"),
        ('library = "cuDNN"', 'libary = "cuDNN"', "cannot be read"),
        ("[release]", "[release", "cannot be read"),
    ],
)
def test_a_table_with_a_mistake_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = (images_root() / table.NAME).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "table.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(LevelfieldError, match=says):
        table.read(tmp_path / "table.toml")
    with pytest.raises(LevelfieldError, match="cannot be read"):
        table.read(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("570.26", "570.124.06"),
        ("535.54.03", "535.104.05"),
        ("560.28.03", "560.35.03"),
        ("580.65.06", "580.95.05"),
        ("9.9.0", "9.10.0"),
        ("12.9", "13.0"),
        ("470.57.02", "525.60.13"),
        ("590.48.01", "610.43.02"),
    ],
)
def test_numbers_are_compared_as_numbers(older: str, newer: str) -> None:
    assert key(older) < key(newer)


@pytest.mark.parametrize("text", ["", "13.x", "v13", "13..0", "13.0 ", "13.0\n", "-1", "1" * 10, "١٣.٠", "13.0+cu"])
def test_what_is_no_version(text: str) -> None:
    assert not is_version(text)
    with pytest.raises(ValueError, match="not a version"):
        key(text)
