"""Reports made to do harm: each ends in a sentence, within seconds, and nothing is written anywhere."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from levelfield.analysis import analyse
from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.report import html
from levelfield.share import statement
from levelfield.share.attestation import read
from tests.commands import run
from tests.report.hostile import make_hostile
from tests.share.evidence import broken, check, leave, small


def tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(folder.rglob("*"))
        if not path.name.startswith(("out-", "err-"))
    }


@pytest.fixture(autouse=True)
def _soon(tmp_path: Path) -> Iterator[None]:
    del tmp_path
    began = _processor_s()
    yield
    assert _processor_s() - began < 60


def _processor_s() -> float:
    """Return the processor time used here and by what was started here: a busy machine is no failure."""
    return sum(os.times()[:4])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("variants", [False, True])
def test_scripts_in_every_field_are_text_and_the_page_holds(tmp_path: Path, variants: bool) -> None:
    hostile = make_hostile(variants=variants)
    (tmp_path / "report.html").write_text(html.render(hostile, analyse(hostile)), encoding="utf-8")
    before = tree(tmp_path)
    done = run("verify", tmp_path, folder=tmp_path, code=1)
    assert "ok   page" in done.out
    assert "The record contradicts itself." in done.out, "every answer gives a reason why it is not equal"
    assert "\x1b" not in done.out
    assert tree(tmp_path) == before


def test_a_statement_that_names_files_elsewhere_does_not_hold(tmp_path: Path) -> None:
    folder = leave(small(), tmp_path / "run")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    sha256 = hashlib.sha256(b"secret").hexdigest()
    record = hashlib.sha256(files.encode(small())).hexdigest()
    for name in (
        "sbom/../../secret",
        str(secret),
        "../secret",
        "sbom/../secret.cdx.json",
        "sbom/.cdx.json",
        "sbom/a\n.cdx.json",
    ):
        made = statement.make(small(), record_sha256=record, sboms={name: sha256})
        (folder / statement.NAME).write_bytes(made)
        assert "It names files that no run writes." in broken(check(folder))


def test_links_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("{}")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for number, target in enumerate((secret, Path("/dev/zero"), pipe)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "report.html").symlink_to(target)
        with pytest.raises(LevelfieldError, match="it is a link"):
            read(folder)
    (tmp_path / "run.json").symlink_to(tmp_path / "run.json")
    for path in (pipe, Path("/dev/zero"), tmp_path / "absent", tmp_path, tmp_path / "run.json"):
        with pytest.raises(LevelfieldError):
            read(path)
