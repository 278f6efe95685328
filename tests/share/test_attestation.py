"""Statements and bills of materials against their record, and who signed."""

import shutil
from pathlib import Path

import pytest

from levelfield.errors import LevelfieldError
from levelfield.record import files, page
from levelfield.record.page import NAME
from levelfield.share import attestation, statement
from levelfield.share.attestation import Check, read
from tests.share.evidence import check, key, leave, small

BILL = "sbom/canary-cpu.cdx.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return leave(small(), tmp_path / "run")


def bills(folder: Path) -> Check:
    (found,) = attestation.of_bills(read(folder))
    return found


def test_a_statement_of_its_record_holds_with_and_without_a_page(folder: Path) -> None:
    for path in (folder, folder / NAME, files.write(small(), folder)):
        assert [each.state for each in attestation.of_statement(read(path))] == ["holds"]


def test_a_statement_of_another_record_is_broken_and_says_where(folder: Path) -> None:
    file = folder / statement.NAME
    file.write_bytes(file.read_bytes().replace(small().id.encode(), b"another-run"))
    found = attestation.of_statement(read(folder))[-1]
    assert found.state == "broken"
    assert found.named[0].startswith("predicate.runDetails.metadata.invocationId is 'another-run'")


def test_a_page_with_another_statement_than_the_one_beside_it_is_broken(folder: Path) -> None:
    file = folder / statement.NAME
    file.write_bytes(file.read_bytes() + b" ")
    found = attestation.of_statement(read(folder))
    assert [each.topic for each in found] == ["statement inside the page", "statement"]
    assert {each.state for each in found} == {"broken"}


def test_bills_are_compared_with_digests_and_with_the_record(folder: Path) -> None:
    assert bills(folder).state == "holds"
    assert bills(folder / NAME).state == "open", "a page alone has no bills beside it"
    (folder / BILL).write_text((folder / BILL).read_text().replace("numpy", "numbat", 1))
    changed = bills(folder)
    assert changed.state == "broken"
    assert changed.named[0].startswith(f"{BILL} is not the file that the statement names")
    (folder / BILL).unlink()
    assert bills(folder).state == "open"


def test_a_folder_of_bills_that_is_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    shutil.move(folder / "sbom", tmp_path / "elsewhere")
    (folder / "sbom").symlink_to(tmp_path / "elsewhere")
    assert bills(folder).state == "open"


def test_a_bill_that_is_not_there_is_said_and_one_that_is_a_link_not_followed(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path / "run")
    bill = folder / "sbom" / "canary-cpu.cdx.json"
    elsewhere = tmp_path / "elsewhere.json"
    bill.rename(elsewhere)
    assert "not here" in bills(folder).says
    bill.symlink_to(elsewhere)
    with pytest.raises(LevelfieldError, match="it is a link"):
        check(folder)


def test_a_signature_is_the_signers_who_is_known(tmp_path: Path) -> None:
    ada, signers = key(tmp_path)
    found = read(leave(small(), tmp_path / "run", ada))
    assert attestation.of_signature(found, signers)[0] == "ada@example.org"
    name, unknown = attestation.of_signature(found, None)
    assert (name, unknown.state) == ("", "open")
    _, others = key(tmp_path / "others", "eve")
    assert attestation.of_signature(found, others)[1].state == "open"


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return leave(small(), tmp_path_factory.mktemp("inputs") / "run")


def test_a_folder_is_read_with_all_that_lies_in_it_and_a_page_alone(left: Path) -> None:
    whole, alone = read(left), read(left / page.NAME)
    assert whole.run == alone.run == small()
    assert whole.content == alone.content == files.encode(small())
    assert whole.statement == alone.statement == (left / statement.NAME).read_bytes()
    assert whole.page_statement == alone.page_statement == ((left / statement.NAME).read_text(), "")
    assert (whole.folder, alone.folder) == (left, None)


def test_a_record_is_read_with_its_statement_but_not_the_page(left: Path, tmp_path: Path) -> None:
    (tmp_path / statement.NAME).write_bytes((left / statement.NAME).read_bytes())
    (tmp_path / page.NAME).write_bytes((left / page.NAME).read_bytes())
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
