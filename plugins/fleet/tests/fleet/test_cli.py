"""`levelfield fleet` as people type it, in processes of their own."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.fleet.samples import fill, place, small

from levelfield.record import files
from tests import commands
from tests.commands import one_clear_sentence


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two gathered folders of six nodes; in the new one a node is far slower, and another's record is damaged."""
    made = tmp_path_factory.mktemp("fleet")
    fill(made / "old", 6, 3)
    fill(made / "new", 5, 3, first=9000)
    for index in range(3):
        slow = small(f"slow-{index}", 4000 + index, slower={"onnxruntime": 1.6})
        (place(slow, made / "new" / "node-5" / f"run-{index}") / "report.html").touch()
    (made / "new" / "node-0" / "run-0" / files.NAME).write_text("damaged", encoding="utf-8")
    (made / "new" / "dead").mkdir()
    return made


def test_gather_in_all_formats(folder: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / f"found.{ending}" for ending in ("md", "xml", "json", "html", "txt", "prom")]
    words = [word for path in outputs for word in ("--output", path)]
    command = commands.call("fleet", "gather", "new", *words, folder=folder)
    assert command.code == 1, command.err
    assert "node-5" in command.out.splitlines()[0]
    assert "node-0/run-0 is not a record" in command.out
    assert "Of dead no record can be read." in command.out.splitlines()[0]
    found = json.loads(outputs[2].read_text(encoding="utf-8"))
    assert found["exit_code"] == 1
    assert {node["name"]: node["verdict"] for node in found["nodes"]}["node-5"] == "slow"
    assert int(ET.parse(outputs[1]).getroot().attrib["failures"]) == 1
    assert outputs[5].read_text(encoding="utf-8").endswith("# EOF\n")
    (link,) = re.findall(r'href="(\./[^"]*node-5[^"]*)"', outputs[3].read_text(encoding="utf-8"))[:1]
    assert (tmp_path / link).resolve() == (folder / "new" / "node-5" / "run-2" / "report.html").resolve()


def test_gather_to_stdout(folder: Path) -> None:
    command = commands.call("fleet", "gather", "new", "--format", "openmetrics", folder=folder)
    assert command.code == 1
    assert 'levelfield_node_verdict{node="node-5"' in command.out
    command = commands.call("fleet", "gather", "old", "--margin", "50%", "--format", "json", folder=folder)
    assert command.code in (0, 3)
    assert json.loads(command.out)["margin"] == 0.5


def test_compare_says_where_a_roll_out_hurt(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "rollout.html"
    command = commands.call("fleet", "compare", "old", "new", "--output", page, folder=folder)
    assert command.code == 1, command.err
    assert "node-5" in command.out
    assert "node-5" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("gather", "nowhere"), "cannot be read"),
        (("gather", "new/dead"), "holds no folder of a node"),
        (("compare", "old", "nowhere"), "cannot be read"),
    ],
)
def test_what_cannot_be_judged_is_one_sentence(folder: Path, words: tuple[str, ...], says: str) -> None:
    one_clear_sentence(commands.call("fleet", *words, folder=folder), says)


def test_the_ending_of_a_file_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    command = commands.call("fleet", "gather", "nowhere", "--output", "verdict.pdf", folder=tmp_path)
    assert command.code == 2
    assert ".prom" in command.err
