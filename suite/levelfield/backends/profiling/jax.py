"""JAX's profiler: the instructions that XLA compiled, as its runtime executed them.

References
----------
https://docs.jax.dev/en/latest/_autosummary/jax.profiler.start_trace.html
"""

import functools
import importlib
from typing import Any

from levelfield.backends.profiling import xplane
from levelfield.backends.profiling.protocol import Profile, Subject

NOTE = (
    "An operator is an instruction of XLA's, after its fusions. XLA's runtime may execute several side by side: their "
    "sum may be longer than the call."
)


def profile(subject: Subject) -> Profile:
    """Profile what is loaded, as it is."""
    profiler: Any = importlib.import_module("jax.profiler")
    start = functools.partial(profiler.start_trace, **_options(profiler))
    return xplane.profile(subject, start, profiler.stop_trace, source="JAX's profiler", note=NOTE)


def _options(profiler: Any) -> dict[str, Any]:  # noqa: ANN401  (a module without types)
    """Leave Python's own calls out, which cost most; releases before 0.7 cannot be asked to."""
    if not hasattr(profiler, "ProfileOptions"):
        return {}
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.enable_hlo_proto = False
    return {"profiler_options": options}
