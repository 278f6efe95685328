"""The file of a gate: read as it was written; edited, damaged or a stranger's, it is one sentence."""

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from levelfield.analysis.types import Estimate
from levelfield.compare import gate as file
from levelfield.compare.gate import NoiseGate, as_toml, judged_by_limit
from levelfield.compare.gate import gate_notes as notes
from levelfield.compare.types import Derived, Gate, Row, Verdict
from levelfield.errors import LevelfieldError
from levelfield.record.schema import Case
from levelfield.statistics import prediction
from tests.commands import ROOT
from tests.compare.gates import derive, unchanged
from tests.compare.runs import side


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


def test_a_limit_that_was_edited_is_refused(gate: NoiseGate, tmp_path: Path) -> None:
    limit = gate.case[0].limit
    with pytest.raises(LevelfieldError, match="was edited: limit of"):
        file.read(edited(gate, tmp_path, f"limit = {limit!r}", f"limit = {1.1 * limit!r}"))
    with pytest.raises(LevelfieldError, match="was edited"):
        file.read(edited(gate, tmp_path, "false_alarms = 0.01", "false_alarms = 0.02"))


@pytest.mark.parametrize(
    ("old", "new"), [('metric = "latency"', 'metric = "cold-start"'), ("threads = 2", "threads = 3")]
)
def test_figures_that_do_not_fit_one_another(gate: NoiseGate, tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(LevelfieldError, match="is damaged"):
        file.read(edited(gate, tmp_path, old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("costs = [", "costs = [nan, "),
        ("costs = [", "costs = [0.0, "),
        ("runs_each = 1", "runs_each = 1000000"),
        ("false_alarms = 0.01", "false_alarms = 1e-300"),
        ("power = 0.9", "power = 0.9999999999"),
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
    assert (found["format"], found["hardware"]) == (1, hostile.hardware)


def test_the_published_gate_is_read() -> None:
    assert len(file.read(ROOT / "reports" / "trials" / "gate-2026-11-25.toml").evidence) == 8


OLD = [100.0, 101.0, 99.0, 100.5, 99.5]
ID = "torch/mlp/latency/fp32/b1/t2/cpu"
DERIVED = Derived("good", "2026-01-01T00:00:00Z", 5, (ID,), 0.01, 0.9, at_hand=True)


def row(new: list[float], **criteria: float) -> Row:
    case = Case(model="mlp", scenario="latency", precision="fp32", batch=1, threads=2)
    draft = Row(
        case=case,
        metric="latency",
        old_arm="torch",
        new_arm="torch",
        verdict=Verdict.UNDECIDABLE,
        outcome="undecided",
        old=100.0,
        new=new[0],
        ratio=Estimate(1.0),
        old_replicates=5,
        new_replicates=len(new),
    )
    return judged_by_limit(draft, (OLD, new), Gate(**criteria, derived=DERIVED), DERIVED)


def limit(new: int) -> float:
    earlier = prediction.from_runs(np.log(OLD))
    return float(np.exp(earlier.mean + earlier.reach(new, 0.01)))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_worse_is_more_than_half_above_the_limit(count: int) -> None:
    above, below = 1.001 * limit(count), 0.999 * limit(count)
    needed = count // 2 + 1
    enough = [above] * needed + [100.0] * (count - needed)
    too_few = [above] * (needed - 1) + [below] * (count - needed + 1)
    assert row(enough).verdict is Verdict.SLOWER
    assert row(enough).outcome == "worse"
    assert row(too_few).verdict is Verdict.WITHIN
    assert row(too_few).outcome == "fine"
    assert row(enough).limit == pytest.approx(limit(count))


def test_a_largest_slowdown_is_exceeded_ruled_out_or_not_decided() -> None:
    assert row([100.0], max_slowdown=0.2).outcome == "fine"
    assert row([150.0], max_slowdown=0.2).outcome == "worse"
    found = row([100.0], max_slowdown=0.02)
    assert (found.verdict, found.outcome) == (Verdict.WITHIN, "undecided")
    assert "2.0\u00a0% was asked, and it finds" in found.reason
    assert "2 new runs would" not in row([100.0, 100.0], max_slowdown=0.02).reason
    assert "derive the gate from more runs" in row([100.0], max_slowdown=0.001).reason


def test_what_can_be_found_is_decided() -> None:
    """By symmetry, the smallest change that is found is the smallest that runs without a change rule out as often."""
    finds = (row([100.0]).finds or 0.0) - 1
    generator = np.random.default_rng(2)
    spread = prediction.from_runs(np.log(OLD)).spread
    decided = 0
    for _ in range(300):
        logs = np.log(100) + spread * generator.standard_normal(6)
        old, new = list(np.exp(logs[:5])), list(np.exp(logs[5:]))
        made = msgspec.structs.replace(row([100.0]), old=None)
        decided += (
            judged_by_limit(made, (old, new), Gate(max_slowdown=finds, derived=DERIVED), DERIVED).outcome == "fine"
        )
    assert decided / 300 > 0.9 - 0.06


TIMES = ["2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T11:00:00Z"]


def test_a_gate_of_one_day_is_said_where_the_new_runs_are_of_another() -> None:
    derived = Derived("good", TIMES[0], 3, ("a",), 0.01, 0.9, at_hand=True)

    def said(*days: int) -> bool:
        made = [
            msgspec.structs.replace(
                run, facts=msgspec.structs.replace(run.facts, started=f"2026-01-{day:02}T10:00:00Z")
            )
            for run, day in zip(side("run", len(days)), days, strict=True)
        ]
        return any("and the new ones of another" in note for note in notes(made[:-1], made[-1:], (), derived))

    assert said(1, 1, 1, 2)
    assert said(1, 1, 2, 9)
    assert not said(1, 1, 1, 1)
    assert not said(1, 2, 3, 9)


HOSTILE = [
    'a"b\\c', "\x1b[2J", "two\nlines\ttab", "\x7f\x9b31m", "\u202etxt", '"""', "'", "émoji 🚀", "\u2028", "]] = 1", "",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_comes_back(text: str) -> None:
    values: dict[str, Any] = {
        "text": text,
        text: 1,
        "table": {text: text, "inner": {text: [text]}},
        "entry": [{"name": text, text: {text: 1.5}}],
    }
    written = as_toml(values)
    assert tomllib.loads(written) == values
    assert not any(ord(character) < 32 and character != "\n" for character in written)
    assert "\x7f" not in written
    assert "\u202e" not in written


def test_numbers_come_back_to_the_last_bit() -> None:
    values: dict[str, Any] = {"a": [0.1, 1e-300, 1e22, 5e-5, -0.0, 2.0], "b": 2**62, "c": True, "d": []}
    found = tomllib.loads(as_toml(values))
    assert found == values
    assert isinstance(found["a"][5], float)
    assert found["c"] is True


def test_null_is_left_out_and_half_a_character_replaced() -> None:
    assert tomllib.loads(as_toml({"a": None, "b": {"c": None}, "d": "\ud800"})) == {"b": {}, "d": "\ufffd"}
