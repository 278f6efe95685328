"""TensorFlow's profiler: the operators of its executor, or the instructions that XLA compiled.

References
----------
https://www.tensorflow.org/api_docs/python/tf/profiler/experimental/start and .../ProfilerOptions
"""

import functools
import importlib
from typing import Any

from levelfield.backends.profiling import xplane
from levelfield.backends.profiling.protocol import Profile, Subject

NOTE = (
    "An operator is a node of TensorFlow's graph after its rewriting (_Mkl… and _Fused… are what it made of several), "
    "or with XLA an instruction after its fusions."
)
_EVERYTHING = 3
"""At its default, 2, TensorFlow leaves out what it has found to be cheap after some calls: all of a small model."""


def profile(subject: Subject) -> Profile:
    """Profile what is loaded, as it is."""
    profiler: Any = importlib.import_module("tensorflow").profiler.experimental
    options = profiler.ProfilerOptions(host_tracer_level=_EVERYTHING, python_tracer_level=0, device_tracer_level=0)
    start = functools.partial(profiler.start, options=options)
    return xplane.profile(subject, start, profiler.stop, source="TensorFlow's profiler", note=NOTE)
