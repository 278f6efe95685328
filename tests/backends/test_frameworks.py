"""Every backend computes every model as the reference does, within the tolerance of fp32."""

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suite
from suite.backends import registry
from suite.zoo import inputs, models, parity, reference, weights

pytestmark = pytest.mark.framework

BATCH = 2
ROOT = Path(suite.__file__).parents[1]
CHILD = Path(__file__).with_name("child.py")

EXPORT = """
import sys
from pathlib import Path
from suite.zoo import models, onnx_export, weights
model = models.get(sys.argv[1])
onnx_export.export(model, weights.load(Path(sys.argv[2]), model), int(sys.argv[3]), "fp32", Path(sys.argv[4]))
"""


def _installed(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) is not None for module in modules)


def _missing(backend: str) -> str:
    """Return what a backend's tests need and is not installed here."""
    info = registry.get(backend)
    needed = (info.image, *(("torch", "onnx", "onnxscript") if info.reads == "onnx" else ()))
    return ", ".join(name for name in needed if not _installed(name))


def _where_installed(*names: str) -> pytest.MarkDecorator:
    """Parametrise a test by those backends, skipping what is not installed before any artifact is made."""
    return pytest.mark.parametrize(
        "backend",
        [
            pytest.param(
                name, marks=pytest.mark.skipif(bool(_missing(name)), reason=f"not installed: {_missing(name)}")
            )
            for name in names
        ],
    )


def _python(arguments: list[str], **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights, ONNX files and expected outputs of all models."""
    folder = tmp_path_factory.mktemp("artifacts")
    for name in models.names():
        model, home = models.get(name), folder / name
        home.mkdir()
        weights.save(model, home / "weights")
        mapped = weights.load(home / "weights", model)
        np.save(home / "expected.npy", reference.run(model, mapped, inputs.make(model, 0, 2 * BATCH)))
        if _installed("torch", "onnx", "onnxscript"):
            _python(["-c", EXPORT, name, str(home / "weights"), str(BATCH), str(home)])
    return folder


def _run(backend: str, model: str, artifacts: Path, output: Path, *more: str, **environment: str) -> dict[str, Any]:
    home = artifacts / model
    paths = [str(home / "weights"), str(home / "model.onnx"), str(output)]
    answer: dict[str, Any] = json.loads(_python([str(CHILD), backend, model, str(BATCH), *paths, *more], **environment))
    return answer


@pytest.mark.parametrize("model", models.names())
@_where_installed(*registry.names())
def test_it_equals_the_reference(backend: str, model: str, artifacts: Path, tmp_path: Path) -> None:
    answer = _run(backend, model, artifacts, tmp_path / "output.npy")
    first, second, again, other_layout = np.load(tmp_path / "output.npy")
    expected = np.load(artifacts / model / "expected.npy")

    assert answer["dtype"] == "float32"
    judgement = parity.judge(np.concatenate([first, second]), expected)
    assert judgement.equal, judgement
    # Nothing is left of the call in between, and memory order is no part of the answer.
    assert parity.judge(again, expected[:BATCH]).equal
    assert parity.judge(other_layout, expected[:BATCH]).equal


@_where_installed(*registry.names())
def test_it_says_how_it_was_set_up(backend: str, artifacts: Path, tmp_path: Path) -> None:
    answer = _run(backend, "mlp", artifacts, tmp_path / "output.npy")
    settings = answer["settings"]
    assert all(isinstance(value, str) and value for value in settings.values())
    if backend == "jax":  # its threads are the processors it may run on
        assert settings["threads"].startswith(f"{len(os.sched_getaffinity(0))} ")
    else:
        assert settings["threads"] == "2"
    expected = {
        "torch": {"fp32 matrix products": "ieee", "fp32 convolutions": "ieee", "threads between operators": "1"},
        "torch-compile": {"fp32 matrix products": "ieee", "freezing": "off", "compile cache": "empty at start"},
        "tensorflow": {"XLA": "off", "TF32": "off", "oneDNN fp32 mode": "STRICT"},
        "tensorflow-xla": {"XLA": "on", "TF32": "off", "XLA fast math": "off"},
        "jax": {"platform": "cpu", "64-bit": "off", "compile cache": "none"},
        "onnxruntime": {"providers": "CPUExecutionProvider", "graph optimisation": "ORT_ENABLE_ALL"},
        "openvino": {"inference precision hint": "f32", "num streams": "1", "performance hint": "LATENCY"},
    }
    assert settings.items() >= expected[backend].items()
    distribution = registry.get(backend).distribution
    assert importlib.metadata.version(distribution).startswith(answer["version"].partition("-")[0])


@_where_installed("torch-compile", "jax")
def test_a_compile_cache_is_kept_where_it_was_asked_for(backend: str, artifacts: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    settings = ["frozen=off"] if backend == "jax" else []
    answer = _run(backend, "mlp", artifacts, tmp_path / "output.npy", str(cache), *settings)
    assert answer["settings"]["compile cache"] == "kept"
    assert any(path.is_file() for path in cache.rglob("*"))


@_where_installed("jax", "openvino")
def test_an_executable_with_the_weights_in_it_is_not_kept(backend: str, artifacts: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    answer = _run(backend, "mlp", artifacts, tmp_path / "output.npy", str(cache))
    assert answer["settings"]["compile cache"].partition(":")[0] == "none"
    assert not any(path.is_file() for path in cache.rglob("*"))


@_where_installed("torch-compile")
def test_it_leaves_nothing_behind(backend: str, artifacts: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    _run(backend, "mlp", artifacts, tmp_path / "output.npy", TMPDIR=str(temporary))
    assert not list(temporary.glob("levelfield-*"))


REFUSALS = """
import sys
from pathlib import Path
from suite.backends import registry
from suite.backends.protocol import Options, Source, Unsupported
backend = registry.create(sys.argv[1], Options(threads=1))
for onnx in (None, Path("gone.onnx"), Path(sys.argv[2])):
    try:
        backend.load(Source(model="bert", batch=1, weights={}, example={"input_ids": None}, file=onnx))
    except Unsupported as refusal:
        print(refusal)
"""


@_where_installed("onnxruntime", "openvino")
def test_a_missing_or_foreign_onnx_file_is_refused(backend: str, artifacts: Path) -> None:
    none, gone, foreign = _python(["-c", REFUSALS, backend, str(artifacts / "mlp" / "model.onnx")]).splitlines()
    assert none == f"{backend} reads a model file (ONNX) and was given none: export bert first."
    assert "gone.onnx, which is not there" in gone
    assert "inputs features and needs input_ids" in foreign


@_where_installed("torch-compile")
def test_it_says_which_compiler_is_missing(backend: str) -> None:
    code = (
        "from suite.backends import registry\n"
        "from suite.backends.protocol import Options, Unsupported\n"
        f"try: registry.create({backend!r}, Options(threads=1))\n"
        "except Unsupported as refusal: print(refusal)"
    )
    assert "install g++" in _python(["-c", code], CXX="no-such-compiler")
