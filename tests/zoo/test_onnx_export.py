import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import levelfield
from levelfield.zoo import models, onnx_export, weights
from tests.zoo.exported import Exports

onnx = pytest.importorskip("onnx", reason="onnx is not installed here")
pytest.importorskip("torch", reason="torch is not installed here")
pytest.importorskip("onnxscript", reason="onnxscript is not installed here")

pytestmark = [pytest.mark.framework, pytest.mark.filterwarnings("ignore")]

SOURCE = Path(levelfield.__file__).parent

EXPORT = """
import json, sys
from pathlib import Path
from levelfield.zoo import models, onnx_export, weights
model = models.get(sys.argv[1])
print(json.dumps(onnx_export.export(model, weights.make(model), 2, "fp32", Path(sys.argv[2])).files))
"""


def _export_elsewhere(name: str, home: Path) -> dict[str, str]:
    """Export with a copy of the package, in a process and folders of its own."""
    (home / "out").mkdir(parents=True)
    shutil.copytree(SOURCE, home / "levelfield", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", EXPORT, name, str(home / "out")],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
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


@pytest.mark.extended
@pytest.mark.parametrize("name", [name for name in models.names() if models.get(name).quantized])
def test_eight_bits_are_a_quarter_of_the_size_and_quantised(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed here")
    model = models.get(name)
    made = weights.make(model)
    result = onnx_export.export(model, made, 1, "int8", tmp_path)
    assert "onnxruntime" in result.versions
    assert list(result.files) == ["model.onnx"]
    proto = onnx.load(tmp_path / "model.onnx")
    operators = [node.op_type for node in proto.graph.node]
    products = sum(operators.count(kind) for kind in ("Conv", "Gemm", "MatMul"))
    assert operators.count("DequantizeLinear") >= products
    assert {"QuantizeLinear", "DequantizeLinear"} <= set(operators)
    kept = sum(parameter.count for parameter in model.parameters if parameter.name.startswith("embeddings."))
    weighed = model.parameter_count + 3 * kept
    assert 0.9 * weighed < (tmp_path / "model.onnx").stat().st_size < 1.3 * weighed + 100_000


def test_a_scatter_is_exported_as_one_that_is_added_in_order(exports: Exports) -> None:
    """ONNX Runtime's ScatterND adds by several threads at once, and loses some of it."""
    folder, _ = exports("scatter-1024x768-512")
    kinds = {node.op_type for node in onnx.load(folder / "model.onnx").graph.node}
    assert "ScatterElements" in kinds
    assert "ScatterND" not in kinds
