"""`levelfield import`: what becomes of files, and what the other commands make of its runs."""

import contextlib
import random
import shutil
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from click.testing import Result as Called

from levelfield import analysis
from levelfield.analysis import guarded
from levelfield.cli.main import cli
from levelfield.errors import LevelfieldError
from levelfield.record import files as records
from levelfield.record.schema import Absent, Run
from levelfield_readers import importing, making
from levelfield_readers.recorded import NOT_SAID, Recorded, Result, Timed
from tests import plugged

DATA = Path(__file__).parent / "data"
FILES = sorted(path for path in DATA.iterdir() if path.suffix != ".md")
NOW = "2026-01-02T03:04:05Z"


def run(*words: str | Path) -> Called:
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=True)


def sentence(*words: str | Path) -> str:
    """The one sentence with which a command ends."""
    called = run(*words)
    assert isinstance(called.exception, LevelfieldError), called.output
    return str(called.exception)


def make(recorded: Recorded) -> Run:
    made = making.make(recorded, sha256="ab" * 32, now=NOW, tool_sha256="", command=("levelfield", "import"))
    return guarded.decode(msgspec.json.encode(made), "it")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of all recorded files."""
    folder = tmp_path_factory.mktemp("imported")
    called = run("import", *FILES, "--reports", folder)
    assert called.exit_code == 0, called.output
    return folder


def runs_of(reports: Path, tool: str) -> list[str]:
    """The ids of the runs of a tool's files, in order of time."""
    runs = sorted(map(records.read, records.runs_in(reports)), key=lambda one: one.started)
    return [one.id for one in runs if one.imported and one.imported.tool == tool]


@pytest.mark.parametrize("written", [b"", b"hello", b"{}", b"\xff\xfe" * 100, b'{"results": []}'])
def test_other_files_are_refused_with_a_list_of_what_is_read(written: bytes) -> None:
    with pytest.raises(LevelfieldError, match=r"it\.json is of no tool .* Read are files of .*hyperfine .*, pyperf"):
        importing.parse(written, "it.json")
    with pytest.raises(LevelfieldError, match="holds no result that can be taken"):
        importing.parse(b'{"benchmarks": [], "metadata": {"perf_version": "2"}}', "it.json")


def test_another_distribution_brings_a_reader(tmp_path: Path) -> None:
    (tmp_path / "brings_reader").mkdir()
    (tmp_path / "brings_reader" / "__init__.py").write_text(
        "from levelfield_readers.recorded import *\n"
        "READER = Reader('the example tool', (b'example:',), "
        "lambda content: Recorded('example', NOT_SAID, (Result('one', ((Timed(int(content[8:])),),)),)))\n"
    )
    points = {importing.GROUP: {"example": "brings_reader:READER", "broken": "brings_reader:NONE"}}
    plugged.metadata(tmp_path, "brings-reader", "1.0", points)
    with plugged.on_path(tmp_path):
        assert make(importing.parse(b"example:500", "it")).blocks[0].case.id == "one/latency/unknown"
        with pytest.raises(LevelfieldError, match=r"the example tool.* brings-reader 1\.0 brings no reader broken"):
            importing.parse(b"?", "it")


def test_a_file_is_a_plain_one_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LevelfieldError, match="cannot be read"):
        importing.read(tmp_path)
    with pytest.raises(LevelfieldError, match="No such file"):
        importing.read(tmp_path / "none")
    monkeypatch.setattr(importing, "MAX_PARTS", 10)
    with pytest.raises(LevelfieldError, match="more than 10 launches"):
        importing.read(DATA / "hyperfine-1.15.0.json")
    monkeypatch.setattr(importing, "MAX_VALUES", 10)
    with pytest.raises(LevelfieldError, match="more than 10 values"):
        importing.read(DATA / "hyperfine-1.15.0.json")
    monkeypatch.setattr(importing, "MAX_BYTES", 100)
    with pytest.raises(LevelfieldError, match="longer than 100 bytes"):
        importing.read(DATA / "hyperfine-1.15.0.json")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_damaged_files_become_a_record_or_one_sentence(path: Path) -> None:
    tool = importing.read(path)[0].tool.casefold()
    assert path.name.startswith(tool.removeprefix("mlperf ").replace(" ", "-"))
    drawn = random.Random(path.name)
    whole = path.read_bytes()
    for _ in range(40):
        start = drawn.randrange(len(whole))
        junk = drawn.choice([drawn.randbytes(3), b"1e999", b"-1", b"9" * 40, b'"\\u202e<script>"', b"null"])
        spoiled = whole[:start] + junk + whole[start + drawn.randrange(40) :]
        with contextlib.suppress(LevelfieldError):  # nothing else may be raised
            make(importing.parse(spoiled, path.name))


