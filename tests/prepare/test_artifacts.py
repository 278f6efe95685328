"""Files that are made once and kept; what is damaged is made again."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.launchers.host import HostLauncher, VenvLauncher, start_process
from levelfield.launchers.protocol import LaunchSpec, WorkerPaths
from levelfield.launchers.worker import Worker
from levelfield.prepare.artifacts import MANIFEST, Artifacts, ModelFile
from levelfield.record.schema import Image
from levelfield.worker.sources import digest_of, files_in
from levelfield.zoo import inputs, models, reference, weights
from tests import plugged
from tests.launchers.scripts import READY

EXPORTER = Image(name="exporter", variant="cpu", launcher="host", tag="host:exporter")


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return Artifacts(tmp_path / "artifacts")


def test_only_what_is_computed_is_reported(tmp_path: Path) -> None:
    """A warm start once said eight times that it computes a reference which it read from the cache."""

    def use() -> list[str]:
        messages: list[str] = []
        artifacts = Artifacts(tmp_path, messages.append)
        artifacts.weights("mlp")
        artifacts.dataset("mlp")
        artifacts.reference("mlp", 2)
        artifacts.reference("mlp", 2, from_dataset=True)
        artifacts.rounding_error("mlp", "bf16", 2)
        artifacts.trajectory("mlp")
        return messages

    cold = use()
    assert cold[:3] == [
        "making the weights of mlp",
        "making the dataset of mlp",
        "computing the reference of mlp in float64",
    ]
    assert len(cold) == 6
    assert use() == []


@pytest.mark.parametrize("damage", ["", "-1"])
def test_what_rounding_makes_is_computed_once_and_again_where_it_is_damaged(artifacts: Artifacts, damage: str) -> None:
    error = artifacts.rounding_error("mlp", "bf16", 64)
    assert 1e-4 < error < 1e-2
    assert artifacts.rounding_error("mlp", "int8", 64) != error
    (path,) = (artifacts.root / "references").glob("mlp-n64-*-rounded-bf16.json")
    made = path.stat().st_mtime_ns
    assert artifacts.rounding_error("mlp", "bf16", 64) == error
    assert path.stat().st_mtime_ns == made
    path.write_text(damage)
    assert artifacts.rounding_error("mlp", "bf16", 64) == error


def test_damaged_weights_are_made_again(artifacts: Artifacts) -> None:
    path = artifacts.root / artifacts.weights("mlp")
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:100], b"x" * len(whole)):
        path.write_bytes(damaged)
        artifacts.weights("mlp")
        assert path.read_bytes() == whole


def test_a_reference_is_computed_once_and_again_when_damaged(artifacts: Artifacts) -> None:
    mlp = models.get("mlp")
    wanted = reference.run(mlp, weights.make(mlp), inputs.make(mlp, 0, 4))
    for damage in (None, b"", b"\x93NUMPY", b"not an array"):
        if damage is not None:
            (kept,) = (artifacts.root / "references").iterdir()
            kept.write_bytes(damage)
        np.testing.assert_array_equal(artifacts.reference("mlp", 4), wanted)
    (kept,) = (artifacts.root / "references").iterdir()
    made = kept.stat().st_mtime_ns
    np.testing.assert_array_equal(artifacts.reference("mlp", 4), wanted)
    assert kept.stat().st_mtime_ns == made


class Exporting(HostLauncher):
    """Launches a little program in place of the exporter."""

    def __init__(self, script: str) -> None:
        self._script = script
        self.launched = 0
        self.given: list[Path] = []

    def worker_paths(self, spec: LaunchSpec) -> WorkerPaths:
        return VenvLauncher().worker_paths(spec)

    def launch(self, spec: LaunchSpec) -> Worker:
        import sys

        self.launched += 1
        self.given = [spec.artifacts / each for each in spec.reads]
        return start_process([sys.executable, "-c", READY + self._script], spec.name, {}, Path("/"))


WRITES = """
import hashlib, json, pathlib, sys
request = json.loads(sys.stdin.readline())
folder = pathlib.Path(request["folder"])
(folder / "model.onnx").write_bytes(b"graph")
(folder / "model.onnx.data").write_bytes(b"weights")
assert pathlib.Path(request["weights_path"]).exists()
files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
print(json.dumps({"type": "exported", "files": FILES, "opset": 20, "versions": {"torch": "1"}}), flush=True)
sys.stdin.read()
"""


def test_an_export_is_made_once_and_again_when_it_is_not_whole(artifacts: Artifacts) -> None:
    launcher = Exporting(WRITES.replace("FILES", "files"))

    def export() -> Path:
        onnx = artifacts.exported("mlp", "fp32", 1, exporter=EXPORTER, launcher=launcher)
        folder = (artifacts.root / onnx.path).parent
        assert onnx.sha256 == onnx.artifact.sha256 == digest_of(files_in(folder, "model.onnx*"))
        assert onnx.artifact.size_bytes == len(b"graphweights")
        assert onnx.artifact.made_by == {"torch": "1", "opset": "20"}
        return folder

    folder = export()
    assert launcher.given == [artifacts.root / artifacts.weights("mlp")], "and it sees nothing else"
    assert launcher.given[0].is_file(), "files may be copied when a worker is launched"
    assert export() == folder
    assert launcher.launched == 1
    (folder / "model.onnx.data").unlink()
    assert export() == folder
    (folder / MANIFEST).write_bytes(b"{")
    assert export() == folder
    assert launcher.launched == 3
    assert [path.name for path in folder.parent.iterdir()] == [folder.name], "no half export is left"
    assert msgspec.json.decode((folder / MANIFEST).read_bytes())["opset"] == 20


def test_files_of_a_plug_in_are_kept_apart_and_made_again_when_it_changes(artifacts: Artifacts, tmp_path: Path) -> None:
    script = WRITES.replace("FILES", "files").replace("model.onnx", "model.tflite").replace('"opset": 20', '"opset": 0')
    script = script.replace(
        "folder = pathlib", 'assert request["module"] == "levelfield_litert.export"; folder = pathlib'
    )
    launcher = Exporting(script)
    installed = plugged.install(plugged.LITERT, tmp_path / "installed")
    with plugged.seen(installed):
        tflite = registry.get("litert").format
        assert tflite is not None

        def export(worker_sha256: str) -> ModelFile:
            exporter = msgspec.structs.replace(EXPORTER, worker_sha256=worker_sha256)
            return artifacts.exported("mlp", "fp32", 1, exporter=exporter, launcher=launcher, form=tflite)

        first = export("1")
        assert export("2") == first, "the tool's own code decides nothing of it"
        (installed / "levelfield_litert" / "export.py").write_text("# changed\n")
        assert export("2").path != first.path
    assert Path(first.path).parts[0] == "plugin-tflite"
    assert Path(first.path).name == "model.tflite"
    assert (first.artifact.name, first.artifact.made_by) == ("mlp fp32 batch 1 tflite", {"torch": "1"})


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (WRITES.replace("FILES", '{"model.onnx": "0" * 64}'), "reports other files than it wrote"),
        (
            WRITES.replace("print(", "import os; os.truncate(folder / 'model.onnx', 1 << 42)\nprint(").replace(
                "FILES", "files"
            ),
            "reports other files",
        ),
        ("raise RuntimeError('no such operator')", "could not be exported to ONNX: .* exited with code 1"),
        ("import sys; sys.stdin.readline(); print('rubbish', flush=True); sys.stdin.read()", "not a reply"),
    ],
)
def test_an_export_that_fails_leaves_nothing(artifacts: Artifacts, script: str, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says) as caught:
        artifacts.exported("mlp", "fp32", 1, exporter=EXPORTER, launcher=Exporting(script))
    assert caught.value.fix
    assert "\n" not in str(caught.value)
    assert not list((artifacts.root / "onnx").iterdir())
