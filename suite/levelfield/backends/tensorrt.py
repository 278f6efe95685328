"""TensorRT itself: its ONNX parser, its builder, and one engine for all launches of a run.

Unverified: see `backends.cuda`.
"""

import contextlib
import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.backends import cuda
from levelfield.backends.checks import import_framework, require_file, require_names, require_supported
from levelfield.backends.protocol import Arrays, Options, Resident, Source, Step, Unsupported

_NAME = "tensorrt"
_MEMORY = re.compile(r"out of memory|OutOfMemory", re.IGNORECASE)


class _Calls(msgspec.Struct, frozen=True):
    """The parts of a call. None waits for the GPU."""

    send: Callable[[Arrays], list[npt.NDArray[Any]]]
    """Copy inputs to the engine's memory; what is returned must live until the stream was waited for."""
    start: Callable[[], None]
    receive: Callable[[], npt.NDArray[np.float32]]
    """Copy the output to host memory, which is filled once the stream was waited for."""


class TensorRT:
    """One engine, built once a run and kept beside the compile caches, so that all launches run the same tactics.

    The builder times its tactics anew in every build, and noise picks among those that are nearly alike: two engines of
    one model can differ in speed. The engine's digest is among the settings. Where the launch itself is what is
    measured (cold start), the cache is empty, and the build is part of it.

    See https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/python-api-docs.html
    https://nvidia.github.io/cuda-python/cuda-bindings/latest/module/runtime.html
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported(_NAME, options)
        self._trt: Any = import_framework(_NAME, "tensorrt")
        self._cuda: Any = import_framework(_NAME, "cuda.bindings.runtime")
        self.version = str(self._trt.__version__)
        self._precision = options.precision
        self._cache = options.cache
        self._digest = ""
        self._held: list[int] = []
        code, count = self._cuda.cudaGetDeviceCount()
        if int(code) or not count:  # without a driver, or a GPU, that is an error and no number
            raise cuda.sees_none(_NAME, f"tensorrt {self.version}; CUDA says: {self._meaning(code)}")
        self._errors: list[str] = []
        self._logger = _listener(self._trt, self._errors)
        self._runtime = self._trt.Runtime(self._logger)  # an engine may not outlive it
        self._stream = self._checked(self._cuda.cudaStreamCreate(), "cudaStreamCreate")

    def load(self, source: Source) -> Step:
        """Build the engine of the ONNX file, or take the one that an earlier launch of this run built."""
        calls = self._calls(source)

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            sent = calls.send(inputs)
            calls.start()
            output = calls.receive()
            self._wait()
            del sent  # they had to stay until all was copied
            return output

        return step

    def load_resident(self, source: Source) -> Resident:
        """Do as `load` does, for the engine's own memory on the device: there is one set of inputs at a time."""
        calls = self._calls(source)

        def place(inputs: Arrays) -> None:
            sent = calls.send(inputs)
            self._wait()
            del sent

        def run(_: None) -> None:
            calls.start()
            self._wait()

        def fetch(_: None) -> npt.NDArray[np.float32]:
            output = calls.receive()
            self._wait()
            return output

        return Resident(place=place, run=run, fetch=fetch, one_at_a_time=True)

    def _calls(self, source: Source) -> "_Calls":
        """Make the engine ready; what is returned puts work on the stream and waits for none of it."""
        path = require_file(_NAME, source)
        self._let_go()
        with _build_lock(self._cache):
            plan = self._engine(path)
        self._digest = hashlib.sha256(plan).hexdigest()
        engine = self._runtime.deserialize_cuda_engine(plan)
        if engine is None:
            raise self._failure("cannot read the engine that was built, which is of another GPU or version")
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
        if context is None:
            raise self._failure("could not make the engine ready to run")
        memory = {name: self._allocated(size) for name, size in sizes.items()}
        for name, address in memory.items():
            if not context.set_tensor_address(name, address):
                raise self._failure(f"does not take memory for {name}")
        kind, stream = self._cuda.cudaMemcpyKind, int(self._stream)
        only = next(iter(host.values())) if len(host) == 1 else None

        def send(inputs: Arrays) -> list[npt.NDArray[Any]]:
            flat = {name: np.ascontiguousarray(array) for name, array in inputs.items()}
            for name, array in flat.items():
                self._copy(memory[name], array.ctypes.data, array.nbytes, kind.cudaMemcpyHostToDevice)
            return list(flat.values())

        def start() -> None:
            if not context.execute_async_v3(stream_handle=stream):
                raise RuntimeError(self._with_log("refused to run the engine"))

        def receive() -> npt.NDArray[np.float32]:
            for name, array in host.items():
                self._copy(array.ctypes.data, memory[name], array.nbytes, kind.cudaMemcpyDeviceToHost)
            return only if only is not None else list(host.values())  # type: ignore[return-value]

        return _Calls(send=send, start=start, receive=receive)

    def _engine(self, path: Path) -> bytes:
        kept = self._cache / f"{_digest_of(path)}.engine" if self._cache is not None else None
        if kept is not None and kept.is_file():
            return kept.read_bytes()
        trt = self._trt
        builder = trt.Builder(self._logger)
        # From TensorRT 11 on every network is strongly typed, and the flag says nothing; 10 must be asked.
        network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        parser = trt.OnnxParser(network, self._logger)
        if not parser.parse_from_file(str(path)):
            errors = "; ".join(str(parser.get_error(index)) for index in range(parser.num_errors))
            raise Unsupported(f"tensorrt cannot parse the ONNX file: {errors[:300]}.")
        config = builder.create_builder_config()
        if self._precision != "tf32":
            config.clear_flag(trt.BuilderFlag.TF32)  # on by default
        built = builder.build_serialized_network(network, config)
        if built is None:
            raise self._failure("could not build an engine for this GPU")
        plan = bytes(built)
        if kept is not None:
            partial = kept.with_suffix(f".{os.getpid()}")
            partial.write_bytes(plan)
            partial.replace(kept)
        return plan

    def _failure(self, what: str) -> Exception:
        """Return why TensorRT did not do what was asked: it cannot, or there was not enough memory."""
        message = self._with_log(what)
        return RuntimeError(message) if _MEMORY.search(message) else Unsupported(message)

    def _with_log(self, what: str) -> str:
        """Add the end of TensorRT's log to a message: its calls return nothing, and the reason is in the log."""
        log = "; ".join(self._errors[-2:])[-300:]
        self._errors.clear()
        return f"TensorRT {what}: {log}" if log else f"TensorRT {what}."

    def _allocated(self, size_bytes: int) -> int:
        self._held.append(int(self._checked(self._cuda.cudaMalloc(size_bytes), "cudaMalloc")))
        return self._held[-1]

    def _let_go(self) -> None:
        """Give back the memory of the model before this one."""
        while self._held:
            self._checked(self._cuda.cudaFree(self._held.pop()), "cudaFree")

    def _copy(self, target: int, source: int, count_bytes: int, kind: object) -> None:
        self._checked(self._cuda.cudaMemcpyAsync(target, source, count_bytes, kind, self._stream), "cudaMemcpyAsync")

    def _wait(self) -> None:
        self._checked(self._cuda.cudaStreamSynchronize(self._stream), "cudaStreamSynchronize")

    def _checked(self, answer: Any, what: str) -> Any:  # noqa: ANN401 (an error code, and what was asked for)
        code, *values = answer
        if int(code):
            raise RuntimeError(f"CUDA failure {int(code)}: {self._meaning(code)} ({what})")
        return values[0] if values else None

    def _meaning(self, code: Any) -> str:  # noqa: ANN401 (an error code)
        """Return CUDA's own text for an error: `out of memory`."""
        _, text = self._cuda.cudaGetErrorString(code)
        return text.decode() if isinstance(text, bytes) else str(code)

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


def _listener(trt: Any, errors: list[str]) -> Any:  # noqa: ANN401 (a module, and a logger of its)
    """Return a logger that keeps TensorRT's errors and drops its other messages."""

    class Listener(trt.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.ILogger.__init__(self)  # its documentation asks for this way

        def log(self, severity: object, msg: str) -> None:
            if severity in (trt.ILogger.INTERNAL_ERROR, trt.ILogger.ERROR):
                errors.append(" ".join(msg.split()))

    return Listener()


def _digest_of(path: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path.parent.glob(f"{path.name}*")):
        digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:32]


@contextlib.contextmanager
def _build_lock(folder: Path | None) -> Iterator[None]:
    """Let one launch build while other launches, which load at the same time, wait for its engine."""
    if folder is None:
        yield
        return
    with (folder / ".building").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield
