"""`levelfield doctor` and `levelfield list` as people type them."""

import json
import os
from pathlib import Path

import pytest

from levelfield import plan, scenarios
from levelfield.backends.info import PRECISIONS
from tests.commands import NO_ENGINE, call, one_clear_sentence
from tests.conftest import mounted
from tests.prepare.own_model import onnx_files


@pytest.mark.parametrize("columns", [0, 80, 200])
def test_list_shows_all_there_is(tmp_path: Path, columns: int) -> None:
    command = call("list", folder=tmp_path, environment={"COLUMNS": str(columns)}, code=0)
    assert "…" not in command.out, "nothing is cut"
    assert max(map(len, command.out.splitlines())) <= (columns or 80)
    for name in (*plan.names_of_models(), *plan.names_of_backends(), *scenarios.NAMES, *PRECISIONS):
        assert name in command.out
    assert "canary" not in command.out


def test_list_says_what_a_file_is_and_what_will_be_refused(tmp_path: Path) -> None:
    cache = tmp_path / "not" / "yet"
    where = {"LEVELFIELD_CACHE": str(cache)}
    onnx_files.write(tmp_path, "encoder.onnx", onnx_files.encoder())
    said = call("list", "encoder.onnx", folder=tmp_path, environment=where, code=0)
    for part in (
        "fp32, operator set 17, IR 8",
        "batch × sequence",
        "Gather 1",
        "--model encoder.onnx --input sequence",
    ):
        assert part in said.out
    inputs = [onnx_files.value("[bold]x", onnx_files.STRING, [None, "2*s0"])]
    odd = onnx_files.model([onnx_files.node("RandomNormal", [], ["y"])], [onnx_files.outside("w", [2], "w.bin")],
                           inputs, [onnx_files.value("y", onnx_files.FLOAT, None)])  # fmt: skip
    path = onnx_files.write(tmp_path, "odd.onnx", odd)
    assert "[bold]x" in call("list", str(path), folder=tmp_path, environment=where).out
    (found,) = [json.loads(call("list", "--json", str(path), folder=tmp_path, environment=where).out)["file"]]
    assert found["missing"] == ["s0"]
    for reason, says in zip(
        found["refused"], ("[bold]x of odd.onnx takes string", "RandomNormal", "w.bin"), strict=True
    ):
        assert says in reason
    one_clear_sentence(call("list", "none.onx", folder=tmp_path), "There is no file none.onx.")
    one_clear_sentence(call("list", "bakends", folder=tmp_path), "Did you mean 'backends'?")
    (tmp_path / "net.py").write_text("import torch\ndef small(): ...\ndef large(): ...\n")
    for named, function in (("net.py", "small"), ("net.py:large", "large")):
        command = f"bench --model net.py:{function} --dry-run"
        one_clear_sentence(call("list", named, folder=tmp_path), "it defines small, large.", command)
    assert not cache.parent.exists()


def test_to_look_makes_no_cache(tmp_path: Path) -> None:
    cache = tmp_path / "not" / "yet"
    for host in (os.environ.get("DOCKER_HOST", ""), NO_ENGINE["DOCKER_HOST"]):  # environments may be made there
        for words in (["list"], ["doctor"], ["--help"], ["bench", "--dry-run", "--launcher", "venv"]):
            where = {"LEVELFIELD_CACHE": str(cache), "DOCKER_HOST": host}
            call(*words, folder=tmp_path, environment=where)
    assert not cache.parent.exists()


def test_a_home_that_cannot_be_written_is_said_before_anything_is_planned(tmp_path: Path) -> None:
    with mounted(tmp_path / "home", "1m,ro") as home:
        where = {"LEVELFIELD_CACHE": str(home / "cache")}
        # The model is unknown, which planning would say.
        one_clear_sentence(
            call("bench", "--models", "mpl", folder=tmp_path, environment=where),
            "cannot be made: Read-only file system",
        )
        examined = call("doctor", "--json", folder=tmp_path, environment=where)
    assert examined.code == 2
    assert "Not ready: " in examined.err
    bad = [each for each in json.loads(examined.out)["findings"] if each["state"] == "bad"]
    assert any("LEVELFIELD_CACHE" in each["fix"] for each in bad)
