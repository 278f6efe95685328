"""The files to verify: what may be named, and what is read beside it."""

from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.record import files, page
from levelfield.share import statement
from levelfield.share.inputs import read
from tests.share.evidence import leave, small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return leave(small(), tmp_path_factory.mktemp("inputs") / "run")


def test_a_folder_is_read_with_all_that_lies_in_it_and_a_page_alone(folder: Path) -> None:
    whole, alone = read(folder), read(folder / page.NAME)
    assert whole.run == alone.run == small()
    assert whole.content == alone.content == files.encode(small())
    assert whole.statement == alone.statement == (folder / statement.NAME).read_bytes()
    assert whole.page_statement == alone.page_statement == ((folder / statement.NAME).read_text(), "")
    assert (whole.folder, alone.folder) == (folder, None)


def test_a_record_is_read_with_its_statement_but_not_the_page(folder: Path, tmp_path: Path) -> None:
    (tmp_path / statement.NAME).write_bytes((folder / statement.NAME).read_bytes())
    (tmp_path / page.NAME).write_bytes((folder / page.NAME).read_bytes())
    found = read(files.write(small(), tmp_path))
    assert (found.page, found.page_statement) == (None, ("", ""))
    assert found.statement is not None


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match=r"holds no report\.html"):
        read(tmp_path)
    with pytest.raises(LevelfieldError, match="cannot be read"):
        read(tmp_path / "missing")
    (tmp_path / "notes.txt").write_text("notes")
    with pytest.raises(LevelfieldError, match="neither a report's page nor a record"):
        read(tmp_path / "notes.txt")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(LevelfieldError, match="cannot be read"):
        read(tmp_path / "loop")
