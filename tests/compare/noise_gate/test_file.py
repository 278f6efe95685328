"""The file of a gate: read as it was written; edited, damaged or a stranger's, it is one sentence."""

import tomllib
from pathlib import Path

import msgspec
import pytest

from levelfield.compare.noise_gate import file
from levelfield.compare.noise_gate.file import NoiseGate
from levelfield.errors import LevelfieldError
from tests.commands import ROOT
from tests.compare.noise_gate.gates import derive, unchanged


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> NoiseGate:
    return derive(unchanged(tmp_path_factory.mktemp("gate")))


def edited(gate: NoiseGate, place: Path, old: str, new: str) -> Path:
    text = file.content(gate).decode()
    assert old in text
    path = place / "gate.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_it_is_read_as_it_was_written(gate: NoiseGate, tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_bytes(file.content(gate))
    assert file.read(path) == gate


def test_other_tools_find_what_they_need(gate: NoiseGate) -> None:
    table = tomllib.loads(file.content(gate).decode())
    (first, *_) = table["case"]
    assert first["limit"] == pytest.approx(first["cost"] * first["worse_above"])
    assert (table["format"], table["false_alarms"], table["runs_each"]) == (1, 0.01, 1)
    assert len(table["evidence"][0]["sha256"]) == 64
    assert first["unit"] == "ns"


def test_a_limit_that_was_edited_is_refused(gate: NoiseGate, tmp_path: Path) -> None:
    limit = gate.case[0].limit
    with pytest.raises(LevelfieldError, match="was edited: limit of"):
        file.read(edited(gate, tmp_path, f"limit = {limit!r}", f"limit = {1.1 * limit!r}"))
    with pytest.raises(LevelfieldError, match="was edited"):
        file.read(edited(gate, tmp_path, "false_alarms = 0.01", "false_alarms = 0.02"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("format = 1", "format = 0"),
        ('metric = "latency"', 'metric = "cold-start"'),
        ('unit = "ns"', 'unit = "ms"'),
        ("threads = 2", "threads = 3"),
    ],
)
def test_figures_that_do_not_fit_one_another(gate: NoiseGate, tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(LevelfieldError, match="is damaged"):
        file.read(edited(gate, tmp_path, old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("costs = [", "costs = [nan, "),
        ("costs = [", "costs = [-1.0, "),
        ("costs = [", "costs = [0.0, "),
        ("costs = [", "costs = [inf, "),
        ("power = 0.9", "power = 1.5"),
        ("runs_each = 1", "runs_each = 1000000"),
        ('scenario = "latency"', 'scenario = "none"'),
        ("[[case]]", "[[cases]]"),
        ("[[evidence]]", "[evidence"),
        ('[[evidence]]\nfile = "', '[[evidence]]\nfile = "\\n'),
    ],
)
def test_what_is_no_gate_is_one_sentence(gate: NoiseGate, tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(LevelfieldError, match="is not a gate") as found:
        file.read(edited(gate, tmp_path, old, new))
    assert "\n" not in found.value.message


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"a = " + b"[" * 100_000, b"format = 1", b"\x00"])
def test_damaged_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "gate.toml"
    path.write_bytes(content)
    with pytest.raises(LevelfieldError, match="is not a gate"):
        file.read(path)


def test_a_newer_format_and_files_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_text("format = 2\n", encoding="utf-8")
    with pytest.raises(LevelfieldError, match="has format 2, and this Levelfield reads 1"):
        file.read(path)
    with pytest.raises(LevelfieldError, match="cannot be read: No such file"):
        file.read(tmp_path / "none.toml")
    path.write_bytes(b"#" * (file.MAX_BYTES + 1))
    with pytest.raises(LevelfieldError, match="longer than"):
        file.read(path)


def test_text_of_a_record_cannot_leave_its_string(gate: NoiseGate) -> None:
    hostile = msgspec.structs.replace(gate, hardware={'a"\n[x]\n': '\x1b[2J"]\nformat = 9'})
    found = tomllib.loads(file.content(hostile).decode())
    assert found["format"] == 1
    assert found["hardware"] == hostile.hardware


def test_the_published_gate_is_read() -> None:
    assert len(file.read(ROOT / "reports" / "trials" / "gate-2026-11-25.toml").evidence) == 8
