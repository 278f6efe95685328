import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import levelfield
from levelfield.zoo import models, onnx_export, weights

onnx = pytest.importorskip("onnx", reason="onnx is not installed here")
pytest.importorskip("torch", reason="torch is not installed here")
pytest.importorskip("onnxscript", reason="onnxscript is not installed here")

pytestmark = [pytest.mark.framework, pytest.mark.filterwarnings("ignore")]

SOURCE = Path(levelfield.__file__).parent

Exports = Callable[[str], tuple[Path, dict[str, str]]]
"""A model's name to the folder of its export (fp32, two items a call) and the digests of its files."""

EXPORT = """
import json, sys
from pathlib import Path
from levelfield.zoo import models, onnx_export, weights
model = models.get(sys.argv[1])
print(json.dumps(onnx_export.export(model, weights.make(model), 2, "fp32", Path(sys.argv[2])).files))
"""


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Exports:
    @cache
    def export(name: str) -> tuple[Path, dict[str, str]]:
        folder, model = tmp_path_factory.mktemp(name), models.get(name)
        return folder, onnx_export.export(model, weights.make(model), 2, "fp32", folder).files

    return export


def _export_elsewhere(name: str, home: Path) -> dict[str, str]:
    """Export with a copy of the package, in a process and folders of its own."""
    (home / "out").mkdir(parents=True)
    shutil.copytree(SOURCE, home / "levelfield", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", EXPORT, name, str(home / "out")], cwd=home, env=environment, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    files: dict[str, str] = json.loads(done.stdout)
    for file, digest in files.items():
        assert hashlib.sha256((home / "out" / file).read_bytes()).hexdigest() == digest
    assert sorted(files) == sorted(path.name for path in (home / "out").iterdir())
    return files


@pytest.mark.parametrize("name", ["mlp", pytest.param("bert", marks=pytest.mark.extended)])  # one file, and two
def test_the_digest_does_not_depend_on_the_folder(name: str, exports: Exports, tmp_path: Path) -> None:
    here, first = exports(name)
    elsewhere = tmp_path / "a" / "deeper" / "second"
    assert _export_elsewhere(name, elsewhere) == first
    expected = ["model.onnx", "model.onnx.data"] if name == "bert" else ["model.onnx"]
    assert sorted(first) == expected
    assert str(here).encode() not in (here / "model.onnx").read_bytes()
    assert str(tmp_path).encode() not in (elsewhere / "out" / "model.onnx").read_bytes()


def test_the_file_is_what_was_asked_for(tmp_path: Path) -> None:
    model = models.get("resnet50")
    result = onnx_export.export(model, weights.make(model), 3, "fp32", tmp_path)
    proto = onnx.load(tmp_path / "model.onnx")
    (images,), (logits,) = proto.graph.input, proto.graph.output
    assert images.name == "images"
    assert [d.dim_value for d in images.type.tensor_type.shape.dim] == [3, 3, 224, 224]
    assert logits.name == "logits"
    assert [d.dim_value for d in logits.type.tensor_type.shape.dim] == [3, 1000]
    assert result.opset == onnx_export.OPSET
    assert set(result.versions) == {"torch", "onnx", "onnxscript", "onnx-ir"}
    operators = {node.op_type for node in proto.graph.node}
    assert "BatchNormalization" not in operators  # folded into the convolutions


def test_a_scatter_is_exported_as_one_that_is_added_in_order(exports: Exports) -> None:
    """ONNX Runtime's ScatterND adds by several threads at once, and loses some of it."""
    folder, _ = exports("scatter-1024x768-512")
    kinds = {node.op_type for node in onnx.load(folder / "model.onnx").graph.node}
    assert "ScatterElements" in kinds
    assert "ScatterND" not in kinds
