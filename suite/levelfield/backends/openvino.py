"""OpenVINO on its CPU plugin."""

from collections import Counter
from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends import decoding, kernels
from levelfield.backends.checks import (
    import_framework,
    require_decoding,
    require_file,
    require_names,
    require_supported,
)
from levelfield.backends.decoding import Decoder, DecodingSource
from levelfield.backends.precisions import precision_of
from levelfield.backends.protocol import Arrays, Options, Source, Step, Unsupported
from levelfield.record.measured import Computed
from levelfield.zoo.decoding import input_names

_PRECISIONS = MappingProxyType({"fp32": "f32", "bf16": "bf16", "fp16": "f16", "int8": "f32", "int4": "f32"})
"""The inference precision hint; in int8 and int4 it is that of the operators that the file does not quantise."""
_CAPABILITIES = MappingProxyType({"bf16": "BF16", "int8": "INT8"})
"""What OpenVINO must list as an optimisation of this processor, or it would compute in another precision."""
_PRODUCTS = (
    "Convolution",
    "GroupConvolution",
    "FullyConnected",
    "MatMul",
    "ScaledDotProductAttention",
    "SDPA",
    "MHA",
    "QKVProjection",
    "LLMMLP",
)
_READ_BACK = (
    "INFERENCE_PRECISION_HINT",
    "PERFORMANCE_HINT",
    "EXECUTION_MODE_HINT",
    "INFERENCE_NUM_THREADS",
    "NUM_STREAMS",
    "ENABLE_CPU_PINNING",
    "ENABLE_HYPER_THREADING",
    "CPU_DENORMALS_OPTIMIZATION",
)

COPIED_BYTES = 1 << 16
"""Inputs up to this size are copied into the request's own tensors, larger ones are shared with it: to bind an array
takes some 15 µs a call, as long as the MLP's whole inference."""


