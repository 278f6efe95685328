"""ONNX Runtime on its CPU execution provider."""

from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends.checks import import_framework, require_names, require_onnx, require_supported
from suite.backends.protocol import Arrays, Options, Source, Step, Unsupported

_PROVIDER = "CPUExecutionProvider"
_GRAPH = {
    "all": "ORT_ENABLE_ALL",
    "extended": "ORT_ENABLE_EXTENDED",
    "basic": "ORT_ENABLE_BASIC",
    "off": "ORT_DISABLE_ALL",
}


class ONNXRuntime:
    """One session, operators one after the other, all graph optimisations (`graph=` asks for fewer).

    References
    ----------
    https://onnxruntime.ai/docs/performance/tune-performance/threading.html
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("onnxruntime", options)
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

    def load(self, source: Source) -> Step:
        """Open a session on the ONNX file.

        Raises
        ------
        Unsupported
            If the file is missing or of another model, or another provider would run it.
        """
        path = require_onnx("onnxruntime", source)
        session = self._ort.InferenceSession(str(path), self._options, providers=[_PROVIDER])
        self._providers = list(session.get_providers())
        if self._providers != [_PROVIDER]:
            raise Unsupported(f"onnxruntime would run on {', '.join(self._providers)} and not on {_PROVIDER} alone.")
        require_names("onnxruntime", source.example, [tensor.name for tensor in session.get_inputs()])
        outputs = [session.get_outputs()[0].name]
        run = session.run

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            return run(outputs, inputs)[0]  # type: ignore[no-any-return]

        return step

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        options = self._options
        return {
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
