import contextlib
import hashlib
import random
from pathlib import Path

import pytest

from suite.errors import LevelfieldError
from suite.fieldtools import outputs
from tests.fieldtools.recorded import FOLDER, content, names

TOOLS = {"dcgmi": "dcgmi diag", "nccl": "nccl-tests", "nvbandwidth": "nvbandwidth", "nvidia": "nvidia-smi"}


def test_each_tool_is_recognised_by_content() -> None:
    found = outputs.read(FOLDER / name for name in names())
    assert [each.tool for each in found] == [TOOLS[name.split("-")[0]] for name in names()]
    assert [each.sha256 for each in found] == [hashlib.sha256(content(name)).hexdigest() for name in names()]


def test_every_file_has_its_source() -> None:
    sources = (FOLDER / "README.md").read_text()
    assert all(f"`{name}`" in sources for name in names())


@pytest.mark.parametrize("said", [b"", b"hello", b"{}", b"\xff\xfe" * 100])
def test_other_files_are_refused_by_name(said: bytes) -> None:
    with pytest.raises(LevelfieldError, match=r"it\.log is no output of"):
        outputs.parse(said, "it.log")


@pytest.mark.parametrize("name", names())
def test_damaged_output_is_read_or_refused_with_one_sentence(name: str) -> None:
    drawn = random.Random(name)
    whole = content(name)
    for _ in range(60):
        start = drawn.randrange(len(whole))
        spoiled = whole[:start] + drawn.randbytes(drawn.randrange(4)) + whole[start + drawn.randrange(40) :]
        with contextlib.suppress(LevelfieldError):  # nothing else may be raised
            outputs.parse(spoiled[: drawn.choice([len(spoiled), start])], name)


def test_a_file_is_a_plain_one_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LevelfieldError, match="cannot be read"):
        outputs.read([tmp_path])
    with pytest.raises(LevelfieldError, match="No such file"):
        outputs.read([tmp_path / "none"])
    monkeypatch.setattr(outputs, "MAX_BYTES", 100)
    with pytest.raises(LevelfieldError, match="longer than 100 bytes"):
        outputs.read([FOLDER / names()[0]])


def test_the_same_output_is_given_once() -> None:
    with pytest.raises(LevelfieldError, match="same content"):
        outputs.read([FOLDER / names()[0]] * 2)


def test_a_run_takes_a_bounded_number_of_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "MAX_READINGS", 10)
    with pytest.raises(LevelfieldError, match="more than 10 readings"):
        outputs.read([FOLDER / "nvbandwidth-v0.8-4x-rtx-5090.json"])
