"""The CUDA side of the backends, as far as it goes without a GPU: refusals, and plug-ins at their boundary.

That a framework computes on a GPU as it should is not tested here, and nothing claims it.
"""

import os
from pathlib import Path

import pytest

from levelfield.backends import registry
from levelfield.backends.protocol import Options, Unsupported
from levelfield.worker.messages import Load, Task
from levelfield.worker.server import Service
from tests.commands import IMPORTS, python


def test_a_backend_that_cannot_be_resident_is_refused() -> None:
    service = Service()
    with pytest.raises(Unsupported, match="canary cannot leave inputs and outputs on a device"):
        service.answer(Load(Task(backend="canary", model="canary", batch=1, threads=1, scenario="latency-device")))


# ---- silent fallback, at the boundary to the framework ---------------------------------------------------------------


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
from levelfield.backends import registry
from levelfield.backends.protocol import Options, Source, Unsupported
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
    (tmp_path / "model.onnx").write_bytes(b"")
    assert says in python(ENGINES, tmp_path / "model.onnx", PYTHONPATH=f"{tmp_path}{os.pathsep}{IMPORTS}")


@pytest.mark.parametrize("backend", registry.names_on_gpus_only())
def test_what_runs_on_gpus_only_says_so(backend: str) -> None:
    with pytest.raises(Unsupported, match=f"{backend} runs on cuda here, not on cpu"):
        registry.create(backend, Options(threads=1))
