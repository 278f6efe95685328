"""ONNX Runtime's own profiling: a session that was opened with it notes every kernel.

References
----------
https://onnxruntime.ai/docs/performance/tune-performance/profiling-tools.html
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from levelfield.backends.onnxruntime import ONNXRuntime
from levelfield.backends.profiling.operators import Span, summed
from levelfield.backends.profiling.protocol import Profile, Subject, calls
from levelfield.backends.protocol import Options, Source

NOTE = (
    "Of a second session with profiling on, opened in the same process. An operator is a node of the graph after its "
    "optimisation; times are whole microseconds."
)
_KERNEL = "_kernel_time"


class _Profiled(ONNXRuntime):
    """The same backend, which keeps its session and lets it write a profile."""

    def __init__(self, options: Options, folder: str) -> None:
        super().__init__(options)
        self._options.enable_profiling = True
        self._options.profile_file_prefix = f"{folder}/profile"
        self.session: Any = None

    def _session(self, source: Source) -> Any:  # noqa: ANN401  (a session of ONNX Runtime's)
        self.session = super()._session(source)
        return self.session


def profile(subject: Subject) -> Profile:
    """Open a second session on the same file and profile that one: a session cannot begin to later."""
    with tempfile.TemporaryDirectory(prefix="levelfield-profile-") as folder:
        backend = _Profiled(subject.options, folder)
        step = subject.reload(backend)
        subject.warm(step)
        calls_ns = calls(step, subject.inputs, subject.budget)
        written = Path(backend.session.end_profiling()).read_bytes()
    operators = summed(spans(written, len(calls_ns)), len(calls_ns))
    return Profile("ONNX Runtime's profiling", operators, calls_ns, NOTE)


def spans(profile_: bytes, calls_: int) -> Iterator[Span]:
    """Yield the kernels of a profile's last calls; those before them warmed it up."""
    events = [event for event in json.loads(profile_) if event.get("ph") == "X"]
    runs = sorted(event["ts"] for event in events if event["name"] == "model_run")
    first = runs[-calls_] if 0 < calls_ <= len(runs) else 0
    for event in events:
        name = str(event["name"])
        if not name.endswith(_KERNEL) or event["ts"] < first:
            continue
        begin_ns = event["ts"] * 1000
        kind = str(event.get("args", {}).get("op_name", "unknown"))
        yield Span(kind, name.removesuffix(_KERNEL), str(event["tid"]), begin_ns, begin_ns + event["dur"] * 1000)
