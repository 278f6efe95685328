"""Pictures for the README and the guide."""

from pathlib import Path

import pytest

from docs.site import screenshots


@pytest.mark.browser
@pytest.mark.parametrize("picture", screenshots.PICTURES, ids=lambda picture: picture.file)
def test_a_picture_can_be_taken_and_is_shown(picture: screenshots.Picture, tmp_path: Path) -> None:
    content = screenshots.take(picture, tmp_path).read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(content[at : at + 4]) for at in (16, 20))
    assert (width, height) == (picture.width, picture.height)
    assert len(content) > 50_000, "a blank page of that size is a few kilobytes"
    pages = (screenshots.HERE / "README.md", *screenshots.HERE.glob("docs/*.md"))
    assert any(f"reports/{picture.file})" in page.read_text(encoding="utf-8") for page in pages)
