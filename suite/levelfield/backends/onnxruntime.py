"""ONNX Runtime on its CPU execution provider, or on that for CUDA."""

import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends import cuda, decoding
from levelfield.backends.checks import (
    import_framework,
    require_decoding,
    require_file,
    require_names,
    require_supported,
)
from levelfield.backends.decoding import Decoder, DecodingSource
from levelfield.backends.precisions import precision_of
from levelfield.backends.protocol import Arrays, LoadsWith, Options, Resident, Source, Step, Unsupported
from levelfield.record.measured import Computed
from levelfield.zoo.decoding import input_names

_CPU = "CPUExecutionProvider"
_CUDA = "CUDAExecutionProvider"
_CUDA_OPTIONS = {
    "device_id": "0",
    "arena_extend_strategy": "kSameAsRequested",  # other workers share the GPU
}
_PRODUCTS = re.compile(r"Conv|Gemm|MatMul|Attention")
"""Operators that multiply or convolve, whatever they were fused with (`QLinearConv`, `QGemm`, `FusedMatMul`)."""
_GRAPH = {
    "all": "ORT_ENABLE_ALL",
    "extended": "ORT_ENABLE_EXTENDED",
    "basic": "ORT_ENABLE_BASIC",
    "off": "ORT_DISABLE_ALL",
}


