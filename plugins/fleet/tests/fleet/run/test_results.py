"""What a node sends is kept only where it is exactly what was asked; attacks on it."""

import hashlib
from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.record import files
from levelfield.record.page import NAME as REPORT
from levelfield_fleet.run import messages
from levelfield_fleet.run.messages import Measured
from levelfield_fleet.run.results import FILES, RefusedError, keep
from tests.fleet.run.fleets import asked, expected, measured, record


def nothing_was_written(fleet: Path) -> bool:
    return not any(path.is_file() for path in fleet.parent.rglob("*"))


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return tmp_path / "fleets" / "night"


def test_a_run_is_kept_with_its_digest(fleet: Path) -> None:
    run = record()
    sent = measured(run, **{"statement.json": b"{}"})
    kept = keep(sent, asked(), fleet, ())
    folder = fleet / "node-01" / run.id
    assert files.read(folder) == run
    assert (folder / "statement.json").read_bytes() == b"{}"
    assert kept.sha256 == hashlib.sha256(files.encode(run)).hexdigest()
    assert kept.run == run.id


@pytest.mark.parametrize(
    "name", ["../report.html", "/etc/passwd", "a/b", "journal.jsonl", "", "REPORT.HTML", "report.html\0"]
)
def test_a_file_of_another_name_is_refused(fleet: Path, name: str) -> None:
    with pytest.raises(LevelfieldError, match="which no run holds"):
        keep(measured(record(), **{name: b"x"}), asked(), fleet, ())
    assert nothing_was_written(fleet)


@pytest.mark.parametrize("run", ["../../escaped", "/tmp/x", "..", ".hidden", "a\nb", "x" * 65, ""])
def test_a_run_s_name_leads_nowhere_else(run: str) -> None:
    content = messages.encode(Measured(run, {}))
    with pytest.raises(LevelfieldError, match="is no reply"):
        messages.reply_of(content)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_that_is_too_long_is_refused(fleet: Path, name: str) -> None:
    sent = measured(record())
    sent.files[name] = b" " * (FILES[name] + 1)
    with pytest.raises(LevelfieldError, match=f"of {name}, which has"):
        keep(sent, asked(), fleet, ())
    assert nothing_was_written(fleet)


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b'{"schema": 99}', b"\xff\xfe", b"null"])
def test_what_is_no_record_is_refused(fleet: Path, content: bytes) -> None:
    with pytest.raises(LevelfieldError):
        keep(Measured("run-1", {REPORT: content}), asked(), fleet, ())
    assert nothing_was_written(fleet)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lock_sha256": "0" * 64}, "the lock of onnxruntime"),
        ({"tag": "levelfield/onnxruntime:other"}, "onnxruntime is levelfield/onnxruntime:other"),
        ({"layers": ("sha256:" + "0" * 64,)}, "the layers of onnxruntime"),
        ({"variant": "cu13"}, "onnxruntime cu13 was not asked for"),
        ({"launcher": "venv", "lock_sha256": "0" * 64}, "the lock of onnxruntime"),
    ],
)
def test_other_images_are_refused_for_good(fleet: Path, change: dict[str, object], says: str) -> None:
    run = record()
    (image,) = run.images
    other = msgspec.structs.replace(run, images=(msgspec.structs.replace(image, **change),))
    with pytest.raises(RefusedError, match=says):
        keep(measured(other), asked(), fleet, ())
    assert nothing_was_written(fleet)


def test_layers_are_compared_only_where_the_head_has_them(fleet: Path) -> None:
    wanted = {name: msgspec.structs.replace(each, layers=()) for name, each in expected(record()).items()}
    (image,) = record().images
    other = record(images=(msgspec.structs.replace(image, layers=("sha256:" + "0" * 64,)),))
    assert keep(measured(other), asked(images=wanted), fleet, ()).run == other.id


def test_a_page_is_rendered_here_whatever_was_sent_around_the_record(fleet: Path) -> None:
    run = record()
    page = measured(run).files[REPORT].decode()
    evil = page.replace("</body>", '<img src="http://192.0.2.1/x"></body>', 1)
    keep(measured(run, **{REPORT: evil.encode()}), asked(), fleet, ())
    assert (fleet / "node-01" / run.id / REPORT).read_text() == page
    for junk in (b"<html>", b"\xff", b"<html>\xff"):
        with pytest.raises(LevelfieldError):
            keep(measured(run, **{REPORT: junk}), asked(node="node-02"), fleet, ())


@pytest.mark.parametrize(
    ("changes", "wanted", "says"),
    [
        ({}, {"seed": 1}, "another seed"),
        ({}, {"launcher": "venv"}, "the launcher docker, not venv"),
        ({}, {"tool_sha256": "0" * 64}, "another Levelfield"),
        ({"finished": None}, {}, "did not end"),
        ({"machine": {"identity": {"host": "db-17"}}}, {}, "names its host"),
    ],
)
def test_what_was_not_asked_for_is_refused(
    fleet: Path, changes: dict[str, object], wanted: dict[str, object], says: str
) -> None:
    with pytest.raises(RefusedError if "tool_sha256" in wanted else LevelfieldError, match=says):
        keep(measured(record(**changes)), asked(**wanted), fleet, ())
    assert nothing_was_written(fleet)


def test_the_record_of_another_run_and_no_record_are_refused(fleet: Path) -> None:
    run = record()
    with pytest.raises(LevelfieldError, match="sent no record"):
        keep(Measured("run-1", {}), asked(), fleet, ())
    with pytest.raises(LevelfieldError, match="was sent"):
        keep(Measured("run-1", measured(run).files), asked(), fleet, ())
    with pytest.raises(LevelfieldError, match="which another node sent"):
        keep(measured(run), asked(), fleet, {run.id})
    assert nothing_was_written(fleet)
