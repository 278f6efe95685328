"""`levelfield layers` as people type it: what needs no engine, and a real container."""

import json
from pathlib import Path

import docker
import pytest

from suite.record import layers
from tests.commands import call, one_clear_sentence, run
from tests.engines import none_left
from tests.layered import digest, launch, layered

NO_ENGINE = {"DOCKER_HOST": "unix:///nobody/is/here.sock"}
RIGHT = digest("right")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["onnxruntim/mlp"], ["There is no backend called 'onnxruntim'", "Did you mean 'onnxruntime'"]),
        (["onnxruntime/mlp", "--launcher", "docker"], ["No container engine answers"]),
        (["one.json", "two.json"], ["one.json cannot be read"]),
    ],
)
def test_mistakes_end_in_one_sentence(tmp_path: Path, words: list[str], says: list[str]) -> None:
    one_clear_sentence(call("layers", *words, folder=tmp_path, environment=NO_ENGINE), *says)


def test_one_case_or_two_files(tmp_path: Path) -> None:
    command = call("layers", "onnxruntime/mlp", "torch/mlp", folder=tmp_path)
    assert command.code == 2
    assert "Name one CASE, or two files" in command.err


def test_two_files_are_compared(tmp_path: Path) -> None:
    for name, found in (
        ("a.json", layered(launch(RIGHT))),
        ("b.json", layered(launch(digest("wrong"), 2))),
        ("c.json", layered(launch(RIGHT), threads=1)),
    ):
        layers.write(found, tmp_path / name)
    same, differs, unlike = (
        call("layers", "a.json", other, folder=tmp_path) for other in ("a.json", "b.json", "c.json")
    )
    assert (same.code, differs.code, unlike.code) == (0, 1, 2)
    assert "The first layer that differs is linear_1, 3 of 4." in differs.out
    assert "cannot be compared" in unlike.out


@pytest.mark.docker
def test_layers_of_a_model_in_a_real_container(engine: docker.DockerClient, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    command = run("layers", "onnxruntime/mlp/latency/fp32/b1/t1/cpu", folder=tmp_path)
    assert command.code == 0, command.err
    assert none_left(engine, command.pid)
    found = layers.read(tmp_path / "layers.json", "it")
    first, second = found.launches
    assert first == second
    assert (len(first.layers), first.layers[-1].name) == (12, "probability")
    assert first.layers[-1].sha256 == first.layered_sha256
    assert len({each.sha256 for each in first.layers}) == 12
    assert "all launches agree" in command.out
    assert json.loads((tmp_path / "layers.json").read_text())["schema"] == layers.SCHEMA
