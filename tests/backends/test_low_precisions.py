"""Every backend in every lower precision it knows on a CPU: within its tolerance, and really computed in it.

The worker's own service loads and verifies, in a process of its own: frameworks do not like each other's company.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

import suite
from suite.backends import precisions, registry
from suite.record.schema import Absent, Case, Parity
from suite.schedule.output_verification import compare_outputs, verify_count
from suite.worker.messages import Verified
from suite.zoo import inputs, models, parity, reference, rounding, weights

pytestmark = pytest.mark.framework

ROOT = Path(suite.__file__).parents[1]
WORKER = """
import sys
from pathlib import Path
import msgspec
from suite.worker.messages import Load, Task, Verify
from suite.worker.server import Service

task = msgspec.json.decode(sys.argv[1], type=Task)
service = Service()
loaded = service.answer(Load(task, launch_measured=False))
verified = service.answer(Verify(int(sys.argv[2])))
Path(sys.argv[3]).write_bytes(msgspec.json.encode(verified))
print(loaded.settings["precision"])
"""
EXPORT = """
import sys
from pathlib import Path
from suite.zoo import models, onnx_export, weights
model = models.get(sys.argv[1])
onnx_export.export(model, weights.load(Path(sys.argv[2]), model), 1, sys.argv[3], Path(sys.argv[4]))
"""


def _missing(backend: str) -> str:
    info = registry.get(backend)
    needed = (info.image, *(("torch", "onnx", "onnxscript", "onnxruntime") if info.reads == "onnx" else ()))
    return ", ".join(name for name in needed if importlib.util.find_spec(name) is None)


LOWER = [
    pytest.param(
        backend,
        precision,
        id=f"{backend}-{precision}",
        marks=pytest.mark.skipif(bool(_missing(backend)), reason=f"not installed: {_missing(backend)}"),
    )
    for backend in registry.names()
    for precision in precisions.supported(backend)
    if precision != "fp32"
]


def _python(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


class Artifacts:
    """Weights, ONNX files and references, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._references: dict[tuple[str, str, int], npt.NDArray[np.float64]] = {}

    def weights(self, name: str) -> Path:
        path = self.folder / f"{name}.f32"
        if not path.exists():
            weights.save(models.get(name), path)
        return path

    def onnx(self, name: str, precision: str) -> Path:
        folder = self.folder / f"{name}-{precision}"
        if not folder.exists():
            folder.mkdir()
            _python(EXPORT, name, str(self.weights(name)), precision, str(folder))
        return folder / "model.onnx"

    def reference(self, name: str, count: int, precision: str = "fp32") -> npt.NDArray[np.float64]:
        """Return the reference, with weights rounded to a precision where it is a lower one."""
        if (name, precision, count) not in self._references:
            model = models.get(name)
            made = weights.load(self.weights(name), model)
            rounded = made if precision == "fp32" else rounding.weights(made, precision)
            self._references[name, precision, count] = reference.run(model, rounded, inputs.make(model, 0, count))
        return self._references[name, precision, count]

    def yardstick(self, name: str, count: int, precision: str) -> float:
        return parity.compare(self.reference(name, count, precision), self.reference(name, count)).relative_l2

    def verify(
        self, backend: str, model: str, precision: str, claimed: str = "", **settings: str
    ) -> tuple[Parity, Verified]:
        """Let a worker answer in one precision, and judge it by that or by another that it claims."""
        claimed = claimed or precision
        count = verify_count(Case(model, "latency", claimed, 1, 2))
        task = {
            "backend": backend,
            "model": model,
            "batch": 1,
            "threads": 2,
            "precision": precision,
            "weights_path": str(self.weights(model)),
            "settings": settings,
        }
        way = precisions.way(backend, precision)
        if registry.get(backend).reads == "onnx":
            task["file_path"] = str(self.onnx(model, way.file))
        answer = self.folder / "answer.json"
        said = _python(WORKER, msgspec.json.encode(task).decode(), str(count), str(answer))
        assert (way.how if not settings else "autocast") in said
        verified = msgspec.json.decode(answer.read_bytes(), type=Verified)
        found = compare_outputs(
            verified,
            self.reference(model, count),
            claimed,
            yardstick=lambda name: self.yardstick(model, count, name),
        )
        return found, verified


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Artifacts:
    return Artifacts(tmp_path_factory.mktemp("artifacts"))


