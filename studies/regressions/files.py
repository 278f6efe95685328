"""A workload as files in a folder: `model.onnx`, and each input as `.npy`."""

import hashlib
import shutil
from pathlib import Path

import numpy as np

from studies.regressions import workloads
from studies.regressions.pairs import Pair
from suite.images.wheels import Progress
from suite.launchers.docker import DockerLauncher, connect
from suite.plan import EXPORTER
from suite.prepare.artifacts import Artifacts
from suite.zoo import inputs, models

MODEL = "model.onnx"


def write(pair: Pair, folder: Path, say: Progress) -> str:
    """Write what a pair is measured with."""
    if pair.zoo_model:
        return _export(pair.zoo_model, folder, say)
    made = workloads.make(pair.workload)
    (folder / MODEL).write_bytes(made.model)
    for name, array in made.inputs.items():
        np.save(folder / f"{name}.npy", array)
    return hashlib.sha256(made.model).hexdigest()


def _export(name: str, folder: Path, say: Progress) -> str:
    launcher, artifacts = DockerLauncher(connect()), Artifacts(progress=say)
    exporter = launcher.prepare(EXPORTER, "cpu", None, say)
    onnx = artifacts.exported(name, "fp32", 1, exporter=exporter, launcher=launcher)
    for file in (artifacts.root / onnx.path).parent.iterdir():
        shutil.copyfile(file, folder / file.name)
    for tensor, array in inputs.make(models.get(name), 0, 1).items():
        np.save(folder / f"{tensor}.npy", array)
    return onnx.sha256
