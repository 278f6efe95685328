"""The CUDA side of the backends, as far as it goes without a GPU: refusals, and resident calls on the CPU.

That a framework computes on a GPU as it should is not tested here, and nothing claims it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from suite.backends import registry
from suite.backends.protocol import Options, Unsupported
from suite.worker.messages import Load, Task
from suite.worker.server import Service
from suite.zoo import models, parity
from tests.backends.test_frameworks import BATCH, ROOT, _python, _where_installed, artifacts

__all__ = ["artifacts"]

ON_CUDA = ("torch", "torch-compile", "tensorflow", "tensorflow-xla", "jax", "onnxruntime")

REFUSAL = """
import sys
from suite.backends import registry
from suite.backends.protocol import Options, Unsupported
try:
    registry.create(sys.argv[1], Options(threads=1, device="cuda"))
    print("it was made")
except Unsupported as refusal:
    print(refusal)
"""

RESIDENT = """
import json, sys
from pathlib import Path
import numpy as np
from suite.backends import registry
from suite.backends.protocol import Options, ResidentBackend, Source, WithDeviceMemory
from suite.zoo import inputs, models, weights
name, model_name, batch, weights_path, onnx_path, output = sys.argv[1:]
info, model, count = registry.get(name), models.get(model_name), int(batch)
first = inputs.make(model, 0, count, layout=info.layout)
second = inputs.make(model, count, count, layout=info.layout)
backend = registry.create(name, Options(threads=2))
assert isinstance(backend, ResidentBackend)
memory = backend.device_memory() if isinstance(backend, WithDeviceMemory) else {}
onnx = info.reads == "onnx"
resident = backend.load_resident(Source(
    model=model_name, batch=count, weights={} if onnx else weights.load(Path(weights_path), model),
    example=first, file=Path(onnx_path) if onnx else None))
one, two = resident.place(first), resident.place(second)
outputs = [np.array(resident.fetch(resident.run(placed))) for placed in (one, two, one)]
np.save(output, np.stack(outputs))
print(json.dumps(memory))
"""


@pytest.mark.framework
@_where_installed(*ON_CUDA)
def test_without_a_gpu_it_is_refused_and_never_falls_back(backend: str) -> None:
    said = _python(["-c", REFUSAL, backend], CUDA_VISIBLE_DEVICES="").strip().splitlines()[-1]
    assert said.startswith(f"{backend} was to run on a GPU and sees none ("), said
    assert "take a CUDA variant of it" in said


@pytest.mark.framework
@pytest.mark.parametrize("model", models.names())
@_where_installed(*ON_CUDA)
def test_a_resident_call_equals_the_reference(backend: str, model: str, artifacts: Path, tmp_path: Path) -> None:
    """On the CPU, where "resident" is memory of the framework's own: the same code, another device."""
    home = artifacts / model
    output = tmp_path / "output.npy"
    paths = [str(home / "weights"), str(home / "model.onnx"), str(output)]
    memory = json.loads(_python(["-c", RESIDENT, backend, model, str(BATCH), *paths]))
    first, second, again = np.load(output)
    expected = np.load(home / "expected.npy")
    assert parity.judge(np.concatenate([first, second]), expected).equal
    assert np.array_equal(first, again), "inputs stay where they were placed"
    assert memory == {}, "a CPU has no memory of a device"


TF32 = """
import sys, warnings
import torch
from suite.backends import torch as backend
backend.choose_tf32(torch, on=sys.argv[1] == "on")
old = (torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision())
new = backend._precisions(torch, "cuda")
with torch.backends.cudnn.flags(enabled=True):  # reads all of cuDNN's flags, and puts them back
    pass
print(old, new)
print(backend._reductions(torch))
"""


@pytest.mark.framework
@_where_installed("torch")
@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("off", "(False, False, 'highest') ('ieee', 'ieee')"),
        ("on", "(True, True, 'high') ('tf32', 'tf32')"),
    ],
)
def test_torch_says_the_same_of_tf32_in_both_its_ways(backend: str, asked: str, says: str) -> None:
    """The flags are of no device: torch keeps them on a CPU too, and its compiler reads them in both ways."""
    said = _python(["-c", TF32, asked]).strip().splitlines()
    assert said == [says, "parts may be added in the lower precision (its default)"], backend


PLACED = """
import json, sys
from suite.backends import registry
from suite.backends import tensorflow as module
from suite.backends.protocol import Options, Source
from suite.zoo import inputs, models, weights
backend, model = registry.create("tensorflow", Options(threads=2)), models.get("mlp")
example = inputs.make(model, 0, 1, layout="NHWC")
source = Source(model="mlp", batch=1, weights=weights.make(model), example=example)
given = [backend._tf.constant(example[tensor.name]) for tensor in model.inputs]
there = [module.placed_elsewhere(backend._trace(source), given, kind)[1] for kind in ("CPU", "GPU")]
module.waiting(backend._tf, "/CPU:0")()
backend._trace(source)
try:
    backend._require_on_gpu(given)
except Exception as refusal:
    print(json.dumps([*there, str(refusal)]))
"""