@pytest.mark.parametrize("model", [name for name in models.names() if models.get(name).quantized])
@pytest.mark.parametrize(("backend", "precision"), LOWER)
def test_it_is_equal_and_what_it_says(backend: str, precision: str, model: str, artifacts: Artifacts) -> None:
    found, verified = artifacts.verify(backend, model, precision)
    print(backend, model, precision, found.relative_error, found.centred_error, found.rounding_error, found.top_1)
    print(verified.computed, found.emulated)
    assert found.equal, found.reason
    assert found.computed_in == precision
    assert verified.computed is not None
    assert sum(verified.computed.products.values()) >= 5, "the MLP has six; XLA makes a sum of the last"
    if not found.emulated:
        assert verified.computed.mostly == precision
    if precision == "int8" and model == "resnet50":
        assert not isinstance(found.top_1, Absent)
        assert found.top_1 >= 0.5


@pytest.mark.parametrize("backend", [param.values[0] for param in LOWER if param.values[1] == "bf16"])
def test_bf16_that_claims_to_be_fp32_is_found_out(backend: str, artifacts: Artifacts) -> None:
    if _missing(str(backend)):
        pytest.skip(f"not installed: {_missing(str(backend))}")
    found, _ = artifacts.verify(str(backend), "resnet50", "bf16", claimed="fp32")
    assert not found.equal
    assert found.computed_in == "bf16"
    assert "asked for fp32" in found.reason


@pytest.mark.parametrize("backend", ["torch", "onnxruntime", "openvino"])
def test_fp32_that_claims_to_be_bf16_is_found_out(backend: str, artifacts: Artifacts) -> None:
    if _missing(backend):
        pytest.skip(f"not installed: {_missing(backend)}")
    found, _ = artifacts.verify(backend, "mlp", "fp32", claimed="bf16")
    assert not found.equal
    assert found.computed_in == "fp32"


@pytest.mark.parametrize("backend", ["torch", "torch-compile"])
def test_autocast_is_a_way_to_bf16(backend: str, artifacts: Artifacts) -> None:
    if _missing(backend):
        pytest.skip(f"not installed: {_missing(backend)}")
    found, _ = artifacts.verify(backend, "mlp", "bf16", cast="autocast")
    assert found.equal, found.reason
    assert found.computed_in == "bf16"


def test_the_file_in_fp16_computes_the_model(artifacts: Artifacts) -> None:
    """No backend here computes in fp16 on a CPU; ONNX Runtime reads the file all the same, by way of fp32."""
    if _missing("onnxruntime"):
        pytest.skip(f"not installed: {_missing('onnxruntime')}")
    code = (
        "import sys, numpy as np, onnxruntime\n"
        "from suite.zoo import inputs, models\n"
        "session = onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])\n"
        "made = [inputs.make(models.get('resnet50'), index, 1) for index in range(2)]\n"
        "np.save(sys.argv[2], np.concatenate([session.run(None, each)[0] for each in made]))\n"
    )
    output = artifacts.folder / "fp16.npy"
    _python(code, str(artifacts.onnx("resnet50", "fp16")), str(output))
    answer = np.load(output)
    assert answer.dtype == np.float32
    judgement = parity.judge(answer, artifacts.reference("resnet50", 2), "fp16")
    assert judgement.equal, judgement.reason
    assert judgement.errors is not None
    assert judgement.errors.relative_l2 > artifacts.yardstick("resnet50", 2, "fp16") / 10