def test_a_process_is_a_launch_and_a_loop_is_a_sample() -> None:
    recorded, _ = importing.read(DATA / "pyperf-2.11.0-1.json")
    made = make(recorded)
    assert (made.id, made.started) == ("20261126-051908-imported-abababab", "2026-11-26T05:19:08Z")
    block = analysis.analyse(made).timed[1]
    (row,) = block.rows
    assert block.case.id == "dict lookup/latency/unknown"
    assert (row.standing, row.counts.launches, row.cpu_cores) == ("shown", 5, None)
    assert row.counts.calls == sum(sample.calls for launch in recorded.results[1].launches for sample in launch)
    assert row.call_ns is not None
    assert row.call_ns.value % 1, "it is not rounded to whole nanoseconds of a call"


def test_a_rate_is_that_of_the_file() -> None:
    (block,) = analysis.analyse(make(importing.read(DATA / "loadgen-6.0.17-offline.txt")[0])).timed
    assert block.rows[0].items_per_second is not None
    assert block.rows[0].items_per_second.value == pytest.approx(619.195)


def test_what_failed_or_has_no_times_is_no_result() -> None:
    results = (Result("a", ((Timed(5),),), failure="it broke"), Result("b", ()), Result("b", ((Timed(7),),)))
    made = make(Recorded("x", NOT_SAID, results))
    assert made.started == NOW
    assert made.imported is not None
    assert isinstance(made.imported.recorded, Absent)
    rows = {block.case.model: block.rows[0] for block in analysis.analyse(made).timed}
    assert [(name, row.standing, row.reason) for name, row in rows.items()] == [
        ("a", "failed", "it broke"),
        ("b", "failed", "the file holds no time of it"),
        ("b (2)", "shown", "its output was not compared with the reference"),
    ]


def test_each_says_what_it_is_and_what_it_lacks(reports: Path) -> None:
    assert len(list(reports.glob("*/report.html"))) == len(FILES)
    for page in reports.glob("*/report.html"):
        text = page.read_text(encoding="utf-8")
        assert "Levelfield measured none of it" in text
        assert "Not in the file: what the machine did meanwhile" in text
        assert "not watched" in text
        assert "batch 1" not in text


def test_three_runs_a_side_are_judged(reports: Path) -> None:
    a, b, c, d, e, f = runs_of(reports, "pyperf")
    sides = ("--old", a, "--old", b, "--old", c, "--new", d, "--new", e, "--new", f)
    called = run("compare", *sides, "--reports", reports)
    assert called.exit_code == 3, called.output
    plain = " ".join(called.output.split())
    assert "sort a list," in plain
    assert "not decided" in plain
    assert "Imported from a file of pyperf 2.11.0: Levelfield measured none of it" in plain
    assert "All runs of one side were made before all runs of the other" in plain
    called = run("compare", *sides, "--max-slowdown", "10%", "--only", "pyperf/sort*", "--reports", reports)
    assert called.exit_code == 0, called.output


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


def test_without_a_processor_no_gate_is_derived(tmp_path: Path) -> None:
    for number in range(3):
        text = (DATA / "hyperfine-1.15.0.json").read_text().replace("0.0040337030000000005", f"0.004{number}")
        (tmp_path / f"{number}.json").write_text(text)
        assert run("import", tmp_path / f"{number}.json", "--reports", tmp_path / "reports").exit_code == 0
    names = runs_of(tmp_path / "reports", "hyperfine")
    run("baseline", "set", "them", *names, "--reports", tmp_path / "reports")
    assert "on hardware that is not known" in sentence("baseline", "derive", "them", "--reports", tmp_path / "reports")


def test_a_file_is_imported_once_and_nothing_is_made_where_one_is_refused(tmp_path: Path) -> None:
    shutil.copy(DATA / "pyperf-2.11.0-1.json", tmp_path / "copy.json")
    first, other = DATA / "pyperf-2.11.0-1.json", DATA / "hyperfine-1.15.0.json"
    assert "given twice" in sentence("import", first, tmp_path / "copy.json", "--reports", tmp_path / "r")
    (tmp_path / "x.json").write_text("{}")
    assert "Read are files of" in sentence("import", other, tmp_path / "x.json", "--reports", tmp_path / "r")
    assert not (tmp_path / "r").exists()
    assert run("import", first, "--reports", tmp_path / "r").exit_code == 0
    assert "was imported before" in sentence("import", tmp_path / "copy.json", "--reports", tmp_path / "r")


def test_it_is_not_reproduced(reports: Path) -> None:
    (name, *_) = runs_of(reports, "pyperf")
    assert "imported from a file of pyperf" in sentence("reproduce", reports / name, "--dry-run")
