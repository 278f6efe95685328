"""ONNX Runtime with NVIDIA's plug-in for TensorRT-RTX. Unverified: see `backends.cuda`."""

import contextlib
import ctypes
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from levelfield.backends import cuda
from levelfield.backends.checks import import_framework, require_file, require_names, require_supported
from levelfield.backends.onnxruntime import step_of
from levelfield.backends.protocol import Options, Source, Step

_NAME = "onnxruntime-tensorrt-rtx"
_OF_THE_DRIVER = ("libcuda.so", "libnvidia-ml.so")
_OTHER_GPU = re.compile(r"only supports RTX devices|does not support GPU with Compute Capability")
"""The plug-in's words for a data-centre GPU, which it may list all the same."""
_WANTS = "wants an RTX-class GPU, of compute capability 8.6, 8.9, or 12.0 and newer"


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
        require_supported(_NAME, options)
        os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # for all of NVIDIA's libraries, read when they are loaded
        self._ort: Any = import_framework(_NAME, "onnxruntime")
        self._plugin: Any = import_framework(_NAME, "onnxruntime_ep_nv_tensorrt_rtx")
        self._ort.disable_telemetry_events()
        self._ort.set_default_logger_severity(3)  # errors only: stdout and stderr belong to the worker
        self._provider = str(self._plugin.get_ep_name())
        self.version = str(self._ort.__version__)
        library = Path(self._plugin.get_library_path())
        let_find_each_other(library.parent)
        try:
            self._ort.register_execution_provider_library(self._provider, str(library))
        except Exception as error:
            if any(name in str(error) for name in _OF_THE_DRIVER):
                raise cuda.sees_none(_NAME, "the driver's own libraries are not here") from error
            raise
        devices = [device for device in self._ort.get_ep_devices() if device.ep_name == self._provider]
        if not devices:
            raise cuda.sees_none(_NAME, f"{self._provider} lists no device; it {_WANTS}")
        self._options: Any = self._ort.SessionOptions()
        self._options.intra_op_num_threads = options.threads
        self._options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        kept = {"nv_runtime_cache_path": str(options.cache)} if options.cache is not None else {}
        self._options.add_provider_for_devices(devices[:1], kept)
        self._cache = options.cache
        self._providers: list[str] = []

    def load(self, source: Source) -> Step:
        """Open a session on the ONNX file.

        Raises Unsupported: if the file is missing or of another model, or another provider would run it in whole or in
        part.
        """
        path = require_file(_NAME, source)
        try:
            session = self._ort.InferenceSession(str(path), self._options, enable_fallback=0)
        except Exception as error:
            if _OTHER_GPU.search(str(error)):
                raise cuda.sees_none(_NAME, f"{self._provider} {_WANTS}") from error
            if "fallback" in str(error):
                raise cuda.fell_back(_NAME, "the CPU in part") from error
            raise
        self._providers = list(session.get_providers())
        if self._providers[:1] != [self._provider]:
            raise cuda.fell_back(_NAME, ", ".join(self._providers))
        require_names(_NAME, source.example, [tensor.name for tensor in session.get_inputs()])
        return step_of(session)

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


def let_find_each_other(folder: Path) -> None:
    """Let the libraries of the plug-in's wheel find one another.

    The wheel brings them under their full names alone (`libcudart.so.13.4.36`), and asks the loader for shorter ones.
    When it is imported it makes links for two of them in its own folder, which is read-only in a container, and none
    for the CUDA runtime. So links are made where the loader looks and a worker may write (the docker launcher names
    that place in LD_LIBRARY_PATH), and the runtime is loaded beforehand. That much is tested in the image; what the
    plug-in asks for once it has a GPU is not.
    """
    place = Path(tempfile.gettempdir())
    if str(place) in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        for file in sorted(folder.glob("lib*.so.*")):
            name, _, version = file.name.partition(".so.")
            for short in (f"{name}.so", f"{name}.so.{version.partition('.')[0]}"):
                with contextlib.suppress(FileExistsError):
                    (place / short).symlink_to(file)
    for runtime in sorted(folder.glob("libcudart.so.*"))[:1]:
        ctypes.CDLL(str(runtime), mode=ctypes.RTLD_GLOBAL)
