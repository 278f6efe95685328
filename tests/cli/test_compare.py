"""`levelfield compare`, `baseline` and `history` as people type them, in processes of their own."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from levelfield.record import files
from tests import commands
from tests.analysis.many import LATENCY, name, small_run, summaries, write_run, write_summaries
from tests.commands import call, one_clear_sentence
from tests.compare import gates
from tests.compare.runs import run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `reports/`: three old runs, three new ones in which onnxruntime is slower."""
    folder = tmp_path_factory.mktemp("compare")
    for number in range(3):
        for side, slower in (("old", {}), ("new", {"onnxruntime": 1.25})):
            made = run(f"{side}-{number}", number + 10 * len(slower), slower=slower, noise_scale=0.1)
            gates.keep(made, folder / "reports")
    return folder


MANY = ["--old", "old-0", "old-1", "old-2", "--new", "new-0", "new-1", "new-2"]


@pytest.mark.parametrize(
    "words",
    [
        [word for side in ("old", "new") for number in range(3) for word in (f"--{side}", f"{side}-{number}")],
        ["old-0", "new-0", "--old", "old-1", "old-2", "--new", "new-1", "--margin", "2%", "--new", "new-2"],
        ["--old", "old-1", "old-2", "--margin", "2%", "old-0", "new-0", "--new=new-1", "--new", "new-2"],
    ],
)
def test_sides_are_named_by_their_order_or_by_options(place: Path, words: list[str]) -> None:
    compared = json.loads(commands.call("compare", *words, "--json", folder=place).out)
    for side in ("old", "new"):
        assert sorted(run["id"] for run in compared[side]["runs"]) == [f"{side}-{number}" for number in range(3)]


def test_three_runs_a_side_and_all_formats(place: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / f"found.{ending}" for ending in ("md", "xml", "json", "html", "txt")]
    words = [word for path in outputs for word in ("--output", path)]
    command = commands.call("compare", *MANY, *words, folder=place, code=1)
    assert command.out.startswith("Worse: onnxruntime on MLP (latency, batch 1): 2")
    assert all(f"Written: {path}\n" in command.err for path in outputs)
    assert all("Worse: onnxruntime" in path.read_text(encoding="utf-8")[:3000] for path in outputs)
    assert json.loads(outputs[2].read_text(encoding="utf-8"))["exit_code"] == 1
    assert ET.parse(outputs[1]).getroot().attrib["failures"] == "1"


def test_a_slowdown_that_is_allowed_is_no_regression(place: Path) -> None:
    commands.call("compare", *MANY, "--max-slowdown", "30%", folder=place, code=0)


def test_a_part_of_the_cases_as_json_on_stdout(place: Path) -> None:
    command = commands.call("compare", *MANY, "--only", "jax/*", "--format", "json", folder=place, code=0)
    assert [row["id"] for row in json.loads(command.out)["rows"]] == ["jax/mlp/latency/fp32/b1/t2/cpu"]


def test_a_baseline(place: Path) -> None:
    command = commands.call("baseline", "list", folder=place)
    assert "There are no baselines" in command.out
    command = commands.call("baseline", "set", "good", "old-0", "old-1", "old-2", folder=place, code=0)
    assert "The baseline good is 3 runs" in command.out
    command = commands.call("compare", "--baseline", "good", "new-0", "new-1", "new-2", folder=place, code=1)
    assert "old: baseline good" in command.out
    assert "unchanged" in commands.call("baseline", "list", folder=place).out
    record = place / "reports" / "old-1" / "run.json"
    content = record.read_bytes()
    record.write_bytes(content.replace(b'"seed":1,', b'"seed":2,', 1))
    command = commands.call("compare", "--baseline", "good", "new-0", folder=place)
    one_clear_sentence(command, "was changed since it became part of the baseline good")
    assert "was changed" in commands.call("baseline", "list", folder=place).out
    record.write_bytes(content)


def test_a_copy_of_a_run_under_another_name_counts_once(tmp_path: Path) -> None:
    made = run("one")
    for each in (made, msgspec.structs.replace(made, id="copy")):
        gates.keep(each, tmp_path / "reports")
    command = commands.call("compare", "one", "copy", folder=tmp_path)
    one_clear_sentence(command, "The runs one and copy hold the same measurements.")