@pytest.mark.framework
@_where_installed("tensorflow")
def test_tensorflow_tells_where_it_computed_each_product(backend: str) -> None:
    here, elsewhere, refusal = json.loads(_python(["-c", PLACED]).splitlines()[-1])
    assert here == []
    assert any("MatMul" in name for name in elsewhere), "they are on the CPU, and not on a GPU"
    assert f"{backend} was to run on a GPU and would compute on device:CPU:0" in refusal


@pytest.mark.parametrize("backend", ["openvino", "canary"])
def test_others_say_that_they_do_not_run_there(backend: str) -> None:
    with pytest.raises(Unsupported, match=f"{backend} runs on cpu here, not on cuda"):
        registry.create(backend, Options(threads=1, device="cuda"))


def test_a_backend_that_cannot_be_resident_is_refused() -> None:
    service = Service()
    with pytest.raises(Unsupported, match="canary cannot leave inputs and outputs on a device"):
        service.answer(Load(Task(backend="canary", model="canary", batch=1, threads=1, scenario="latency-device")))


# ---- silent fallback, at the boundary to the framework ---------------------------------------------------------------

FAKE = {
    "onnxruntime": """
class SessionOptions:
    entries = {}
    def add_session_config_entry(self, name, value): SessionOptions.entries[name] = value
class ExecutionMode: ORT_SEQUENTIAL = "ExecutionMode.ORT_SEQUENTIAL"
class GraphOptimizationLevel: ORT_ENABLE_ALL = "GraphOptimizationLevel.ORT_ENABLE_ALL"
__version__ = "1.31.1"
def disable_telemetry_events(): pass
def set_default_logger_severity(level): pass
def get_available_providers(): return ["CUDAExecutionProvider", "CPUExecutionProvider"]
def preload_dlls(): pass
class InferenceSession:
    def __init__(self, path, options, providers, enable_fallback):
        assert enable_fallback == 0, "or it would make a session on the CPU where one on CUDA fails"
        assert providers == [("CUDAExecutionProvider", {
            "device_id": "0", "use_tf32": "0", "arena_extend_strategy": "kSameAsRequested"})]
        assert SessionOptions.entries["session.disable_cpu_ep_fallback"] == "1"
        if MODE == "nodes":
            raise RuntimeError("nodes are assigned to the default CPU EP, but fallback to CPU EP has been disabled")
        if MODE == "memory":
            raise RuntimeError("BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer of size 9")
    def get_providers(self):
        return ["CUDAExecutionProvider", "CPUExecutionProvider"] if MODE == "fine" else ["CPUExecutionProvider"]
    def get_provider_options(self): return {"CUDAExecutionProvider": {"use_tf32": "0", "device_id": "0"}}
    def get_inputs(self): return [type("T", (), {"name": "features"})]
    def get_outputs(self): return [type("T", (), {"name": "out"})]
    def run(self, outputs, inputs): return [inputs["features"]]
""",
    "jax": """
__version__ = "0.10.2"
class config:
    @staticmethod
    def update(name, value): pass
class Device: platform = "cpu"
def devices():
    if MODE == "none":
        raise RuntimeError("Unable to initialize backend 'cuda': no visible devices")
    return [Device]
""",
}

RTX = """
import types
class SessionOptions:
    entries = {}
    def add_session_config_entry(self, name, value): SessionOptions.entries[name] = value
    def add_provider_for_devices(self, devices, options):
        assert len(devices) == 1 and options == {}
__version__ = "1.31.1"
def disable_telemetry_events(): pass
def set_default_logger_severity(level): pass
def register_execution_provider_library(name, path): assert (name, path) == ("RTX", "/a/library.so")
def get_ep_devices():
    other = types.SimpleNamespace(ep_name="CPUExecutionProvider")
    return [other] if MODE == "none" else [other, types.SimpleNamespace(ep_name="RTX")]
class InferenceSession:
    def __init__(self, path, options, enable_fallback):
        import os
        assert enable_fallback == 0
        if MODE == "gpu":
            raise RuntimeError("[NvTensorRTRTX EP] The execution provider only supports RTX devices with compute")
        assert os.environ["NVIDIA_TF32_OVERRIDE"] == "0"
        assert SessionOptions.entries["session.disable_cpu_ep_fallback"] == "1"
        if MODE == "nodes":
            raise RuntimeError("nodes are assigned to the default CPU EP, but fallback to CPU EP has been disabled")
    def get_providers(self): return ["RTX"] if MODE == "fine" else ["CPUExecutionProvider"]
    def get_inputs(self): return [type("T", (), {"name": "features"})]
    def get_outputs(self): return [type("T", (), {"name": "out"})]
    def run(self, outputs, inputs): return [inputs["features"]]
"""

