"""`levelfield baseline derive` and `levelfield compare --gate` as people type them."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests import commands
from tests.commands import one_clear_sentence
from tests.compare import gates


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `reports/`, five unchanged runs, their gate, and new runs."""
    folder = tmp_path_factory.mktemp("gate")
    reports = gates.unchanged(folder)
    gates.new(reports, 11, 12)
    gates.keep(gates.record("slow", 13, slower={"onnxruntime": 2.0}), reports)
    derived = commands.call("baseline", "derive", gates.BASELINE, folder=folder)
    assert derived.code == 0, derived.err
    assert "Gate: good.gate.toml" in derived.out
    return folder


def test_a_gate_passes_and_fails(place: Path, tmp_path: Path) -> None:
    assert commands.call("compare", "--gate", "good.gate.toml", "new-11", folder=place).code == 0
    assert commands.call("compare", "--gate", "good.gate.toml", "new-11", "new-12", folder=place).code == 0
    outputs = [tmp_path / f"found.{ending}" for ending in ("md", "xml", "json", "html", "txt")]
    words = [word for path in outputs for word in ("--output", path)]
    command = commands.call("compare", "--gate", "good.gate.toml", "slow", *words, folder=place)
    assert command.code == 1, command.err
    assert command.out.startswith("Worse: onnxruntime on MLP (latency, batch 1): ")
    assert all("5 runs of baseline good spread by" in path.read_text(encoding="utf-8") for path in outputs)
    found = json.loads(outputs[2].read_text(encoding="utf-8"))
    assert found["gate"]["derived"]["false_alarms"] == 0.01
    worse = found["rows"][0]
    assert worse["new"] > worse["limit"] > worse["old"]
    assert worse["finds"] > 1
    assert ET.parse(outputs[1]).getroot().attrib["failures"] == "1"


def test_what_was_asked_and_cannot_be_found_is_not_decided(place: Path) -> None:
    command = commands.call("compare", "--gate", "good.gate.toml", "new-11", "--max-slowdown", "0.01%", folder=place)
    assert command.code == 3, command.out + command.err


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
def test_what_cannot_be_done_is_one_sentence(place: Path, words: list[str], says: str) -> None:
    one_clear_sentence(commands.call(*words, folder=place), says)


@pytest.mark.parametrize(
    "words",
    [["--gate", "good.gate.toml"], ["--gate", "g", "--old", "a", "b"], ["--gate", "g", "--baseline", "good", "b"]],
)
def test_what_cannot_be_understood(place: Path, words: list[str]) -> None:
    command = commands.call("compare", *words, folder=place)
    assert command.code == 2
    assert "Traceback" not in command.err
    assert "gate" in command.err
