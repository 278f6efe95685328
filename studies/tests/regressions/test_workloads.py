"""The workloads are valid ONNX files, the same bits every time, and ONNX Runtime can answer them."""

import hashlib
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from levelfield.images import environments
from levelfield.prepare.own_model import onnx_format
from levelfield.zoo.spec import DTYPES
from studies.regressions import workloads

CHECK = """
import glob, json, os, sys
import numpy as np, onnx, onnxruntime
found = {}
for folder in sorted(glob.glob(sys.argv[1] + "/*")):
    path = folder + "/model.onnx"
    onnx.checker.check_model(onnx.load(path), full_check=True)
    inputs = {os.path.basename(file)[:-4]: np.load(file) for file in glob.glob(folder + "/*.npy")}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    answers = []
    for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"):
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        answers.append(session.run(None, inputs)[0])
    size = float(np.linalg.norm(np.float64(answers[0])))
    found[os.path.basename(folder)] = [size, float(np.linalg.norm(np.float64(answers[0]) - answers[1])) / size]
print(json.dumps(found))
"""


@pytest.mark.parametrize("name", workloads.names())
def test_it_is_the_same_every_time_and_can_be_given_to_ab(name: str) -> None:
    made, again = workloads.make(name), workloads.make(name)
    assert made.model == again.model
    graph = onnx_format.read_graph(memoryview(made.model))
    assert {value.name for value in graph.inputs} == set(made.inputs)
    for value in graph.inputs:
        array = made.inputs[value.name]
        assert np.array_equal(array, again.inputs[value.name])
        assert value.dtype == array.dtype.name in DTYPES
        assert tuple(side.size for side in value.shape or ()) == array.shape


def test_one_files_bytes_are_known() -> None:
    """Another file would be another workload, and the classes would say nothing of it."""
    assert hashlib.sha256(workloads.make("softplus").model).hexdigest()[:16] == "22add80dc1a5a1ab"


def test_onnx_accepts_all_and_optimisation_changes_no_answer(tmp_path: Path) -> None:
    for name in workloads.names():
        made = workloads.make(name)
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.onnx").write_bytes(made.model)
        for key, array in made.inputs.items():
            np.save(tmp_path / name / f"{key}.npy", array)
    python = environments.make("exporter").python
    done = subprocess.run(
        [str(python), "-I", "-c", CHECK, str(tmp_path)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found) == set(workloads.names())
    for name, (size, difference) in found.items():
        assert size > 0, name
        assert difference < 1e-4, name
