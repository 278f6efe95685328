"""Statement, bills and signature at the end of a run, and of the page of an earlier one."""

import hashlib
import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from levelfield.cli.share import report
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.share import attestation, statement
from tests.share.evidence import check, image, key, leave, small

CONTENT = files.encode(small())


def test_a_run_leaves_a_statement_and_the_bills_that_it_names(tmp_path: Path) -> None:
    evidence, missing = attestation.write_evidence(tmp_path, small(), CONTENT)
    assert missing == ""
    assert evidence.statement.encode() == (tmp_path / statement.NAME).read_bytes()
    stated = statement.read(evidence.statement.encode())
    assert stated is not None
    assert stated.record_sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert stated.sboms == {
        name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        for name in (f"sbom/{backend}-cpu.cdx.json" for backend in ("canary", "jax", "onnxruntime"))
    }
    assert not (tmp_path / statement.SIGNATURE).exists()


def test_an_image_without_a_lock_has_no_bill(tmp_path: Path) -> None:
    unlocked = msgspec.structs.replace(image(), unlocked="installed by hand")
    run = msgspec.structs.replace(small(), images=(unlocked,))
    attestation.write_evidence(tmp_path, run, files.encode(run))
    assert not (tmp_path / "sbom").exists()


def test_a_key_that_does_not_sign_costs_the_signature_only(tmp_path: Path) -> None:
    evidence, missing = attestation.write_evidence(tmp_path, small(), CONTENT, tmp_path / "no-key")
    assert evidence.signature == ""
    assert "There is no key" in missing
    before = (tmp_path / statement.NAME).read_bytes()
    with pytest.raises(LevelfieldError, match="There is no key"):
        attestation.signing(tmp_path, small(), evidence, tmp_path / "no-key").__enter__()
    assert (tmp_path / statement.NAME).read_bytes() == before


def test_no_bill_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "sbom").symlink_to(tmp_path)
    _, missing = attestation.write_evidence(tmp_path / "run", small(), CONTENT)
    assert "is a link" in missing
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


def test_a_later_page_keeps_the_statement_and_its_signature(tmp_path: Path) -> None:
    ada, signers = key(tmp_path)
    folder = leave(small(), tmp_path / "run", ada)
    (folder / statement.NAME).rename(tmp_path / "away")  # it is inside the page, too
    assert CliRunner().invoke(report, [str(folder)]).exit_code == 0
    assert check(folder / "report.html", signers).verdict == "verified"
    assert CliRunner().invoke(report, [str(folder / "report.html")]).exit_code == 0
    assert check(folder / "report.html", signers).verdict == "verified"
    (folder / statement.NAME).write_text("{}")
    assert CliRunner().invoke(report, [str(folder)]).exit_code == 0
    (folder / statement.NAME).unlink()
    assert check(folder / "report.html", signers).verdict == "verified"


def test_a_page_that_cannot_be_written_keeps_the_signature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, signers = key(tmp_path)
    eve, _ = key(tmp_path, "eve")
    folder = leave(small(), tmp_path / "run", ada)
    write = files.write_atomically

    def full(target: Path, content: bytes, **options: bool) -> None:
        if target.name == "report.html":
            raise LevelfieldError("No space left on device.")
        write(target, content, **options)

    monkeypatch.setattr(files, "write_atomically", full)
    assert "No space left" in str(CliRunner().invoke(report, [str(folder), "--sign", str(eve)]).exception)
    assert check(folder, signers).verdict == "verified"


def test_a_page_in_another_runs_folder_keeps_its_signature_and_that_of_the_folder(tmp_path: Path) -> None:
    ada, signers = key(tmp_path)
    home, guest = (
        leave(msgspec.structs.replace(small(), id=f"2026112{at}-101500-x"), tmp_path / str(at), ada) for at in (1, 2)
    )
    page = home / "guest.html"
    page.write_bytes((guest / "report.html").read_bytes())
    assert CliRunner().invoke(report, [str(page)]).exit_code == 0
    refused = CliRunner().invoke(report, [str(page), "--sign", str(ada)]).exception
    assert "is of another run, and would be replaced" in str(refused)
    assert [check(each, signers).verdict for each in (page, home)] == ["verified"] * 2


def test_who_signs_is_told_with_which_key_and_whose_signature_that_replaces(tmp_path: Path) -> None:
    ada, signers = key(tmp_path)
    eve, _ = key(tmp_path, "eve")
    folder = leave(small(), tmp_path / "run")
    said = [CliRunner().invoke(report, [str(folder), "--sign", str(each)]).output for each in (ada, ada, eve)]
    assert check(folder, signers).verdict == "consistent, but signer unknown"
    assert all("Signed with SHA256:" in each for each in said)
    assert ["replaces the signature by SHA256:" in " ".join(each.split()) for each in said] == [False, False, True]


def test_the_statement_names_no_path_of_this_machine(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path / "run")
    text = (folder / statement.NAME).read_text() + (folder / "sbom" / "canary-cpu.cdx.json").read_text()
    assert str(tmp_path.parent) not in text
    assert json.loads((folder / statement.NAME).read_text())["_type"]
