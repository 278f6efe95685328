"""Pictures for the README."""

from pathlib import Path

import pytest

from docs.site import screenshots


@pytest.mark.browser
def test_the_picture_of_the_readme_can_be_taken(tmp_path: Path) -> None:
    (picture,) = screenshots.PICTURES
    content = screenshots.take(picture, tmp_path).read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(content[at : at + 4]) for at in (16, 20))
    assert (width, height) == (picture.width, picture.height)
    assert len(content) > 50_000, "a blank page of that size is a few kilobytes"
    assert f"reports/{picture.file}" in (screenshots.HERE / "README.md").read_text(encoding="utf-8")
