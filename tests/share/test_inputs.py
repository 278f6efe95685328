"""The files to verify: what may be named, and what is read beside it."""

import os
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.share import inputs, statement
from levelfield.share.inputs import PAGE, content_of, open_input


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / PAGE).write_text("<!doctype html>page")
    (tmp_path / files.NAME).write_text('{"record": 1}')
    (tmp_path / statement.NAME).write_text("{}")
    (tmp_path / statement.SIGNATURE).write_text("signature")
    return tmp_path


def test_a_folder_is_read_with_all_that_lies_in_it(folder: Path) -> None:
    found = open_input(folder)
    assert found.page == "<!doctype html>page"
    assert found.record == b'{"record": 1}'
    assert (found.statement, found.signature) == (b"{}", b"signature")
    assert found.folder == folder


def test_a_page_is_read_alone(folder: Path) -> None:
    found = open_input(folder / PAGE)
    assert found.page == "<!doctype html>page"
    assert (found.record, found.statement, found.signature, found.folder) == (None, None, None, None)


def test_a_record_is_read_with_its_statement_but_not_the_page(folder: Path) -> None:
    found = open_input(folder / files.NAME)
    assert found.page is None
    assert found.record == b'{"record": 1}'
    assert found.statement == b"{}"


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match=r"holds neither a report\.html nor a run\.json"):
        open_input(tmp_path)
    with pytest.raises(LevelfieldError, match="cannot be read"):
        open_input(tmp_path / "missing")
    (tmp_path / "notes.txt").write_text("notes")
    with pytest.raises(LevelfieldError, match="neither a report's page nor a record"):
        open_input(tmp_path / "notes.txt")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(LevelfieldError, match="cannot be read"):
        open_input(tmp_path / "loop")


def test_a_page_that_is_not_text_is_damaged(tmp_path: Path) -> None:
    (tmp_path / PAGE).write_bytes(b"<html>\xff")
    with pytest.raises(LevelfieldError) as caught:
        open_input(tmp_path / PAGE)
    assert caught.value.exit_code == 1


def test_a_page_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_PAGE_BYTES", 10)
    (tmp_path / PAGE).write_text("<!doctype html>page")
    for path in (tmp_path, tmp_path / PAGE):
        with pytest.raises(LevelfieldError, match="is longer than 10 bytes"):
            open_input(path)


def test_links_are_not_followed_and_pipes_are_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(LevelfieldError, match="cannot be read"):
            content_of(tmp_path / name, 100)
    assert content_of(tmp_path / "missing", 100) is None
    assert content_of(tmp_path / "target", 100) == b"secret"
