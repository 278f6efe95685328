"""Answers of other tools' programs, and the folder that one of them is given; `test_command.py` runs the tools."""

import json
from pathlib import Path

import numpy as np
import pytest

from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.prepare.own_weights import folder as own_weights
from studies.harness.other_tools import (
    CONFIG,
    OPTIMUM_BENCHMARK,
    PYPERF,
    TENSORS,
    Workspace,
    config,
    parse,
    reading_of,
    safetensors,
    write_model,
)
from studies.harness.programs import ANSWER


def test_the_last_answer_counts() -> None:
    text = '{"median_ns": 5.0, "calls": 3, "supervisor_share": 0.5, "wall_s": 1.0}'
    found = reading_of(f"a log\n{ANSWER}{text.replace('5.0', '4.0')}\n{ANSWER}{text}\nits end\n", "a tool")
    assert found == (5.0, 3, 0.5)


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


@pytest.mark.parametrize(("peer", "framework"), [(PYPERF, "onnxruntime"), (OPTIMUM_BENCHMARK, "torch")])
def test_peers_compute_with_the_framework_of_its_own_image(peer: str, framework: str) -> None:
    assert catalogue.lock(peer).versions[framework] == catalogue.lock(framework).versions[framework]


SAID = "[ INFO ] Count:  {count} iterations\n[ INFO ] Duration: 1000.59 ms\n[ INFO ]    Median:  {median}\n"


@pytest.mark.parametrize(("median", "expected_ns"), [("16.66 us", 16_660.0), ("21.35 ms", 21_350_000.0)])
def test_the_median_is_read_in_its_own_unit(median: str, expected_ns: float) -> None:
    assert parse(SAID.format(median=median, count=5611)) == (expected_ns, 5611, None)


@pytest.mark.parametrize("said", ["", "Median: soon", SAID.format(median="0.00 ms", count=3)])
def test_an_answer_without_a_median_is_an_error(said: str) -> None:
    with pytest.raises(LevelfieldError, match="did not name its median"):
        parse(said)


def test_the_reader_of_such_folders_finds_what_was_written(tmp_path: Path) -> None:
    arrays = {"one": np.arange(6, dtype=np.float32).reshape(2, 3), "other.bias": np.array([0.5], dtype=np.float32)}
    (tmp_path / CONFIG).write_text(json.dumps(config()), encoding="utf-8")
    (tmp_path / TENSORS).write_bytes(safetensors(arrays))
    found = own_weights.read(tmp_path)
    assert {name: found.read(name).tolist() for name in found.tensors} == {
        name: array.tolist() for name, array in arrays.items()
    }
    with pytest.raises(LevelfieldError, match="mlp cannot be written"):
        write_model(Workspace(tmp_path), "mlp")
