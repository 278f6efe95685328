"""Statement, bills and signature at the end of a run, and of the page of an earlier one."""

import hashlib
import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from levelfield import analysis
from levelfield.cli.share import report
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.share import run_evidence, statement
from tests.share.evidence import check, image, key, leave, small


def written(folder: Path) -> Path:
    return files.write(small(), folder)


def test_a_run_leaves_a_statement_and_the_bills_that_it_names(tmp_path: Path) -> None:
    record = written(tmp_path)
    evidence, missing = run_evidence.write_evidence(tmp_path, small(), analysis.analyse(small()))
    assert missing == ""
    assert evidence is not None
    assert evidence.statement.encode() == (tmp_path / statement.NAME).read_bytes()
    stated = statement.read(evidence.statement.encode())
    assert stated is not None
    assert stated.record_sha256 == hashlib.sha256(record.read_bytes()).hexdigest()
    assert stated.sboms == {
        name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("sbom/canary-cpu.cdx.json",)
    }
    assert not (tmp_path / statement.SIGNATURE).exists()


def test_an_image_without_a_lock_has_no_bill(tmp_path: Path) -> None:
    unlocked = msgspec.structs.replace(image(), unlocked="installed by hand")
    run = msgspec.structs.replace(small(), images=(unlocked,))
    files.write(run, tmp_path)
    run_evidence.write_evidence(tmp_path, run, analysis.analyse(run))
    assert not (tmp_path / "sbom").exists()


def test_a_key_that_does_not_sign_costs_the_signature_only(tmp_path: Path) -> None:
    record, found = written(tmp_path), analysis.analyse(small())
    evidence, missing = run_evidence.write_evidence(tmp_path, small(), found, tmp_path / "no-key")
    assert evidence is not None
    assert evidence.signature == ""
    assert "There is no key" in missing
    before = (tmp_path / statement.NAME).read_bytes()
    with pytest.raises(LevelfieldError, match="There is no key"):
        run_evidence.read_evidence(record, small(), found, tmp_path / "no-key")
    assert (tmp_path / statement.NAME).read_bytes() == before


def test_a_folder_without_a_record_is_one_sentence(tmp_path: Path) -> None:
    evidence, missing = run_evidence.write_evidence(tmp_path, small(), analysis.analyse(small()))
    assert evidence is None
    assert missing.startswith("This run has no statement: FileNotFoundError")


def test_a_later_page_keeps_the_statement_and_its_signature(tmp_path: Path) -> None:
    ada, signers = key(tmp_path)
    folder = leave(small(), tmp_path / "run", ada)
    (folder / "report.html").unlink()
    assert CliRunner().invoke(report, [str(folder)]).exit_code == 0
    assert check(folder / "report.html", signers).verdict == "verified"
    (folder / statement.NAME).write_text("{}")
    assert CliRunner().invoke(report, [str(folder)]).exit_code == 0
    (stated,) = (each for each in check(folder / "report.html").checks if each.topic == "statement")
    assert "There is none" in stated.says


def test_the_statement_names_no_path_of_this_machine(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path / "run")
    text = (folder / statement.NAME).read_text() + (folder / "sbom" / "canary-cpu.cdx.json").read_text()
    assert str(tmp_path.parent) not in text
    assert json.loads((folder / statement.NAME).read_text())["_type"]


def test_a_page_of_another_version_gets_a_statement_of_its_own_unless_one_is_signed(tmp_path: Path) -> None:
    """Another version may carry less of the record in its page, whose digest the statement names."""
    ada, _ = key(tmp_path)
    folder = leave(small(), tmp_path / "run", ada)
    older = (folder / statement.NAME).read_bytes().replace(_inside(folder).encode(), b"0" * 64)
    (folder / statement.NAME).write_bytes(older)
    rendered = CliRunner().invoke(report, [str(folder)])
    assert rendered.exit_code == 0
    assert "sign it again with --sign" in " ".join(rendered.output.split())
    assert (folder / statement.NAME).read_bytes() == older
    (folder / statement.SIGNATURE).unlink()
    assert CliRunner().invoke(report, [str(folder)]).exit_code == 0
    (stated,) = (each for each in check(folder / "report.html").checks if each.topic == "statement")
    assert stated.state == "holds"


def _inside(folder: Path) -> str:
    found = statement.read((folder / statement.NAME).read_bytes())
    assert found is not None
    return found.inside_sha256
