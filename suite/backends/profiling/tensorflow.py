"""TensorFlow's profiler: the operators of its executor, or the instructions that XLA compiled.

References
----------
https://www.tensorflow.org/api_docs/python/tf/profiler/experimental/start and .../ProfilerOptions
"""

import importlib
import tempfile
from pathlib import Path
from typing import Any

from suite.backends.profiling import xplane
from suite.backends.profiling.operators import summed
from suite.backends.profiling.protocol import Profile, Subject, calls, compiled

NOTE = (
    "An operator is a node of TensorFlow's graph after its rewriting (_Mkl… and _Fused… are what it made of several), "
    "or with XLA an instruction after its fusions."
)
_EVERYTHING = 3
"""At its default, 2, TensorFlow leaves out what it has found to be cheap after some calls: all of a small model."""


def profile(subject: Subject) -> Profile:
    """Profile what is loaded, as it is."""
    tf: Any = importlib.import_module("tensorflow")
    profiler = tf.profiler.experimental
    with tempfile.TemporaryDirectory(prefix="levelfield-profile-") as folder:
        options = profiler.ProfilerOptions(host_tracer_level=_EVERYTHING, python_tracer_level=0, device_tracer_level=0)
        profiler.start(folder, options=options)
        try:
            calls_ns = calls(subject.step, subject.inputs, subject.budget)
        finally:
            profiler.stop()
        operators = summed(xplane.read(Path(folder), compiled(subject)), len(calls_ns))
    return Profile(source="TensorFlow's profiler", operators=operators, calls_ns=calls_ns, note=NOTE)
