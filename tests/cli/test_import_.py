"""`levelfield import`, and what the other commands make of its runs."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from levelfield.cli.main import cli
from levelfield.errors import LevelfieldError
from tests.imported.recorded import FOLDER, files


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=True)


def said(*words: str | Path) -> str:
    """The one sentence with which a command ends."""
    found = run(*words)
    assert isinstance(found.exception, LevelfieldError), found.output
    return str(found.exception)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of all recorded files."""
    folder = tmp_path_factory.mktemp("imported")
    found = run("import", *files(), "--reports", folder)
    assert found.exit_code == 0, found.output
    return folder


def runs_of(reports: Path, name: str) -> list[str]:
    """The ids of the runs of a file, or of the several with that beginning, in order of time."""
    from levelfield.record import files as records

    found = [records.read(folder) for folder in records.runs_in(reports)]
    return [one.id for one in sorted(found, key=lambda one: one.started) if one.imported and one.imported.tool == name]


def test_each_says_what_it_is_and_what_it_lacks(reports: Path) -> None:
    assert len(list(reports.glob("*/report.html"))) == len(files())
    for page in reports.glob("*/report.html"):
        text = page.read_text(encoding="utf-8")
        assert "Levelfield measured none of it" in text
        assert "Not in the file: what the machine did meanwhile" in text
        assert "not watched" in text
        assert "batch 1" not in text


def test_three_runs_a_side_are_judged(reports: Path) -> None:
    a, b, c, d, e, f = runs_of(reports, "pyperf")
    sides = ("--old", a, "--old", b, "--old", c, "--new", d, "--new", e, "--new", f)
    found = run("compare", *sides, "--reports", reports)
    assert found.exit_code == 3, found.output
    plain = " ".join(found.output.split())
    assert "sort a list," in plain
    assert "inconclusive" in plain
    assert "Imported from a file of pyperf 2.11.0: Levelfield measured none of it" in plain
    assert "All runs of one side were made before all runs of the other" in plain
    found = run("compare", *sides, "--max-slowdown", "10%", "--only", "pyperf/sort*", "--reports", reports)
    assert found.exit_code == 0, found.output


def test_history_and_gates_take_them(reports: Path) -> None:
    listed = run("history", "--reports", reports).output
    assert "pyperf/sort a list/latency/unknown" in listed
    assert "another tool’s" in listed
    names = runs_of(reports, "pyperf")
    assert run("baseline", "set", "ours", *names[:-1], "--reports", reports).exit_code == 0
    derived = run("baseline", "derive", "ours", "--same-day", "--output", reports / "ours.toml", "--reports", reports)
    assert derived.exit_code == 0, derived.output
    judged = run("compare", "--gate", reports / "ours.toml", names[-1], "--reports", reports)
    assert judged.exit_code == 0, judged.output
    assert "Imported from a file of pyperf" in judged.output


def test_without_a_processor_no_gate_is_derived(reports: Path, tmp_path: Path) -> None:
    names = []
    for number in range(3):
        text = (FOLDER / "hyperfine-1.15.0.json").read_text().replace("0.0040337030000000005", f"0.004{number}")
        (tmp_path / f"{number}.json").write_text(text)
        assert run("import", tmp_path / f"{number}.json", "--reports", tmp_path / "reports").exit_code == 0
    names = runs_of(tmp_path / "reports", "hyperfine")
    run("baseline", "set", "them", *names, "--reports", tmp_path / "reports")
    assert "on hardware that is not known" in said("baseline", "derive", "them", "--reports", tmp_path / "reports")


def test_a_file_is_imported_once_and_nothing_is_made_where_one_is_refused(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "pyperf-2.11.0-1.json", tmp_path / "copy.json")
    first, other = FOLDER / "pyperf-2.11.0-1.json", FOLDER / "hyperfine-1.15.0.json"
    assert "given twice" in said("import", first, tmp_path / "copy.json", "--reports", tmp_path / "r")
    (tmp_path / "x.json").write_text("{}")
    assert "Read are files of" in said("import", other, tmp_path / "x.json", "--reports", tmp_path / "r")
    assert not (tmp_path / "r").exists()
    assert run("import", first, "--reports", tmp_path / "r").exit_code == 0
    assert "was imported before" in said("import", tmp_path / "copy.json", "--reports", tmp_path / "r")


def test_it_is_not_reproduced(reports: Path) -> None:
    (name, *_) = runs_of(reports, "pyperf")
    assert "imported from a file of pyperf" in said("reproduce", reports / name, "--dry-run")
