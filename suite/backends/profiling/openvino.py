"""OpenVINO's counters: after every call, what each layer of the compiled model took.

References
----------
https://docs.openvino.ai/2025/api/ie_python_api/_autosummary/openvino.ProfilingInfo.html
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from suite.backends.openvino import OpenVINO
from suite.backends.profiling.operators import MAX_NAME_CHARS, Operator, operators
from suite.backends.profiling.protocol import Profile, Subject, calls

NOTE = (
    "Of the same model compiled once more with counters on (PERF_COUNT). An operator is a layer after fusion, its name "
    "with the kernel that was chosen; times are whole microseconds."
)


class Layer(msgspec.Struct, frozen=True):
    """What OpenVINO says of one layer after a call."""

    type: str
    name: str
    kernel: str
    """`brgconv_avx512_f32`: which of its kernels was chosen."""
    real_us: int


class _Counting(OpenVINO):
    """The same backend, which counts, and keeps its request."""

    request: Any = None

    def _config(self, precision: str) -> dict[str, Any]:
        return {**super()._config(precision), "PERF_COUNT": True}

    def _request(self, compiled: Any) -> Any:  # noqa: ANN401  (OpenVINO's own types)
        self.request = super()._request(compiled)
        return self.request


def profile(subject: Subject) -> Profile:
    """Compile the same file once more with counters on, and read them after every call."""
    # A model out of the compile cache may be one that was compiled without counters.
    backend = _Counting(msgspec.structs.replace(subject.options, cache=None))
    step = subject.reload(backend)
    subject.warm(step)
    layers: list[Layer] = []

    def note() -> None:
        layers.extend(_layers(backend.request))

    calls_ns = calls(step, subject.inputs, subject.budget, after=note)
    return Profile("OpenVINO's performance counters", summed(layers, len(calls_ns)), calls_ns, NOTE)


def _layers(request: Any) -> Iterable[Layer]:  # noqa: ANN401  (OpenVINO's own type)
    for info in request.get_profiling_info():
        if info.status == type(info).EXECUTED:
            real = info.real_time
            microseconds = (real.days * 86_400 + real.seconds) * 1_000_000 + real.microseconds
            yield Layer(info.node_type, info.node_name, info.exec_type, microseconds)


def summed(layers: Iterable[Layer], calls_: int) -> tuple[Operator, ...]:
    """Return the layers of all calls as operators.

    Parameters
    ----------
    layers
        Of all calls, in their order.
    calls_
        How many calls were profiled.
    """
    executions: dict[tuple[str, str], list[float]] = {}
    for layer in layers:
        key = layer.type[:MAX_NAME_CHARS], f"{layer.name} ({layer.kernel})"[:MAX_NAME_CHARS]
        executions.setdefault(key, []).append(layer.real_us * 1000.0)
    return operators(executions, calls_)