TENSORRT = """
import numpy as np
__version__ = "11.4.0"
BUILT = []
class ILogger:
    INTERNAL_ERROR, ERROR, WARNING = 0, 1, 2
    def __init__(self): self.made = True
LOGGERS = []
def heard(logger):
    assert logger.made, "the base class must be made by hand"
    LOGGERS.append(logger)
class TensorIOMode: INPUT, OUTPUT = 0, 1
def nptype(dtype): return {"FLOAT": np.float32}[dtype]
class NetworkDefinitionCreationFlag: STRONGLY_TYPED = 1
class BuilderFlag: TF32 = "tf32"
class Config:
    def clear_flag(self, flag): assert flag == "tf32"
class Builder:
    def __init__(self, logger): heard(logger)
    def create_network(self, flags): assert flags == 2
    def create_builder_config(self): return Config()
    def build_serialized_network(self, network, config):
        LOGGERS[-1].log(ILogger.WARNING, "never told")
        if MODE == "build": return None
        if MODE in ("why", "room"):
            LOGGERS[-1].log(ILogger.ERROR, "no tactic  fits" if MODE == "why" else "Error Code 2: OutOfMemory")
            return None
        BUILT.append(1)
        return b"engine"
class OnnxParser:
    num_errors = 1
    def __init__(self, network, logger): pass
    def parse_from_file(self, path): return MODE != "parse"
    def get_error(self, index): return "no such operator"
class Context:
    def set_tensor_address(self, name, address):
        addresses[name] = address
        return True
    def execute_async_v3(self, stream_handle):
        import ctypes
        ctypes.memmove(addresses["out"], addresses["features"], 16)
        return True
addresses = {}
class Engine:
    num_io_tensors = 2
    def get_tensor_name(self, index): return ("features", "out")[index]
    def get_tensor_mode(self, name): return TensorIOMode.INPUT if name == "features" else TensorIOMode.OUTPUT
    def get_tensor_shape(self, name): return (1, 4)
    def get_tensor_dtype(self, name): return "FLOAT"
    def create_execution_context(self): return Context()
class Runtime:
    def __init__(self, logger): heard(logger)
    def deserialize_cuda_engine(self, plan):
        assert plan == b"engine"
        return Engine()
"""

CUDA_RUNTIME = """
import ctypes
buffers = []
class cudaMemcpyKind: cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost = 1, 2
WORDS = {2: b"out of memory", 35: b"CUDA driver version is insufficient for CUDA runtime version"}
waits = 0
def cudaGetErrorString(code): return (0, WORDS.get(code, b"no error"))
def cudaGetDeviceCount(): return {"none": (0, 0), "driver": (35, None)}.get(MODE, (0, 1))
def cudaStreamCreate(): return (0, 7)
def cudaMalloc(size):
    if MODE == "memory": return (2, None)
    buffers.append(ctypes.create_string_buffer(size))
    return (0, ctypes.addressof(buffers[-1]))
def cudaFree(address):
    buffers[:] = [each for each in buffers if ctypes.addressof(each) != address]
    return (0,)
def cudaMemcpyAsync(target, source, size, kind, stream):
    ctypes.memmove(target, source, size)
    return (0,)
def cudaStreamSynchronize(stream):
    global waits
    waits += 1
    return (0,)
"""

ENGINES = """
import sys
from pathlib import Path
import numpy as np
from suite.backends import registry
from suite.backends.protocol import Options, Source, Unsupported
cache = Path(sys.argv[1]).parent / "cache"
cache.mkdir(exist_ok=True)
example = {"features": np.arange(4, dtype=np.float32)[None]}
source = Source(model="mlp", batch=1, weights={}, example=example, file=Path(sys.argv[1]))
try:
    import tensorrt
    from cuda.bindings import runtime
    for turn in range(2):
        backend = registry.create("tensorrt", Options(threads=1, device="cuda", cache=cache))
        for again in range(2):
            step = backend.load(source)
            assert len(runtime.buffers) == 2 * (turn + 1), "the memory of the model before is given back"
        before = runtime.waits
        assert (step(example) == example["features"]).all()
        assert runtime.waits == before + 1, "a call waits once, for its output"
    resident = backend.load_resident(source)
    assert (resident.fetch(resident.run(resident.place(example))) == example["features"]).all()
    settings = backend.settings()
    print(len(tensorrt.BUILT), settings["TF32"], len(settings["engine sha256"]), settings["mode"])
except (Unsupported, RuntimeError) as refusal:
    print(refusal)
"""

