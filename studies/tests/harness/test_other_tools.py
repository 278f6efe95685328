"""Answers of other tools' programs; `test_command.py` runs the tools themselves."""

import json
from pathlib import Path

import numpy as np
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.prepare.own_weights import folder as own_weights
from studies.harness import folder, optimum_benchmark_program, pyperf_program
from studies.harness.benchmark_app import parse
from studies.harness.optimum_benchmark_program import ANSWER
from studies.harness.workspace import OPTIMUM_BENCHMARK, PYPERF, reading_of


def test_the_last_answer_counts() -> None:
    text = '{"median_ns": 5.0, "calls": 3, "supervisor_share": 0.5, "wall_s": 1.0}'
    found = reading_of(f"a log\n{ANSWER}{text.replace('5.0', '4.0')}\n{ANSWER}{text}\nits end\n", "a tool")
    assert (found.median_ns, found.calls, found.supervisor_share) == (5.0, 3, 0.5)


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("", "a tool gave no answer"),
        (f"{ANSWER}{{}}", "a tool gave no answer"),
        (f'{ANSWER}{{"median_ns": 0, "calls": 3, "supervisor_share": null, "wall_s": 1}}', "takes 0.0 ns"),
        (f'{ANSWER}{{"median_ns": 9, "calls": 0, "supervisor_share": null, "wall_s": 1}}', "of 0 calls"),
    ],
)
def test_what_is_no_answer_is_an_error(output: str, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        reading_of(output, "a tool")


def test_both_programs_answer_in_one_way() -> None:
    assert pyperf_program.ANSWER == ANSWER
    assert optimum_benchmark_program.Answer.__struct_fields__ == pyperf_program.Answer.__struct_fields__


@pytest.mark.parametrize(
    ("peer", "image", "framework"), [(PYPERF, "onnxruntime", "onnxruntime"), (OPTIMUM_BENCHMARK, "torch", "torch")]
)
def test_peers_compute_with_the_framework_of_its_own_image(peer: str, image: str, framework: str) -> None:
    assert catalogue.lock(peer).versions[framework] == catalogue.lock(image).versions[framework]


SAID = """[Step 11/11] Dumping statistics report
[ INFO ] Execution Devices:['CPU']
[ INFO ] Count:            {count} iterations
[ INFO ] Duration:         1000.59 ms
[ INFO ] Latency:
[ INFO ]    Median:        {median}
[ INFO ]    Average:       167.64 us
"""


@pytest.mark.parametrize(("median", "expected_ns"), [("16.66 us", 16_660.0), ("21.35 ms", 21_350_000.0)])
def test_the_median_is_read_in_its_own_unit(median: str, expected_ns: float) -> None:
    found = parse(SAID.format(median=median, count=5611))
    assert found.median_ns == expected_ns
    assert found.calls == 5611


@pytest.mark.parametrize("said", ["", "Median: soon", SAID.format(median="0.00 ms", count=3)])
def test_an_answer_without_a_median_is_an_error(said: str) -> None:
    with pytest.raises(LevelfieldError, match="did not name its median"):
        parse(said)


def test_the_file_is_a_header_and_the_tensors_one_after_the_other(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([0.5], dtype=np.float32)}
    folder.write_tensors(arrays, tmp_path / "model.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    assert length % folder.ALIGNMENT_BYTES == 0
    header = json.loads(content[8 : 8 + length])
    assert header.pop("__metadata__") == {"format": "pt"}
    buffer = content[8 + length :]
    assert len(buffer) == sum(array.nbytes for array in arrays.values())
    for name, array in arrays.items():
        begin, end = header[name]["data_offsets"]
        assert header[name]["dtype"] == "F32"
        found = np.frombuffer(buffer[begin:end], "<f4").reshape(header[name]["shape"])
        assert found.tolist() == array.tolist()


def test_no_other_model_is_written(tmp_path: Path) -> None:
    with pytest.raises(LevelfieldError, match="mlp cannot be written"):
        folder.write("mlp", tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_reader_of_such_folders_finds_what_was_written(tmp_path: Path) -> None:
    arrays = {"one": np.arange(6, dtype=np.float32).reshape(2, 3), "other.bias": np.array([0.5], dtype=np.float32)}
    (tmp_path / folder.CONFIG).write_text(json.dumps(folder.config()), encoding="utf-8")
    folder.write_tensors(arrays, tmp_path / folder.TENSORS)
    found = own_weights.read(tmp_path)
    assert set(found.tensors) == set(arrays)
    for name, array in arrays.items():
        assert found.read(name).tolist() == array.tolist()