class ONNXRuntime:
    """One session, operators one after the other, all graph optimisations (`graph=` asks for fewer).

    On CUDA a session that would leave any operator to the CPU is refused: ONNX Runtime falls back without a word, for a
    whole model or for single operators. Its Python layer has another fallback: where a session cannot be made on CUDA,
    or fails there, it makes one on the CPU and tries again. That is off too (`enable_fallback`), so that what really
    went wrong, such as too little memory, is what is reported.

    See https://onnxruntime.ai/docs/performance/tune-performance/threading.html
    https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html
    https://onnxruntime.ai/docs/performance/tune-performance/iobinding.html
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("onnxruntime", options)
        self._given = options
        self._ort: Any = import_framework("onnxruntime", "onnxruntime")
        self._ort.disable_telemetry_events()
        self._ort.set_default_logger_severity(3)  # errors only: stdout and stderr belong to the worker
        self._options: Any = self._ort.SessionOptions()
        # Its own default ignores the CPU affinity.
        self._options.intra_op_num_threads = options.threads
        self._options.inter_op_num_threads = 1
        self._options.execution_mode = self._ort.ExecutionMode.ORT_SEQUENTIAL
        level = _GRAPH[options.settings.get("graph", "all")]
        self._options.graph_optimization_level = getattr(self._ort.GraphOptimizationLevel, level)
        self._spinning = options.settings.get("spinning", "on")
        if self._spinning == "off":
            self._options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.version = str(self._ort.__version__)
        self._providers: list[str] = []
        self._used: dict[str, str] = {}
        self._precision = options.precision
        self._path: Path | None = None
        self._device = options.device
        if self._device == cuda.DEVICE:
            self._require_cuda()

    def _require_cuda(self) -> None:
        """Load CUDA and cuDNN from the wheels beside ONNX Runtime, and forbid it to fall back to the CPU."""
        available = self._ort.get_available_providers()
        if _CUDA not in available:
            raise cuda.sees_none("onnxruntime", f"onnxruntime {self.version} has {', '.join(available)}")
        self._ort.preload_dlls()
        self._options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")

    def load(self, source: Source) -> Step:
        """Open a session on the ONNX file; raises Unsupported where it is missing, or another provider would run it."""
        return step_of(self._session(source))

    def load_resident(self, source: Source) -> Resident:
        """Do as `load` does, for values that stay on the device."""
        session = self._session(source)
        outputs, device = [tensor.name for tensor in session.get_outputs()], self._device
        value_of = self._ort.OrtValue.ortvalue_from_numpy

        def place(inputs: Arrays) -> Any:  # noqa: ANN401 (a binding of ONNX Runtime's)
            binding = session.io_binding()
            for name, array in inputs.items():
                binding.bind_ortvalue_input(name, value_of(np.ascontiguousarray(array), device, 0))
            for name in outputs:
                binding.bind_output(name, device, 0)
            binding.synchronize_inputs()
            return binding

        def run(binding: Any) -> Any:  # noqa: ANN401 (the same)
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            return binding

        def fetch(binding: Any) -> npt.NDArray[np.float32]:  # noqa: ANN401 (the same)
            found = binding.copy_outputs_to_cpu()
            return found[0] if len(outputs) == 1 else found  # type: ignore[no-any-return]

        return Resident(place=place, run=run, fetch=fetch)

    def load_decoding(self, source: DecodingSource) -> Decoder:
        """Open a session on the file with caches."""
        _, caches = require_decoding("onnxruntime", source, self._given)
        session = self._opened(require_file("onnxruntime", source))
        found = [tensor.name for tensor in session.get_inputs()]
        require_names("onnxruntime", input_names(caches), found)
        make = decoding.with_onnxruntime_growing if source.growing else decoding.with_onnxruntime
        return make(self._ort, session, caches, source)

    def _session(self, source: Source) -> Any:  # noqa: ANN401 (a session of ONNX Runtime's)
        session = self._opened(require_file("onnxruntime", source))
        require_names("onnxruntime", source.example, [tensor.name for tensor in session.get_inputs()])
        return session

    def _opened(self, path: Path) -> Any:  # noqa: ANN401 (the same)
        """Open a session, and refuse one that another provider would run."""
        self._path = path
        try:
            session = self._open(path)
        except Exception as error:
            if self._device == cuda.DEVICE and "fallback" in str(error):
                raise cuda.fell_back("onnxruntime", "the CPU in part") from error
            if self._opens_without_optimisations(path):
                raise LoadsWith(error, {"graph": "off"}) from error
            raise
        self._providers = list(session.get_providers())
        if self._device == "cpu" and self._providers != [_CPU]:
            raise Unsupported(f"onnxruntime would run on {', '.join(self._providers)} and not on {_CPU} alone.")
        if self._device == cuda.DEVICE:
            if self._providers[:1] != [_CUDA]:
                raise cuda.fell_back("onnxruntime", ", ".join(self._providers))
            self._used = {name: str(value) for name, value in session.get_provider_options()[_CUDA].items()}
        return session

    def _opens_without_optimisations(self, path: Path) -> bool:
        """Return whether a file that was rejected is one that the optimiser alone rejects."""
        off, level = self._ort.GraphOptimizationLevel.ORT_DISABLE_ALL, self._options.graph_optimization_level
        if level == off:
            return False
        self._options.graph_optimization_level = off
        try:
            self._open(path)
        except Exception:  # noqa: BLE001  (its bindings raise many kinds)
            return False
        finally:
            self._options.graph_optimization_level = level
        return True

    def _open(self, path: Path) -> Any:  # noqa: ANN401 (the same)
        retry = int(self._device == "cpu")
        return self._ort.InferenceSession(str(path), self._options, providers=self._requested(), enable_fallback=retry)

    def _requested(self) -> list[Any]:
        tf32 = "1" if self._precision == "tf32" else "0"
        return [_CPU] if self._device == "cpu" else [(_CUDA, _CUDA_OPTIONS | {"use_tf32": tf32})]

    def computed(self, inputs: Arrays) -> Computed:
        """Run a second session once under ONNX Runtime's own profiler, which names every operator's types.

        Not in fp32: its CPU provider never lowers a precision by itself, and loading the model twice takes seconds.
        """
        if self._precision in {"fp32", "tf32"} or self._path is None:
            source = "nothing: ONNX Runtime names types only to its profiler, which was not asked"
            return Computed({}, source, kernels_source=self._kernels())
        with tempfile.TemporaryDirectory(prefix="levelfield-profile-") as folder:
            options, kept = self._options, (self._options.enable_profiling, self._options.profile_file_prefix)
            options.enable_profiling, options.profile_file_prefix = True, f"{folder}/profile"
            try:
                session = self._open(self._path)
            finally:
                options.enable_profiling, options.profile_file_prefix = kept
            session.run(None, inputs)
            events = json.loads(Path(session.end_profiling()).read_bytes())
        return Computed(_products(events), "ONNX Runtime's profile of one call", kernels_source=self._kernels())

    def _kernels(self) -> str:
        """Say what is known of who multiplies: there is no question for it."""
        if self._device != "cpu":
            return "nothing: cuBLAS and cuDNN are not asked"
        return "ONNX Runtime's own library MLAS, which does not say for which instruction set it chose its kernels"

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        options = self._options
        found = {
            "mode": str(options.execution_mode).rpartition(".")[2],
            "threads": str(options.intra_op_num_threads),
            "threads between operators": str(options.inter_op_num_threads),
            "graph optimisation": str(options.graph_optimization_level).rpartition(".")[2],
            "providers": ", ".join(self._providers) or "no session yet",
            "spinning": "on (its default)" if self._spinning == "on" else "off",
            "denormals": "kept (its default)",
            "telemetry": "off",
            "output": "a new array every call",
        }
        if self._device == "cpu":
            return found
        kept = ("use_tf32", "arena_extend_strategy", "cudnn_conv_algo_search", "prefer_nhwc", "enable_cuda_graph")
        return found | {
            "device": self._device,
            "operators on the CPU": "forbidden",
            "host memory": "pageable",
            **{name.replace("_", " "): self._used[name] for name in kept if name in self._used},
        }


def _products(events: list[dict[str, Any]]) -> dict[str, int]:
    """Count the products in a profile by the type of their first input."""
    counted: Counter[str] = Counter()
    for event in events:
        details = event.get("args", {})
        if event.get("name", "").endswith("_kernel_time") and _PRODUCTS.search(details.get("op_name", "")):
            given = details.get("input_type_shape") or [{}]
            type_ = next(iter(given[0]), "unknown")
            counted[precision_of(type_)] += 1
    return dict(counted)


def step_of(session: Any) -> Step:  # noqa: ANN401 (a session of ONNX Runtime's)
    """Return what calls a session with arrays in host memory: its output, or a list where there are several."""
    outputs = [tensor.name for tensor in session.get_outputs()]
    run = session.run
    if len(outputs) > 1:
        return lambda inputs: run(outputs, inputs)

    def step(inputs: Arrays) -> npt.NDArray[np.float32]:
        return run(outputs, inputs)[0]  # type: ignore[no-any-return]

    return step