BOUNDARY = """
import sys
from pathlib import Path
import numpy as np
from suite.backends import registry
from suite.backends.protocol import Options, Source, Unsupported
try:
    backend = registry.create(sys.argv[1], Options(threads=1, device="cuda"))
    example = {"features": np.zeros((1, 4), dtype=np.float32)}
    step = backend.load(Source(model="mlp", batch=1, weights={}, example=example, file=Path(sys.argv[2])))
    assert step(example) is example["features"]
    print("it runs:", backend.settings()["use tf32"], backend.settings()["operators on the CPU"])
except Unsupported as refusal:
    print(refusal)
except RuntimeError as error:
    print(f"{type(error).__name__}: {error}")
"""


@pytest.mark.parametrize(
    ("framework", "mode", "says"),
    [
        ("onnxruntime", "fine", "it runs: 0 forbidden"),
        ("onnxruntime", "session", "would compute on CPUExecutionProvider"),
        ("onnxruntime", "nodes", "would compute on the CPU in part"),
        ("onnxruntime", "memory", "RuntimeError: BFCArena::AllocateRawInternal"),
        ("jax", "none", "sees none (Unable to initialize backend 'cuda': no visible devices)"),
        ("jax", "cpu", "would compute on cpu"),
    ],
)
def test_a_silent_fallback_is_a_failure(tmp_path: Path, framework: str, mode: str, says: str) -> None:
    """A module of the framework's name that answers as the framework is documented to, where it falls back."""
    (tmp_path / f"{framework}.py").write_text(f"MODE = {mode!r}\n" + FAKE[framework])
    assert says in _at_boundary(tmp_path, BOUNDARY, framework, str(tmp_path / "model.onnx"))


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("fine", "it runs"),
        ("none", "RTX lists no device; it wants an RTX-class GPU"),
        ("gpu", "sees none (RTX wants an RTX-class GPU, of compute capability 8.6"),
        ("session", "would compute on CPUExecutionProvider"),
        ("nodes", "would compute on the CPU in part"),
    ],
)
def test_the_plug_in_for_tensorrt_rtx_at_its_boundary(tmp_path: Path, mode: str, says: str) -> None:
    (tmp_path / "onnxruntime.py").write_text(f"MODE = {mode!r}\n" + RTX)
    (tmp_path / "onnxruntime_ep_nv_tensorrt_rtx.py").write_text(
        "def get_ep_name(): return 'RTX'\ndef get_library_path(): return '/a/library.so'\n"
    )
    code = BOUNDARY.replace('backend.settings()["use tf32"]', "0")
    assert says in _at_boundary(tmp_path, code, "onnxruntime-tensorrt-rtx", str(tmp_path / "model.onnx"))


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("fine", "1 off 64 one engine for all launches of a run"),
        ("none", "tensorrt was to run on a GPU and sees none"),
        ("driver", "sees none (tensorrt 11.4.0; CUDA says: CUDA driver version is insufficient"),
        ("parse", "cannot parse the ONNX file: no such operator."),
        ("build", "could not build an engine for this GPU."),
        ("why", "TensorRT could not build an engine for this GPU: no tactic fits"),
        ("room", "TensorRT could not build an engine for this GPU: Error Code 2: OutOfMemory"),
        ("memory", "CUDA failure 2: out of memory (cudaMalloc)"),
    ],
)
def test_tensorrt_at_its_boundary(tmp_path: Path, mode: str, says: str) -> None:
    """One engine is built and shared; modules of the names that TensorRT and CUDA's Python have stand in for them."""
    (tmp_path / "tensorrt.py").write_text(f"MODE = {mode!r}\n" + TENSORRT)
    (tmp_path / "cuda" / "bindings").mkdir(parents=True)
    (tmp_path / "cuda" / "__init__.py").touch()
    (tmp_path / "cuda" / "bindings" / "__init__.py").touch()
    (tmp_path / "cuda" / "bindings" / "runtime.py").write_text(f"MODE = {mode!r}\n" + CUDA_RUNTIME)
    assert says in _at_boundary(tmp_path, ENGINES, str(tmp_path / "model.onnx"))


def _at_boundary(folder: Path, code: str, *words: str) -> str:
    (folder / "model.onnx").write_bytes(b"")
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("backend", registry.names_on_gpus_only())
def test_what_runs_on_gpus_only_says_so(backend: str) -> None:
    with pytest.raises(Unsupported, match=f"{backend} runs on cuda here, not on cpu"):
        registry.create(backend, Options(threads=1))
