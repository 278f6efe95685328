"""Every framework's own profiler, asked through a real worker, says where the MLP's time goes."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import suite
from suite.backends import registry
from suite.worker.messages import Load, Loaded, Profile, Profiled, Reply, Task
from suite.zoo import models, weights

pytestmark = pytest.mark.framework

ROOT = Path(suite.__file__).parents[1]
BACKENDS = [name for name in registry.names() if registry.get(name).profiler]
REQUEST = Profile(window_ns=100_000_000, min_calls=5, max_calls=20, rewarm_ns=20_000_000)
PRODUCTS = {
    # What the MLP's six matrix products are called; compilers may fuse or rewrite them.
    "torch": ("aten::addmm", 6),
    "torch-compile": ("aten::addmm", 4),
    "tensorflow": ("MatMul", 6),
    "tensorflow-xla": ("dot", 5),
    "jax": ("dot", 5),
    "onnxruntime": ("Gemm", 6),
    "openvino": ("FullyConnected", 6),
}
EXPORT = """
import sys
from pathlib import Path
from suite.zoo import models, onnx_export, weights
model = models.get("mlp")
onnx_export.export(model, weights.load(Path(sys.argv[1]), model), 1, "fp32", Path(sys.argv[2]))
"""


def _missing(backend: str) -> str:
    info = registry.get(backend)
    needed = (info.image, *(("torch", "onnx", "onnxscript") if info.reads == "onnx" else ()))
    return ", ".join(name for name in needed if importlib.util.find_spec(name) is None)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mlp")
    weights.save(models.get("mlp"), folder / "weights")
    if not _missing("onnxruntime"):
        _python("-c", EXPORT, str(folder / "weights"), str(folder))
    return folder


def _python(*words: str) -> list[bytes]:
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


def ask(task: Task, request: Profile = REQUEST) -> tuple[Reply, Reply]:
    """Let a worker of its own load a task and profile it."""
    said = b"\n".join(map(msgspec.json.encode, (Load(task), request)))
    # A worker ends with its stdin, so that stays open until both replies are there.
    with subprocess.Popen(
        [sys.executable, "-m", "suite.worker"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "LEVELFIELD_CPUS": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(said + b"\n")
        process.stdin.flush()
        lines = [process.stdout.readline() for _ in range(3)]
        process.stdin.close()
    loaded, profiled = (msgspec.json.decode(line, type=Reply) for line in lines[1:])
    return loaded, profiled


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_says_where_the_time_goes(backend: str, files: Path) -> None:
    if missing := _missing(backend):
        pytest.skip(f"not installed: {missing}")
    reads_onnx = registry.get(backend).reads == "onnx"
    task = Task(
        backend=backend,
        model="mlp",
        batch=1,
        threads=2,  # with one, OpenVINO makes one operator of all six
        weights_path=None if reads_onnx else str(files / "weights"),
        file_path=str(files / "model.onnx") if reads_onnx else None,
    )
    info = registry.get(backend)
    loaded, found = ask(task, msgspec.structs.replace(REQUEST, trace=info.traces[0] if info.traces else None))
    assert isinstance(loaded, Loaded), loaded
    assert isinstance(found, Profiled), found
    calls = len(found.profiled_ns)
    assert 5 <= calls <= 20
    assert len(found.plain_ns) > calls
    kind, least = PRODUCTS[backend]
    products = sum(each.executions for each in found.operators if kind in each.kind)
    assert products / calls >= least, [(each.kind, each.executions) for each in found.operators]
    assert all(each.self_ns >= 0 for each in found.operators)
    assert [each.self_ns for each in found.operators] == sorted((x.self_ns for x in found.operators), reverse=True)
    # Whole microseconds of a call that takes eight may add up to more; twice a profiled call cannot be.
    middle = sorted(found.profiled_ns)[calls // 2]
    assert 0 < sum(each.self_ns for each in found.operators) < 2 * middle + 10_000
    assert found.source
    assert found.note
    assert bool(found.trace) == bool(info.traces)


@pytest.mark.parametrize("backend", ["torch", "jax", "tensorflow"])
def test_a_training_step_is_profiled_too(backend: str, files: Path) -> None:
    if missing := _missing(backend):
        pytest.skip(f"not installed: {missing}")
    task = Task(
        backend=backend, model="mlp", batch=8, threads=1, scenario="training", weights_path=str(files / "weights")
    )
    _, found = ask(task)
    assert isinstance(found, Profiled), found
    assert len(found.operators) > 5


def test_protobuf_reads_the_same(files: Path) -> None:
    """Our reading of the wire format against TensorFlow's generated one."""
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("not installed: tensorflow")
    code = """
import gzip, json, sys
from tensorflow.tsl.profiler.protobuf import xplane_pb2
space = xplane_pb2.XSpace.FromString(gzip.open(sys.argv[1]).read())
found = [
    (plane.event_metadata[event.metadata_id].name, event.duration_ps)
    for plane in space.planes for line in plane.lines for event in line.events
    if any(plane.stat_metadata[stat.metadata_id].name == "hlo_op" for stat in event.stats)
]
print(json.dumps(sorted(found)))
"""
    from suite.backends.profiling import xplane
    from tests.backends.profiling.recorded import TRACES, trace

    theirs: list[Any] = json.loads(_python("-c", code, str(TRACES / "jax-mlp.xplane.pb.gz"))[-1])
    ours = sorted((each.name, each.end_ns - each.begin_ns) for each in xplane.spans(trace("jax-mlp.xplane.pb")))
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    for (_, our_ns), (_, their_ps) in zip(ours, theirs, strict=True):
        assert our_ns == pytest.approx(their_ps / 1000, abs=1.0)
