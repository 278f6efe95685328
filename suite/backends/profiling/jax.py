"""JAX's profiler: the instructions that XLA compiled, as its runtime executed them.

References
----------
https://docs.jax.dev/en/latest/_autosummary/jax.profiler.start_trace.html
"""

import importlib
import tempfile
from pathlib import Path
from typing import Any

from suite.backends.profiling import xplane
from suite.backends.profiling.operators import summed
from suite.backends.profiling.protocol import Profile, Subject, calls, compiled

NOTE = (
    "An operator is an instruction of XLA's, after its fusions. XLA's runtime may execute several side by side: their "
    "sum may be longer than the call."
)


def profile(subject: Subject) -> Profile:
    """Profile what is loaded, as it is."""
    profiler: Any = importlib.import_module("jax.profiler")
    with tempfile.TemporaryDirectory(prefix="levelfield-profile-") as folder:
        profiler.start_trace(folder, **_options(profiler))
        try:
            calls_ns = calls(subject.step, subject.inputs, subject.budget)
        finally:
            profiler.stop_trace()
        operators = summed(xplane.read(Path(folder), compiled(subject)), len(calls_ns))
    return Profile(source="JAX's profiler", operators=operators, calls_ns=calls_ns, note=NOTE)


def _options(profiler: Any) -> dict[str, Any]:  # noqa: ANN401  (a module without types)
    """Leave Python's own calls out, which cost most; releases before 0.7 cannot be asked to."""
    if not hasattr(profiler, "ProfileOptions"):
        return {}
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.enable_hlo_proto = False
    return {"profiler_options": options}