def test_runs_that_share_launches_are_one(tmp_path: Path) -> None:
    made = run("one", generations=5)
    block = msgspec.structs.replace(made.blocks[0], generations=made.blocks[0].generations[:-1], planned_generations=4)
    for each in (made, msgspec.structs.replace(made, id="part", blocks=(block, *made.blocks[1:]))):
        gates.keep(each, tmp_path / "reports")
    command = commands.call("compare", "one", "part", folder=tmp_path)
    one_clear_sentence(command, "The runs one and part hold the same measurements.")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["old-0", "new"], "There is no run called 'new'. Did you mean 'new-"),
        (["old-0", "old-0"], "The run old-0 is named on both sides."),
        (["old-0", "."], "holds no record"),
        (["old-0", "new-0", "--only", "torch/*"], "No case is left to compare with --only torch/*."),
        (["--baseline", "none", "new-0"], "There is no baseline called 'none'."),
        (["old-0", "new-0", "--output", "gone/found.md"], "cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(place: Path, words: list[str], says: str) -> None:
    one_clear_sentence(commands.call("compare", *words, folder=place), says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["old-0"], "by their order, and 1 was named"),
        (["old-0", "new-0", "new-1"], "and 3 were named. Name the sides: compare --old A B C --new D E F."),
        ([], "Name the old and the new side"),
        (["--baseline", "good"], "name the new runs alone"),
        (["old-0", "new-0", "--output", "found.docx"], "names no format"),
        (["old-0", "new-0", "--metric", "speed"], "'training', 'convergence', 'data-pipeline', 'cold-start'"),
        (["old-0", "new-0", "--max-slowdown", "fast"], "not a percentage such as"),
    ],
)
def test_what_cannot_be_understood(place: Path, words: list[str], says: str) -> None:
    one_clear_sentence(commands.call("compare", *words, folder=place), says, "See `levelfield compare --help`.")


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `reports/`, five unchanged runs, their gate, and new runs."""
    folder = tmp_path_factory.mktemp("gate")
    reports = gates.unchanged(folder)
    gates.new(reports, 11, 12)
    gates.keep(gates.record("slow", 13, slower={"onnxruntime": 2.0}), reports)
    derived = commands.call("baseline", "derive", gates.BASELINE, folder=folder, code=0)
    assert "Gate: good.gate.toml" in derived.out
    return folder


def test_a_derived_gate_passes_and_fails(gated: Path, tmp_path: Path) -> None:
    assert commands.call("compare", "--gate", "good.gate.toml", "new-11", folder=gated).code == 0
    assert commands.call("compare", "--gate", "good.gate.toml", "new-11", "new-12", folder=gated).code == 0
    outputs = [tmp_path / f"found.{ending}" for ending in ("md", "xml", "json", "html", "txt")]
    words = [word for path in outputs for word in ("--output", path)]
    command = commands.call("compare", "--gate", "good.gate.toml", "slow", *words, folder=gated, code=1)
    assert command.out.startswith("Worse: onnxruntime on MLP (latency, batch 1): ")
    assert all("5 runs of baseline good spread by" in path.read_text(encoding="utf-8") for path in outputs)
    found = json.loads(outputs[2].read_text(encoding="utf-8"))
    assert found["gate"]["derived"]["false_alarms"] == 0.01
    worse = found["rows"][0]
    assert worse["new"] > worse["limit"] > worse["old"]
    assert worse["finds"] > 1
    assert ET.parse(outputs[1]).getroot().attrib["failures"] == "1"


def test_a_copy_of_a_run_of_the_gate_is_no_new_run(gated: Path, tmp_path: Path) -> None:
    known = files.read(gated / "reports" / "old-1")
    gates.keep(msgspec.structs.replace(known, id="copy"), tmp_path / "reports")
    words = ("--gate", "good.gate.toml", tmp_path / "reports" / "copy")
    one_clear_sentence(commands.call("compare", *words, folder=gated), "hold the same measurements")


def test_what_was_asked_and_cannot_be_found_is_not_decided(gated: Path) -> None:
    commands.call("compare", "--gate", "good.gate.toml", "new-11", "--max-slowdown", "0.01%", folder=gated, code=3)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["compare", "--gate", "none.toml", "new-11"], "none.toml cannot be read"),
        (["compare", "--gate", "reports/new-11/run.json", "new-11"], "is not a gate"),
        (["compare", "--gate", "good.gate.toml", "old-1"], "The run old-1 is named on both sides."),
        (["baseline", "derive", "bad"], "There is no baseline called 'bad'."),
        (["baseline", "derive", "good", "-o", "gone/gate.toml"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(gated: Path, words: list[str], says: str) -> None:
    one_clear_sentence(commands.call(*words, folder=gated), says)


@pytest.mark.parametrize(
    "words",
    [["--gate", "good.gate.toml"], ["--gate", "g", "--old", "a", "b"], ["--gate", "g", "--baseline", "good", "b"]],
)
def test_what_no_gate_is_compared_with(gated: Path, words: list[str]) -> None:
    command = commands.call("compare", *words, folder=gated, code=2)
    assert "Traceback" not in command.err
    assert "gate" in command.err


def write_year(reports: Path, template: Path) -> None:
    """Write forty runs, of which the last fifteen are 13 % slower."""
    reports.mkdir(exist_ok=True)
    made = summaries(write_run(small_run(), template), 40, level=lambda day: 1.13 if day >= 25 else 1.0)
    write_summaries(made, reports)


def test_a_trend_with_its_change_and_what_changed(tmp_path: Path) -> None:
    write_year(tmp_path / "year", tmp_path / "run")
    command = call("history", "onnxruntime/mlp/latency", "--reports", "year", folder=tmp_path)
    assert command.code == 0, command.err
    first = command.out.strip().splitlines()[0]
    assert first.startswith(LATENCY)
    assert "% slower since 2026-01-30 (15 runs)" in first
    assert "image onnxruntime" in command.out
    assert re.search(r"was +is *\n", command.out)
    assert re.search(r"image onnxruntime .* 1\.40\S* +1\.41", command.out)
    assert name(39) in command.out
    assert "changes under 2.0\u00a0% are not called" in command.out


def test_no_folder_and_no_runs(tmp_path: Path) -> None:
    one_clear_sentence(call("history", "--reports", "nothing", folder=tmp_path), "There is no folder nothing")
    (tmp_path / "reports").mkdir()
    assert "holds no runs" in call("history", folder=tmp_path).out
    one_clear_sentence(call("history", "mlp", folder=tmp_path), "holds no runs")


def test_folders_that_were_copied_are_read_and_broken_ones_named(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    made = write_run(small_run(), reports / "20261121-101500-standard", summarised=False)
    (reports / "broken").mkdir()
    (reports / "broken" / files.NAME).write_text("{}", encoding="utf-8")
    command = call("history", "mlp/latency", folder=tmp_path)
    assert command.code == 0, command.err
    assert "broken is left out: " in command.out
    assert f"analysing {made.id}" in command.out


def test_a_run_that_is_no_result_is_shown_when_asked(tmp_path: Path) -> None:
    write_run(small_run(labels=("smoke",)), tmp_path / "reports" / "20261121-101500-standard")
    one_clear_sentence(call("history", "mlp/latency", folder=tmp_path), "labelled", "--labelled")
    assert "labelled smoke" in call("history", "mlp/latency", "--labelled", folder=tmp_path).out


# ---- strangers -------------------------------------------------------------------------------------------------------

PAYLOAD = "[red]x[/] \x1b[31m\x07 [link=file:///]y[/link]"


def test_texts_of_strangers_are_printed_as_they_stand(tmp_path: Path) -> None:
    template = write_run(small_run(), tmp_path / "template" / "run")
    given = summaries(template, 20, level=lambda day: 1.13 if day >= 10 else 1.0)
    hostile = [
        msgspec.structs.replace(
            one,
            id=f"{one.id}{PAYLOAD}",
            machine_title=PAYLOAD,
            environment={**one.environment, PAYLOAD: {PAYLOAD: f"{index >= 10}{PAYLOAD}"}},
            results=tuple(msgspec.structs.replace(result, id=f"{result.id}{PAYLOAD}") for result in one.results),
        )
        for index, one in enumerate(given)
    ]
    reports = tmp_path / "reports"
    reports.mkdir()
    write_summaries(hostile, reports)
    command = call("history", LATENCY, "--reports", reports, folder=tmp_path)
    assert command.code == 0, command.err
    assert "13\u00a0% slower" in command.out
    assert "\x1b" not in command.out
    assert "\x07" not in command.out
    assert command.out.count("[red]x[/]") > 20
    unknown = call("history", "nothing", "--reports", reports, folder=tmp_path)
    assert unknown.code == 2
    assert "\x1b" not in unknown.err


# ---- bars and lines --------------------------------------------------------------------------------------------------
