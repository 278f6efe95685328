"""torch.profiler: the operators that were dispatched, and the kernels that inductor wrote.

References
----------
https://docs.pytorch.org/docs/stable/profiler.html
https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_profiling_torch_compile.html
"""

import importlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from levelfield.backends.profiling.operators import Span, summed
from levelfield.backends.profiling.protocol import Profile, Subject, calls
from levelfield.backends.torch_compile import TorchCompile

NOTE = (
    "Operators call one another; each has its own time alone. torch knows no layers: the shapes of what goes in stand "
    "for a name."
)
COMPILED = (
    "Compiled once more with names in inductor's kernels (cpp.enable_kernel_profile). Operators call one another; each "
    "has its own time alone, and the compiled region what Python needs to call them."
)
_CATEGORIES = frozenset({"cpu_op", "user_annotation"})
_KERNEL = re.compile(r"(?:graph_\d+_)?(?P<kind>cpp_[a-z0-9_]*?)_\d+")
_REGION = re.compile(r"(?:## Call (?P<call>\w+) (?P<key>\S+) ##|(?P<region>Torch-Compiled Region): (?P<id>\S+))")


def profile(subject: Subject) -> Profile:
    """Profile what is loaded, as it is; what inductor compiled is compiled again, so that its kernels have names."""
    profiler: Any = importlib.import_module("torch.profiler")
    compiled = isinstance(subject.backend, TorchCompile)
    step = _with_named_kernels(subject) if compiled else subject.step
    with tempfile.TemporaryDirectory(prefix="levelfield-profile-") as folder:
        with profiler.profile(activities=[profiler.ProfilerActivity.CPU], record_shapes=True) as recorded:
            calls_ns = calls(step, subject.inputs, subject.budget)
        path = Path(folder) / "trace.json"
        recorded.export_chrome_trace(str(path))
        written = path.read_bytes()
    operators = summed(spans(written), len(calls_ns))
    return Profile("torch.profiler", operators, calls_ns, COMPILED if compiled else NOTE)


def _with_named_kernels(subject: Subject) -> Callable[[Any], object]:
    dynamo: Any = importlib.import_module("torch._dynamo")
    config: Any = importlib.import_module("torch._inductor.config")
    dynamo.reset()  # or it would call what it compiled before, since weights are not among what it compares
    # The keys of its caches do not tell kernels with names from those without.
    with config.patch({"cpp.enable_kernel_profile": True, "force_disable_caches": True}):
        step = subject.reload(subject.backend)
        subject.warm(step)
    return step


def spans(trace: bytes) -> Iterator[Span]:
    """Yield the operators of a trace in Chrome's format, as torch exports it."""
    for event in json.loads(trace)["traceEvents"]:
        if event.get("ph") != "X" or event.get("cat") not in _CATEGORIES:
            continue
        begin_ns, details = float(event["ts"]) * 1000, event.get("args", {})
        kind, name = _named(str(event["name"]), details.get("Input Dims") or [])
        yield Span(kind, name, str(event["tid"]), begin_ns, begin_ns + float(event["dur"]) * 1000)


def _named(event: str, shapes: list[Any]) -> tuple[str, str]:
    """Take what differs from graph to graph out of an operator's kind."""
    if kernel := _KERNEL.fullmatch(event):
        return kernel["kind"], event
    if region := _REGION.fullmatch(event):
        return region["region"] or region["call"], region["id"] or region["key"]
    return event, " × ".join(str(shape).replace(" ", "") for shape in shapes if shape)
