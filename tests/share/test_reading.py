"""What was given to verify, decoded."""

import hashlib
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.share import statement
from levelfield.share.inputs import PAGE, open_input
from levelfield.share.reading import read
from tests.share.evidence import leave, small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return leave(small(), tmp_path_factory.mktemp("reading") / "run")


def test_a_folder_gives_the_whole_record_and_the_statement_beside_it(folder: Path) -> None:
    found = read(open_input(folder))
    content = (folder / files.NAME).read_bytes()
    assert found.run == found.full_record == small()
    assert found.record_sha256 == hashlib.sha256(content).hexdigest()
    assert found.statement == (folder / statement.NAME).read_bytes()
    assert found.page_statement == ((folder / statement.NAME).read_text(), "")
    assert found.signature == ""


def test_a_page_alone_gives_the_record_and_the_statement_inside_it(folder: Path) -> None:
    found = read(open_input(folder / PAGE))
    assert found.full_record is None
    assert found.record_sha256 == ""
    assert found.inside is not None
    assert found.run == found.inside.embedded.record
    assert found.statement == (folder / statement.NAME).read_bytes()


def test_a_record_alone_has_no_page(folder: Path, tmp_path: Path) -> None:
    (tmp_path / files.NAME).write_bytes((folder / files.NAME).read_bytes())
    found = read(open_input(tmp_path / files.NAME))
    assert found.page is None
    assert found.inside is None
    assert found.page_statement is None
    assert found.statement is None


def test_a_damaged_page_is_an_error_with_code_1(folder: Path, tmp_path: Path) -> None:
    page = (folder / PAGE).read_text()
    start = page.index('id="record">')
    (tmp_path / PAGE).write_text(page[:start] + page[start:].replace('"sha256":"', '"sha256":"0', 1))
    with pytest.raises(LevelfieldError) as caught:
        read(open_input(tmp_path / PAGE))
    assert caught.value.exit_code == 1
