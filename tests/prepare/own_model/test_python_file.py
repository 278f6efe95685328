"""A network in Python is looked at and kept, and never run by the supervisor."""

import sys
from pathlib import Path

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.prepare.own_model import python_file, store
from levelfield.prepare.own_model.exported import export
from tests.prepare.test_artifacts import EXPORTER, Exporting

TORCH = """
from pathlib import Path
import torch

Path("ran").touch()

def build():
    return torch.nn.Linear(4, 2), ()

def other():
    return torch.nn.ReLU(), ()
"""

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my net.py").write_text(TORCH)
    return tmp_path


def refused(text: str) -> LevelfieldError:
    with pytest.raises(LevelfieldError) as caught:
        python_file.keep(text)
    assert caught.value.fix
    return caught.value


def test_it_is_described_and_not_run(here: Path) -> None:
    found = python_file.keep(f"{here / 'my net.py'}:build")
    assert (found.file, found.function, found.framework) == ("my net.py", "build", "torch")
    assert found.model == f"my-net-build-{found.sha256[:8]}"
    assert not found.batched
    assert not (here / "ran").exists()
    assert "torch" not in sys.modules
    assert str(here) not in msgspec.json.encode(found).decode()


NAMES = """
import json, sys
sys.stdin.readline()
given = {"name": "x", "dtype": "float32", "shape": SHAPE, "batched": False, "path": PATH}
reply = {"type": "exported", "files": {}, "opset": 0, "versions": {}, "inputs": [given]}
print(json.dumps(reply), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("shape", "path"), [("[1]", "'../../../../secret.npy'"), ("[10**13]", "None")])
def test_it_names_no_inputs_but_those_that_it_has_written(here: Path, shape: str, path: str) -> None:
    """Of others this process would read whatever file, or fill its memory."""
    launcher = Exporting(NAMES.replace("SHAPE", shape).replace("PATH", path))
    with pytest.raises(LevelfieldError, match="names inputs that it has not written"):
        export(python_file.keep("my net.py:build"), EXPORTER, launcher, print)


def test_a_record_finds_it_again(here: Path) -> None:
    found = python_file.keep("my net.py:build")
    assert store.find_recorded(found) == found
    described = store.description(found, "/artifacts")
    assert described.python == f"/artifacts/own/{found.sha256}/network.py"
    assert [each.sha256 for each in store.artifacts(found)] == [found.sha256]
    for strange in (
        msgspec.structs.replace(found, sha256="../../etc"),
        msgspec.structs.replace(found, sha256="0" * 64),
        msgspec.structs.replace(found, function="__import__('os')"),
        msgspec.structs.replace(found, function="another"),
        msgspec.structs.replace(found, framework="jax"),
    ):
        with pytest.raises(LevelfieldError):
            store.find_recorded(strange)
    with pytest.raises(LevelfieldError, match=r"not here\. Give it with --model FILE\.py:build:"):
        store.find_recorded(msgspec.structs.replace(found, sha256="0" * 64))
    python_file.keep_recorded("my net.py:build", found)
    with pytest.raises(LevelfieldError, match="not of a network in Python"):
        python_file.keep_recorded("my net.py:build", None)
    with pytest.raises(LevelfieldError, match=r"Give it with --model FILE\.py:build\."):
        store.keep_recorded(here / "x.onnx", found)
    (here / "my net.py").write_text(TORCH + "\n")
    with pytest.raises(LevelfieldError, match="is not what was measured"):
        python_file.keep_recorded("my net.py:build", found)


def test_each_of_several_functions_is_a_model(here: Path) -> None:
    found = python_file.keep("my net.py:build,other,build")
    assert [each.model.rpartition("-")[0] for each in found.sized] == ["my-net-build", "my-net-other"]
    assert [store.description(each, "").function for each in found.sized] == ["build", "other"]
    assert store.find_recorded(found) == found
    python_file.keep_recorded("my net.py:build,other", found)
    for typed in ("my net.py:build", "my net.py", "my net.py:other,build", "my net.py:none"):
        with pytest.raises(LevelfieldError) as caught:
            python_file.keep_recorded(typed, found)
        assert caught.value.message == "my net.py is the right file, and build,other was measured."
        assert caught.value.fix == "Write --model 'my net.py:build,other'."
    (here / "my net.py").write_text(TORCH + "\n")
    with pytest.raises(LevelfieldError, match="is not what was measured: that is build,other of"):
        python_file.keep_recorded("my net.py:build,other", found)
    assert "24 are the most" in refused("my net.py:" + ",".join(f"f{number}" for number in range(25))).message
    assert "defines no function third" in refused("my net.py:build,third").message


def test_functions_that_can_be_named_are(here: Path) -> None:
    (here / "my net.py").write_text(
        TORCH + "def _own(): ...\ndef sized(size, /): ...\ndef deep(*, depth=2, **more): ...\n"
    )
    error = refused("my net.py")
    assert error.message == "my net.py names no function of the file, which defines build, other, deep."
    assert error.fix == "Write --model 'my net.py:build'."
    (here / "my net.py").write_text("(")
    assert "is no Python" in refused("my net.py").message


@pytest.mark.parametrize("text", ["my net.py", ":build", "my net.py:a.b", "my net.py:build,", "x" * 5000])
def test_a_function_has_to_be_named(here: Path, text: str) -> None:
    assert here.is_dir()
    assert "names no function" in refused(text).message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("import torch\ndef other(): ...", "defines no function build: there is other"),
        ("def build(): ...", "imports none of torch, jax, tensorflow"),
        ("import torch\nimport jax.numpy\ndef build(): ...", "imports torch and jax"),
        ("def build(:", "is no Python that can be read (line 1)"),
        ("(" * 5000, "is no Python that can be read"),
    ],
)
def test_what_is_no_such_file_is_refused(here: Path, content: str, says: str) -> None:
    (here / "net.py").write_text(content)
    assert says in refused("net.py:build").message
