"""Baselines: a name for runs, found again as they were; and one that was edited is found out."""

import shutil
from pathlib import Path

import msgspec
import pytest

from levelfield.compare import baselines
from levelfield.errors import LevelfieldError
from levelfield.record import files
from tests.compare.runs import run
from tests.records_builder import kept
from tests.unprivileged import ordinary_user


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    folder = tmp_path / "reports"
    for name in ("a", "b"):
        kept(run(name), folder / name)
    return folder


def record(reports: Path, name: str) -> Path:
    return reports / name / files.NAME


def test_it_is_read_as_it_was_set(reports: Path) -> None:
    made = baselines.define("good", [record(reports, "a"), record(reports, "b")], reports)
    assert baselines.read("good", reports) == made
    assert [pointer.file for pointer in made.runs] == ["a/run.json", "b/run.json"]
    assert baselines.records(made, reports) == [record(reports, "a"), record(reports, "b")]
    assert [each.name for each in baselines.all_of(reports)] == ["good"]


def test_an_edited_run_is_found_out(reports: Path) -> None:
    made = baselines.define("good", [record(reports, "a")], reports)
    content = record(reports, "a").read_bytes()
    record(reports, "a").write_bytes(content.replace(b'"threads":2', b'"threads":4'))
    with pytest.raises(LevelfieldError, match="was changed since it became part of the baseline good"):
        baselines.records(made, reports)
    record(reports, "a").write_bytes(content)
    assert baselines.records(made, reports)


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../up", "a b", "x" * 65, "-x"])
def test_names_are_names_of_files(reports: Path, name: str) -> None:
    with pytest.raises(LevelfieldError, match="A baseline cannot be called"):
        baselines.define(name, [record(reports, "a")], reports)


def test_a_name_that_is_not_there(reports: Path) -> None:
    baselines.define("good", [record(reports, "a")], reports)
    with pytest.raises(LevelfieldError, match=r"There is no baseline called 'god'\. Did you mean 'good'"):
        baselines.read("god", reports)
    with pytest.raises(LevelfieldError, match="There is no baseline called"):
        baselines.read("../a/run", reports)


def test_a_folder_that_may_not_be_listed_has_not_no_baselines(reports: Path) -> None:
    baselines.define("good", [record(reports, "a")], reports)
    (reports / baselines.FOLDER).chmod(0)
    with ordinary_user(), pytest.raises(LevelfieldError, match="cannot be read: Permission denied"):
        baselines.all_of(reports)


def test_runs_elsewhere_and_runs_twice(reports: Path, tmp_path: Path) -> None:
    files.write(run("c"), tmp_path)
    with pytest.raises(LevelfieldError, match="does not lie under"):
        baselines.define("good", [tmp_path / files.NAME], reports)
    shutil.copytree(reports / "a", reports / "copy")
    for again in ("a", "copy"):
        with pytest.raises(LevelfieldError, match="The run a is named twice"):
            baselines.define("good", [record(reports, "a"), record(reports, again)], reports)


@pytest.mark.parametrize("pointer", ["/etc/passwd", "../../secret", "a/../../secret", ""])
def test_a_stranger_s_baseline_leads_nowhere_else(reports: Path, pointer: str) -> None:
    made = baselines.Baseline("bad", "now", (baselines.Pointer(pointer, "0"),))
    with pytest.raises(LevelfieldError, match="names a file outside of"):
        baselines.records(made, reports)


def test_a_baseline_that_names_a_run_many_times_is_not_read(reports: Path) -> None:
    made = baselines.define("good", [record(reports, "a")], reports)
    file = reports / baselines.FOLDER / "good.json"
    for runs, says in ((made.runs * 2, "names a run twice"), (made.runs * 1_001, "is not a baseline")):
        file.write_bytes(msgspec.json.encode(msgspec.structs.replace(made, runs=runs)))
        with pytest.raises(LevelfieldError, match=says):
            baselines.read("good", reports)


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b'{"name":"bad","set_at":"","runs":[]}', b" " * 2_000_000])
def test_a_damaged_baseline_is_one_sentence(reports: Path, content: bytes) -> None:
    (reports / baselines.FOLDER).mkdir()
    (reports / baselines.FOLDER / "bad.json").write_bytes(content)
    with pytest.raises(LevelfieldError) as caught:
        baselines.read("bad", reports)
    assert len(str(caught.value).splitlines()) == 1
    assert "baseline set" in caught.value.fix
