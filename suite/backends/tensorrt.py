"""TensorRT itself: its ONNX parser, its builder, and one engine for all launches of a run.

Unverified: see `suite.backends.cuda`.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends import cuda
from suite.backends.checks import import_framework, require_names, require_onnx, require_supported
from suite.backends.protocol import Arrays, Options, Resident, Source, Step, Unsupported

_NAME = "tensorrt"


class TensorRT:
    """One engine, built once a run and kept beside the compile caches, so that all launches run the same tactics.

    The builder times its tactics anew in every build, and noise picks among those that are nearly alike: two engines of
    one model can differ in speed. The engine's digest is among the settings. Where the launch itself is what is
    measured (cold start), the cache is empty, and the build is part of it.

    References
    ----------
    https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/python-api-docs.html
    https://nvidia.github.io/cuda-python/cuda-bindings/latest/module/runtime.html
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported(_NAME, options, devices=(cuda.DEVICE,))
        self._trt: Any = import_framework(_NAME, "tensorrt")
        self._cuda: Any = import_framework(_NAME, "cuda.bindings.runtime")
        self.version = str(self._trt.__version__)
        self._precision = options.precision
        self._cache = options.cache
        self._digest = ""
        if not _checked(self._cuda.cudaGetDeviceCount(), "cudaGetDeviceCount"):
            raise cuda.sees_none(_NAME, f"tensorrt {self.version}")
        self._logger = self._trt.Logger(self._trt.Logger.ERROR)
        self._stream = _checked(self._cuda.cudaStreamCreate(), "cudaStreamCreate")

    def load(self, source: Source) -> Step:
        """Build the engine of the ONNX file, or take the one that an earlier launch of this run built."""
        resident = self.load_resident(source)

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            return resident.fetch(resident.run(resident.place(inputs)))

        return step

    def load_resident(self, source: Source) -> Resident:
        """Do as `load` does, for memory that stays on the device.

        What is placed is the engine's own memory: there is one set of inputs at a time.

        Raises
        ------
        Unsupported
            If the file is missing or of another model, or TensorRT cannot parse or build it.
        """
        path = require_onnx(_NAME, source)
        with _alone(self._cache):
            plan = self._engine(path)
        self._digest = hashlib.sha256(plan).hexdigest()
        engine = self._trt.Runtime(self._logger).deserialize_cuda_engine(plan)
        if engine is None:
            raise Unsupported("tensorrt cannot read the engine that was built: it is of another GPU or version.")
        names = [str(engine.get_tensor_name(index)) for index in range(engine.num_io_tensors)]
        inputs_of = [name for name in names if engine.get_tensor_mode(name) == self._trt.TensorIOMode.INPUT]
        require_names(_NAME, source.example, inputs_of)
        host = {
            name: np.empty(tuple(engine.get_tensor_shape(name)), dtype=self._trt.nptype(engine.get_tensor_dtype(name)))
            for name in names
            if name not in inputs_of
        }
        sizes = {name: source.example[name].nbytes for name in inputs_of}
        sizes |= {name: array.nbytes for name, array in host.items()}
        context = engine.create_execution_context()
        memory = {name: _checked(self._cuda.cudaMalloc(size), "cudaMalloc") for name, size in sizes.items()}
        for name, address in memory.items():
            context.set_tensor_address(name, int(address))
        kind, stream = self._cuda.cudaMemcpyKind, int(self._stream)
        only = next(iter(host.values())) if len(host) == 1 else None

        def place(inputs: Arrays) -> None:
            for name, array in inputs.items():
                flat = np.ascontiguousarray(array)
                self._copy(memory[name], flat.ctypes.data, flat.nbytes, kind.cudaMemcpyHostToDevice)
                self._wait()  # before the array may go

        def run(_: None) -> None:
            if not context.execute_async_v3(stream_handle=stream):
                raise RuntimeError("TensorRT refused to run the engine.")
            self._wait()

        def fetch(_: None) -> npt.NDArray[np.float32]:
            for name, array in host.items():
                self._copy(array.ctypes.data, memory[name], array.nbytes, kind.cudaMemcpyDeviceToHost)
            self._wait()
            return only if only is not None else list(host.values())  # type: ignore[return-value]

        return Resident(place=place, run=run, fetch=fetch)

    def _engine(self, path: Path) -> bytes:
        kept = self._cache / f"{_digest_of(path)}.engine" if self._cache is not None else None
        if kept is not None and kept.is_file():
            return kept.read_bytes()
        trt = self._trt
        builder = trt.Builder(self._logger)
        network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        parser = trt.OnnxParser(network, self._logger)
        if not parser.parse_from_file(str(path)):
            said = "; ".join(str(parser.get_error(index)) for index in range(parser.num_errors))
            raise Unsupported(f"tensorrt cannot parse the ONNX file: {said[:300]}.")
        config = builder.create_builder_config()
        if self._precision != "tf32":
            config.clear_flag(trt.BuilderFlag.TF32)  # on by default
        built = builder.build_serialized_network(network, config)
        if built is None:
            raise Unsupported("tensorrt could not build an engine for this GPU.")
        plan = bytes(built)
        if kept is not None:
            partial = kept.with_suffix(f".{os.getpid()}")
            partial.write_bytes(plan)
            partial.replace(kept)
        return plan

    def _copy(self, target: object, source: object, count_bytes: int, kind: object) -> None:
        _checked(self._cuda.cudaMemcpyAsync(target, source, count_bytes, kind, self._stream), "cudaMemcpyAsync")

    def _wait(self) -> None:
        _checked(self._cuda.cudaStreamSynchronize(self._stream), "cudaStreamSynchronize")

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        return {
            "mode": "one engine for all launches of a run" if self._cache else "an engine of this launch",
            "engine sha256": self._digest or "not built yet",
            "device": cuda.DEVICE,
            "TF32": "on" if self._precision == "tf32" else "off",
            "types": "as the ONNX file has them (strongly typed)",
            "host memory": "pageable",
            "output": "an array that the next call overwrites",
        }


def _checked(answer: Any, what: str) -> Any:  # noqa: ANN401 (an error code, and what was asked for)
    code, *values = answer
    if int(code):
        words = "out of memory" if "MemoryAllocation" in str(code) else str(code)
        raise RuntimeError(f"CUDA failure {int(code)}: {words} ({what})")
    return values[0] if values else None


def _digest_of(path: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path.parent.glob(f"{path.name}*")):
        digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:32]


@contextlib.contextmanager
def _alone(folder: Path | None) -> Iterator[None]:
    """Let one launch build while the others, which load beside it, wait for its engine."""
    if folder is None:
        yield
        return
    with (folder / ".building").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield
