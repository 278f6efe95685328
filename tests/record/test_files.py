"""Records on disk: whole or not at all; and records from strangers, which are only data."""

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from levelfield.analysis import analyse
from levelfield.errors import LevelfieldError
from levelfield.record import bounds, files
from levelfield.record.schema import SCHEMA, Run
from levelfield.report import html
from tests.records_builder import make_run

RUN = make_run(models=["mlp"], backends=["jax"], scenarios=["latency"], generations=1, rounds=1, max_calls=5)
PLAIN: dict[str, Any] = msgspec.to_builtins(RUN)


def changed(**fields: object) -> bytes:
    return msgspec.json.encode({**PLAIN, **fields})


CALIBRATED = {
    "finished": "2026-11-20T10:00:00Z", "backend": "onnxruntime", "model": "resnet50", "launches": 5, "runs": 40,
    "different": 0, "same": 38, "margin": 0.02, "minimum_detectable_effect": 0.03,
}  # fmt: skip
DRAW = {"run": "r", "started": "2026-11-20T10:00:00Z", "arm": "jax", "case": "c", "ratio": 1.0}


def test_a_record_is_read_from_its_folder_and_from_its_file(tmp_path: Path) -> None:
    path = files.write(RUN, tmp_path)
    assert files.read(tmp_path) == RUN
    assert files.read(path) == RUN
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_record_beside_a_page_of_another_one_is_refused(tmp_path: Path) -> None:
    files.write(RUN, tmp_path)
    page = html.render(RUN, analyse(RUN))
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    assert files.read(tmp_path) == RUN
    (tmp_path / "report.html").write_text("<p>Of an earlier version, without a record.</p>", encoding="utf-8")
    assert files.read(tmp_path) == RUN
    other = msgspec.structs.replace(RUN, started="2026-01-02T00:00:00Z")
    (tmp_path / "report.html").write_text(html.render(other, analyse(other)), encoding="utf-8")
    for path in (tmp_path, tmp_path / files.NAME):
        with pytest.raises(LevelfieldError, match=r"run\.json is not the record inside report\.html"):
            files.read(path)


def test_a_name_that_is_too_long_is_no_record(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match="File name too long"):
        files.read(tmp_path / ("9" * 400))


def test_a_missing_record(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match=r"cannot be read: No such file") as caught:
        files.read(tmp_path)
    assert "its page" in caught.value.fix


@pytest.mark.parametrize("endless", ["/dev/zero", "pipe"])
def test_what_never_ends_is_not_read(tmp_path: Path, endless: str) -> None:
    link = tmp_path / "run.json"
    if endless == "pipe":
        os.mkfifo(link)
    else:
        link.symlink_to(endless)
    with pytest.raises(LevelfieldError, match="not a plain file"):
        files.read(tmp_path)


def test_a_newer_schema_is_refused_by_name() -> None:
    with pytest.raises(LevelfieldError, match=f"has schema {SCHEMA + 1}; this Levelfield reads up to {SCHEMA}"):
        files.decode(changed(schema=SCHEMA + 1, machine="of another shape by then"), "run.json")


@pytest.mark.parametrize(
    "content",
    [
        b'{"schema": "1"}', b'{"schema": 1, "id": "\xff"}', b"[" * 200_000,
        b'{"schema": 1, "blocks": ' + b"[" * 200_000, b'{"schema": 1, "nobody asked for this": ' + b"[" * 200_000,
    ],
)  # fmt: skip
def test_what_is_no_record_ends_in_one_sentence(content: bytes) -> None:
    with pytest.raises(LevelfieldError) as caught:
        files.decode(content, "run.json")
    assert caught.value.exit_code == 2
    assert caught.value.message.startswith("run.json")
    assert caught.value.fix
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("fields", "says"),
    [({"depth": 5}, "latency at a depth of 5"), ({"growing_cache": True}, "latency with a growing cache")],
)
def test_a_cache_is_of_what_answers_token_by_token(fields: dict[str, Any], says: str) -> None:
    (block, *_) = PLAIN["blocks"]
    content = changed(blocks=[block | {"case": block["case"] | fields}])
    with pytest.raises(LevelfieldError, match=says):
        files.check(files.decode(content, "run.json"), "run.json")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (changed(calibrated=CALIBRATED | {"runs": 0, "same": 0}), "a calibration with 0 and 0 of 0 runs"),
        (changed(calibrated=CALIBRATED | {"same": -1}), "a calibration with 0 and -1 of 40 runs"),
        (changed(earlier_controls=[DRAW | {"ratio": 0}]), "an earlier control with a ratio below zero"),
    ],
)
def test_what_no_run_can_know_beforehand(content: bytes, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        files.check(files.decode(content, "run.json"), "run.json")
    files.check(files.decode(changed(calibrated=CALIBRATED, earlier_controls=[DRAW]), "run.json"), "run.json")


def test_the_field_that_is_wrong_is_named() -> None:
    with pytest.raises(LevelfieldError, match=r"\$\.settings\.seed"):
        files.decode(changed(settings={**PLAIN["settings"], "seed": "one"}), "run.json")


@pytest.mark.parametrize("changes", [{"colour": "blue"}, {"settings": {**PLAIN["settings"], "colour": "blue"}}])
def test_fields_that_no_version_writes_are_refused(changes: dict[str, Any]) -> None:
    """What is not read is shown by no page, and would be signed all the same."""
    with pytest.raises(LevelfieldError, match="unknown field `colour`"):
        files.decode(changed(**changes), "run.json")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_record_is_read_or_refused_and_nothing_else(data: st.DataObject) -> None:
    content = bytearray(msgspec.json.encode(RUN))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = files.decode(bytes(content), "run.json")
    except LevelfieldError as error:
        assert error.message.startswith("run.json")  # noqa: PT017  (either outcome is right)
    else:
        assert isinstance(read, Run)


def test_a_full_disk_keeps_the_old_record(small_disk: Path) -> None:
    path = small_disk / "run.json"
    files.write_atomically(path, b"old")
    with pytest.raises(LevelfieldError, match=r"cannot be written: No space left on device") as caught:
        files.write_atomically(path, bytes(1 << 20))
    assert "--reports" in caught.value.fix
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in small_disk.iterdir()] == ["run.json"]


def test_a_read_only_folder(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if os.getuid() == 0:  # root writes wherever the file system lets it
        tmp_path = request.getfixturevalue("small_disk")
        subprocess.run(["mount", "-o", "remount,ro", tmp_path], check=True)
    else:
        tmp_path.chmod(0o500)
    with pytest.raises(LevelfieldError, match=r"cannot be written: (Read-only file system|Permission denied)"):
        files.write(RUN, tmp_path)


@pytest.mark.parametrize(
    ("limit", "what"),
    [
        ("MAX_BLOCKS", "cases"), ("MAX_ARMS", "arms of one case"), ("MAX_RESULTS", "results"),
        ("MAX_WINDOWS", "windows"), ("MAX_ROUNDS", "rounds"), ("MAX_ROUND_ARMS", "places"), ("MAX_FACTS", "facts"),
    ],
)  # fmt: skip
def test_one_more_than_a_run_may_hold_is_refused(monkeypatch: pytest.MonkeyPatch, limit: str, what: str) -> None:
    run = make_run(models=("mlp",), backends=("jax", "torch"), scenarios=("latency", "memory"), generations=2, rounds=2)
    bounds.check(run, "run.json")
    monkeypatch.setattr(bounds, limit, 1)
    with pytest.raises(LevelfieldError, match=rf"run.json holds \d+ {what}, and a run has no more than 1"):
        bounds.check(run, "run.json")
