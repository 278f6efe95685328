"""OpenVINO's counters: after every call, what each layer of the compiled model took.

See https://docs.openvino.ai/2025/api/ie_python_api/_autosummary/openvino.ProfilingInfo.html
"""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import msgspec

from levelfield.backends.openvino import OpenVINO
from levelfield.backends.profiling.operators import operators
from levelfield.backends.profiling.protocol import Profile, Subject, calls

NOTE = (
    "Of the same model compiled once more with counters on (PERF_COUNT). An operator is a layer after fusion, its name "
    "with the kernel that was chosen; times are whole microseconds."
)


class _Counting(OpenVINO):
    """The same backend, with counters on."""

    def _config(self, precision: str) -> dict[str, Any]:
        return {**super()._config(precision), "PERF_COUNT": True}


def profile(subject: Subject) -> Profile:
    """Compile the same file once more with counters on, and read them after every call."""
    # A model out of the compile cache may be one that was compiled without counters.
    backend = _Counting(msgspec.structs.replace(subject.options, cache=None))
    step = subject.reload(backend)
    subject.warm(step)
    found: list[tuple[str, str, float]] = []
    calls_ns = calls(step, subject.inputs, subject.budget, after=lambda: found.extend(layers(backend.request)))
    return Profile("OpenVINO's performance counters", operators(found, len(calls_ns)), calls_ns, NOTE)


def layers(request: Any) -> Iterator[tuple[str, str, float]]:  # noqa: ANN401  (OpenVINO's own type)
    """Yield each layer of a call: type, name with the kernel that was chosen (`brgconv_avx512_f32`), nanoseconds."""
    for info in request.get_profiling_info():
        if info.status == type(info).EXECUTED:
            microseconds = info.real_time // dt.timedelta(microseconds=1)
            yield info.node_type, f"{info.node_name} ({info.exec_type})", microseconds * 1000.0