class OpenVINO:
    """One compiled model with the latency hint (`hint=` may say otherwise), one inference request used again and again.

    It is compiled at every launch: what OpenVINO's cache would keep holds the weights, and to write those takes longer
    than to compile (docs/method.md, "What is prepared once").

    References
    ----------
    https://docs.openvino.ai/2025/openvino-workflow/running-inference/inference-request/python-api-advanced-inference.html
    """

    version: str

    def __init__(self, options: Options) -> None:
        require_supported("openvino", options)
        self._ov: Any = import_framework("openvino", "openvino")
        self._core: Any = self._ov.Core()
        self._options = options
        self._settings: dict[str, str] = {}
        self._compiled: Any = None
        self.request: Any = None
        """The inference request that is used for every call."""
        self.version = str(self._ov.__version__).partition("-")[0]

    def load(self, source: Source) -> Step:
        """Compile the ONNX file for the CPU; raises Unsupported where OpenVINO would compute in another precision."""
        compiled = self._compile(self._core.read_model(require_file("openvino", source)))
        names = _names(compiled.inputs, source.example)
        if not set(names) <= set(source.example):  # inputs that nothing reads are not there any more
            require_names("openvino", source.example, names)
        request = self.request = compiled.create_infer_request()
        small = sum(array.nbytes for array in source.example.values()) <= COPIED_BYTES
        self._settings["INPUTS"] = "copied into the request's tensors" if small else "shared"
        count = len(compiled.outputs)
        if small:
            return _filling(request, names, count)
        tensors = {name for port in compiled.inputs for name in port.get_names()}
        return _sharing(request, () if tensors >= source.example.keys() else names, count)

    def load_decoding(self, source: DecodingSource) -> Decoder:
        """Compile the file with caches: as a stateful model, where they have a fixed size."""
        _, caches = require_decoding("openvino", source, self._options)
        read = self._core.read_model(require_file("openvino", source))
        expected = input_names(caches)
        require_names("openvino", expected, _names(read.inputs, expected))
        if not source.growing:
            decoding.make_stateful(read, caches)
        self.request = self._compile(read).create_infer_request()
        self._settings["INPUTS"] = "shared"
        if source.growing:
            return decoding.with_openvino_growing(self._ov, self.request, caches, source)
        return decoding.with_openvino(self._ov, self.request)

    def _compile(self, model: Any) -> Any:  # noqa: ANN401  (OpenVINO's own type)
        """Compile a model for the CPU, and refuse one that would be computed in another precision."""
        self._compiled = self.request = None  # frees the model that was loaded before
        precision = _PRECISIONS[self._options.precision]
        available = self._capabilities()
        if precision == "f16" and "FP16" not in available:
            precision = "f32"  # a file in 16 bits is computed in 32 where the processor has no instructions for it
        compiled = self._core.compile_model(model, "CPU", self._config(precision))
        known = set(compiled.get_property("SUPPORTED_PROPERTIES"))
        self._settings = {name: _text(compiled.get_property(name)) for name in _READ_BACK if name in known}
        if self._settings["INFERENCE_PRECISION_HINT"] != precision:
            found = self._settings["INFERENCE_PRECISION_HINT"]
            raise Unsupported(f"openvino would compute in {found} and not in {precision}.")
        self._compiled = compiled
        return compiled

    def _config(self, precision: str) -> dict[str, Any]:
        return {
            # Its default is bf16 where the processor has it: twice as fast, and four digits poorer.
            "INFERENCE_PRECISION_HINT": precision,
            "PERFORMANCE_HINT": self._options.settings.get("hint", "latency").upper(),
            "INFERENCE_NUM_THREADS": self._options.threads,
        }

    def _capabilities(self) -> list[str]:
        needed = _CAPABILITIES.get(self._options.precision)
        available = [str(each) for each in self._core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")]
        if needed is not None and needed not in available:
            raise Unsupported(
                f"openvino computes {self._options.precision} on processors with instructions for it, and finds "
                f"{', '.join(available)} here."
            )
        return available

    def computed(self, inputs: Arrays) -> Computed:
        del inputs  # the compiled model says it without a call
        counted: Counter[str] = Counter()
        primitives: list[str] = []
        fused = 0
        for node in self._compiled.get_runtime_model().get_ordered_ops():
            runtime_info = node.get_rt_info()
            kind = _entry(runtime_info, "layerType")
            fused += kind == "Subgraph"
            if kind in _PRODUCTS:
                counted[precision_of(_entry(runtime_info, "runtimePrecision").lower())] += 1
                primitives.append(_entry(runtime_info, "primitiveType") or "unknown")
        # With one thread it fuses a chain of products into a subgraph, and reports nothing of what is inside.
        hidden = ", which hides them in a fused subgraph" if fused and not counted else ""
        source = f"OpenVINO's runtime graph{hidden}"
        return Computed(dict(counted), source, kernels.count_openvino(primitives), source)

    def settings(self) -> dict[str, str]:
        """Read back what can tilt the field."""
        return {
            "mode": "synchronous, one request",
            "threads": self._settings.get("INFERENCE_NUM_THREADS", "not compiled yet"),
            **{name.lower().replace("_", " "): value for name, value in self._settings.items() if name in _READ_BACK},
            "compile cache": "none",
            "output": "a view that the next call overwrites",
            "inputs": self._settings.get("INPUTS", "not compiled yet"),
        }


def _entry(runtime_info: Any, name: str) -> str:  # noqa: ANN401  (OpenVINO's own type)
    """Return an entry of a node's runtime information, which OpenVINO may wrap; empty where it has none."""
    if name not in runtime_info:
        return ""
    value = runtime_info[name]
    return str(getattr(value, "value", value))


def _sharing(request: Any, names: Sequence[str], count: int) -> Step:  # noqa: ANN401  (OpenVINO's own type)
    """Give the request the arrays as they are: no copy, and 15 µs of Python for every call.

    `names`: of its inputs, where it does not know all of them by name.
    """
    infer = request.infer

    def all_of_them(inputs: Arrays) -> Any:  # noqa: ANN401  (a list of arrays)
        answers = infer(inputs, share_inputs=True, share_outputs=True)
        return [answers[index] for index in range(count)]

    def step(inputs: Arrays) -> npt.NDArray[np.float32]:
        return infer(inputs, share_inputs=True, share_outputs=True)[0]  # type: ignore[no-any-return]

    known = step if count == 1 else all_of_them
    if not names:
        return known
    return lambda inputs: known({at: inputs[name] for at, name in enumerate(names)})  # type: ignore[misc]


def _filling(request: Any, names: Sequence[str], count: int) -> Step:  # noqa: ANN401  (the same)
    """Fill the request's own tensors, which stay bound to it."""
    tensors = [(name, request.get_input_tensor(at).data) for at, name in enumerate(names)]
    infer, output = request.infer, request.get_output_tensor

    def step(inputs: Arrays) -> npt.NDArray[np.float32]:
        for name, tensor in tensors:
            np.copyto(tensor, inputs[name], casting="no")
        infer(share_outputs=True)
        return output(0).data  # type: ignore[no-any-return]

    def all_of_them(inputs: Arrays) -> Any:  # noqa: ANN401  (a list of arrays)
        step(inputs)
        return [output(index).data for index in range(count)]

    return step if count == 1 else all_of_them


def _names(ports: Sequence[Any], expected: Collection[str]) -> list[str]:
    """Return one name of every port: the expected one, where it is among the names of what was removed after it.

    An input that is answered as it is may have the output's name alone: it is the one that is left.
    """
    names = [(*port.get_names(), port.node.friendly_name) for port in ports]
    found = [next((name for name in each if name in expected), "") for each in names]
    left = [name for name in expected if name not in found]
    rest = left[0] if len(left) == found.count("") == 1 else ""
    return [name or rest or port.any_name for name, port in zip(found, ports, strict=True)]


def _text(value: object) -> str:
    """Show an OpenVINO property: types print as `<Type: 'float32'>`, hints as `PerformanceMode.LATENCY`."""
    name = getattr(value, "get_type_name", None)
    return str(name()) if callable(name) else str(value).rpartition(".")[2]
