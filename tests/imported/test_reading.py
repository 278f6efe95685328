import contextlib
import random
from pathlib import Path

import msgspec
import pytest

from levelfield.analysis import guarded
from levelfield.errors import LevelfieldError
from levelfield.imported import making, reading
from tests.imported.recorded import FOLDER, files

TOOLS = {
    "google": "Google Benchmark",
    "hyperfine": "hyperfine",
    "loadgen": "MLPerf LoadGen",
    "optimum": "optimum-benchmark",
    "pyperf": "pyperf",
    "pytest": "pytest-benchmark",
}


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_each_tool_is_recognised_by_content(path: Path) -> None:
    found, sha256 = reading.read(path)
    assert found.tool.startswith(TOOLS[path.name.split("-")[0]])
    assert len(sha256) == 64


@pytest.mark.parametrize("said", [b"", b"hello", b"{}", b"\xff\xfe" * 100, b'{"results": []}'])
def test_other_files_are_refused_with_a_list_of_what_is_read(said: bytes) -> None:
    with pytest.raises(LevelfieldError, match=r"it\.json is of no tool .* Read are files of pyperf, hyperfine"):
        reading.parse(said, "it.json")


def test_a_file_without_results_is_refused() -> None:
    with pytest.raises(LevelfieldError, match="holds no result that can be taken"):
        reading.parse(b'{"benchmarks": [], "metadata": {"perf_version": "2"}}', "it.json")


def test_a_file_is_a_plain_one_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LevelfieldError, match="cannot be read"):
        reading.read(tmp_path)
    with pytest.raises(LevelfieldError, match="No such file"):
        reading.read(tmp_path / "none")
    monkeypatch.setattr(reading, "MAX_VALUES", 10)
    with pytest.raises(LevelfieldError, match="more than 10 values"):
        reading.read(FOLDER / "hyperfine-1.15.0.json")
    monkeypatch.setattr(reading, "MAX_BYTES", 100)
    with pytest.raises(LevelfieldError, match="longer than 100 bytes"):
        reading.read(FOLDER / "hyperfine-1.15.0.json")


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_damaged_files_become_a_record_or_one_sentence(path: Path) -> None:
    drawn = random.Random(path.name)
    whole = path.read_bytes()
    for _ in range(40):
        start = drawn.randrange(len(whole))
        junk = drawn.choice([drawn.randbytes(3), b"1e999", b"-1", b"9" * 40, b'"\\u202e<script>"', b"null"])
        spoiled = whole[:start] + junk + whole[start + drawn.randrange(40) :]
        with contextlib.suppress(LevelfieldError):  # nothing else may be raised
            found = reading.parse(spoiled, path.name)
            run = making.make(found, sha256="0" * 64, now="2026-01-01T00:00:00Z", tool_sha256="", command=())
            guarded.decode(msgspec.json.encode(run), "it")
