"""ONNX Runtime with NVIDIA's plug-in for TensorRT-RTX. Unverified: see `suite.backends.cuda`."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends import cuda
from suite.backends.checks import import_framework, require_names, require_onnx, require_supported
from suite.backends.protocol import Arrays, Options, Source, Step

_NAME = "onnxruntime-tensorrt-rtx"


class ONNXRuntimeTensorRTRTX:
    """One session on the plug-in's execution provider, which may leave no operator to another.

    Inputs and outputs begin and end in host memory: how values of this plug-in stay on the device is not documented
    for Python.

    References
    ----------
    https://nvidia.github.io/TensorRT-RTX-EP-ABI/installation.html
    https://onnxruntime.ai/docs/execution-providers/TensorRTRTX-ExecutionProvider.html
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported(_NAME, options, devices=(cuda.DEVICE,))
        os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # for all of NVIDIA's libraries, read when they are loaded
        self._ort: Any = import_framework(_NAME, "onnxruntime")
        self._plugin: Any = import_framework(_NAME, "onnxruntime_ep_nv_tensorrt_rtx")
        self._ort.disable_telemetry_events()
        self._ort.set_default_logger_severity(3)  # errors only: stdout and stderr belong to the worker
        self._provider = str(self._plugin.get_ep_name())
        self.version = str(self._ort.__version__)
        self._ort.register_execution_provider_library(self._provider, self._plugin.get_library_path())
        devices = [device for device in self._ort.get_ep_devices() if device.ep_name == self._provider]
        if not devices:
            raise cuda.sees_none(_NAME, f"{self._provider} lists no device; it wants an RTX-class GPU")
        self._options: Any = self._ort.SessionOptions()
        self._options.intra_op_num_threads = options.threads
        self._options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        kept = {"nv_runtime_cache_path": str(options.cache)} if options.cache is not None else {}
        self._options.add_provider_for_devices(devices[:1], kept)
        self._cache = options.cache
        self._providers: list[str] = []

    def load(self, source: Source) -> Step:
        """Open a session on the ONNX file.

        Raises
        ------
        Unsupported
            If the file is missing or of another model, or another provider would run it in whole or in part.
        """
        path = require_onnx(_NAME, source)
        try:
            session = self._ort.InferenceSession(str(path), self._options)
        except Exception as error:
            if "fallback" in str(error):
                raise cuda.fell_back(_NAME, "the CPU in part") from error
            raise
        self._providers = list(session.get_providers())
        if self._providers[:1] != [self._provider]:
            raise cuda.fell_back(_NAME, ", ".join(self._providers))
        require_names(_NAME, source.example, [tensor.name for tensor in session.get_inputs()])
        outputs = [session.get_outputs()[0].name]
        run = session.run

        def step(inputs: Arrays) -> npt.NDArray[np.float32]:
            return run(outputs, inputs)[0]  # type: ignore[no-any-return]

        return step

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        return {
            "providers": ", ".join(self._providers) or "no session yet",
            "threads": str(self._options.intra_op_num_threads),
            "operators on the CPU": "forbidden",
            "device": cuda.DEVICE,
            "TF32": "off (NVIDIA_TF32_OVERRIDE=0)",
            "compile cache": "kept" if self._cache else "none",
            "telemetry": "off",
            "host memory": "pageable",
            "output": "a new array every call",
        }
