"""Reading the file that the profilers of TensorFlow and JAX write, `*.xplane.pb`, without TensorBoard or protobuf.

Since TensorFlow 2.11 it is the only one that TensorFlow writes (https://github.com/tensorflow/tensorflow/issues/58738).
Its message, `XSpace`, is defined in `tsl/profiler/protobuf/xplane.proto` of https://github.com/openxla/xla.
"""

import functools
import importlib
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from levelfield.backends import hlo
from levelfield.backends.profiling.operators import Span, summed
from levelfield.backends.profiling.protocol import Profile, Subject, calls, compiled
from levelfield.backends.protobuf import Field, MalformedError, fields
from levelfield.backends.protocol import Unsupported

_PLANES = 1
_PLANE_LINES, _PLANE_EVENTS, _PLANE_STATS = 3, 4, 5
_MAP_VALUE = 2
_METADATA_ID, _METADATA_NAME = 1, 2
_LINE_START_NS, _LINE_EVENTS = 3, 4
_EVENT_METADATA, _EVENT_OFFSET_PS, _EVENT_DURATION_PS, _EVENT_STATS, _EVENT_OCCURRENCES = 1, 2, 3, 4, 5
_STAT_METADATA, _STAT_TEXT, _STAT_REFERENCE = 1, 5, 7
_HLO = "hlo_op"
"""Name of the statistic that marks an instruction which XLA compiled."""
_NUMBER = re.compile(r"\.\d+$")
_COUNT = re.compile(r"_\d+$")
_OPERATOR = re.compile(r"(?P<name>[A-Za-z0-9.][A-Za-z0-9_./>-]*):(?P<type>[A-Z_][A-Za-z0-9_]*)")
"""An operator of TensorFlow's own executor, `Relu_44:_FusedConv2D` (`tsl/profiler/utils/tf_op_utils.cc`)."""


def profile(
    subject: Subject, start: Callable[[str], object], stop: Callable[[], object], *, source: str, note: str
) -> Profile:
    """Profile what is loaded, as it is.

    `note`: what must be known to read its operators.
    """
    with tempfile.TemporaryDirectory(prefix="levelfield-profile-") as folder:
        start(folder)
        try:
            calls_ns = calls(subject.step, subject.inputs, subject.budget)
        finally:
            stop()
        operators = summed(read(Path(folder), compiled(subject)), len(calls_ns))
    return Profile(source=source, operators=operators, calls_ns=calls_ns, note=note)


def read(folder: Path, compiled: str = "") -> list[Span]:
    """Return the spans of the one trace that lies somewhere in a folder.

    Raises Unsupported: there is none, or it is in another format.
    """
    paths = sorted(folder.rglob("*.xplane.pb"))
    if not paths:
        raise Unsupported("The profiler left no trace (*.xplane.pb).")
    try:
        found = [span for path in paths for span in spans(path.read_bytes())]
    except MalformedError as error:
        raise Unsupported(f"The profiler's trace is in a format that is not known here: {error}.") from error
    origins = hlo.origins(compiled)
    return [_with_origin(span, origins) for span in found]


def _with_origin(span: Span, origins: Mapping[str, tuple[str, str]]) -> Span:
    """Add what an instruction computes: the name `ynn_fusion` does not say that it is a convolution."""
    if span.name not in origins:
        return span
    of, shape = origins[span.name]
    plain = _COUNT.sub("", of)
    kind = span.kind if plain in span.kind else f"{span.kind} ({plain})"
    return msgspec.structs.replace(span, kind=kind, name=f"{span.name}: {of} {shape}")


def spans(trace: bytes) -> Iterator[Span]:
    """Yield the operators of a trace, XLA's and TensorFlow's, one by one.

    Raises MalformedError: it is no such trace.
    """
    for field in fields(memoryview(trace)):
        if field.number == _PLANES:
            yield from _plane(field.message)


def _plane(plane: memoryview) -> Iterator[Span]:
    events: dict[int, str] = {}
    stats: dict[int, str] = {}
    lines: list[memoryview] = []
    for field in fields(plane):
        if field.number == _PLANE_LINES:
            lines.append(field.message)
        elif field.number in {_PLANE_EVENTS, _PLANE_STATS}:
            entry = _last(field.message)
            metadata = _last(entry[_MAP_VALUE].message) if _MAP_VALUE in entry else {}
            names = events if field.number == _PLANE_EVENTS else stats
            names[_integer(metadata, _METADATA_ID)] = _text(metadata, _METADATA_NAME)
    for index, line in enumerate(lines):
        yield from _line(line, str(index), events, stats)


def _line(line: memoryview, thread: str, events: dict[int, str], stats: dict[int, str]) -> Iterator[Span]:
    start_ns = 0
    found: list[memoryview] = []
    for field in fields(line):
        if field.number == _LINE_START_NS:
            start_ns = field.integer
        elif field.number == _LINE_EVENTS:
            found.append(field.message)
    for event in found:
        plain = _last(event)
        stats_of = (_instruction(field.message, stats) for field in fields(event) if field.number == _EVENT_STATS)
        named = _named(events.get(_integer(plain, _EVENT_METADATA), ""), next(filter(None, stats_of), ""))
        if named is None or _EVENT_OCCURRENCES in plain:  # those are sums over many, which have no place in time
            continue
        begin_ns = start_ns + _integer(plain, _EVENT_OFFSET_PS) / 1000
        end_ns = begin_ns + _integer(plain, _EVENT_DURATION_PS) / 1000
        yield Span(*named, thread=thread, begin_ns=begin_ns, end_ns=end_ns)


def _named(event: str, instruction: str) -> tuple[str, str] | None:
    """Return kind and name; None for what is no operator."""
    if instruction:
        return _NUMBER.sub("", instruction), instruction
    operator = _OPERATOR.fullmatch(event)
    return (operator["type"], operator["name"]) if operator else None


def _instruction(stat: memoryview, stats: dict[int, str]) -> str:
    """Return the instruction that a statistic names; empty for any other statistic."""
    value = _last(stat)
    if stats.get(_integer(value, _STAT_METADATA)) != _HLO:
        return ""
    return _text(value, _STAT_TEXT) or stats.get(_integer(value, _STAT_REFERENCE), "")


def _last(message: memoryview) -> dict[int, Field]:
    return {field.number: field for field in fields(message)}


def _integer(found: dict[int, Field], number: int) -> int:
    return found[number].integer if number in found else 0


def _text(found: dict[int, Field], number: int) -> str:
    return bytes(found[number].message).decode("utf-8", "replace") if number in found else ""


_JAX_NOTE = (
    "An operator is an instruction of XLA's, after its fusions. XLA's runtime may execute several side by side: their "
    "sum may be longer than the call."
)


def profile_jax(subject: Subject) -> Profile:
    """Profile the instructions that XLA compiled, as JAX's runtime executes them.

    See https://docs.jax.dev/en/latest/_autosummary/jax.profiler.start_trace.html
    """
    profiler: Any = importlib.import_module("jax.profiler")
    start = functools.partial(profiler.start_trace, **_jax_options(profiler))
    return profile(subject, start, profiler.stop_trace, source="JAX's profiler", note=_JAX_NOTE)


def _jax_options(profiler: Any) -> dict[str, Any]:  # noqa: ANN401  (a module without types)
    """Leave Python's own calls out, which cost most; releases before 0.7 cannot be asked to."""
    if not hasattr(profiler, "ProfileOptions"):
        return {}
    options = profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.enable_hlo_proto = False
    return {"profiler_options": options}


_TENSORFLOW_NOTE = (
    "An operator is a node of TensorFlow's graph after its rewriting (_Mkl… and _Fused… are what it made of several), "
    "or with XLA an instruction after its fusions."
)
_EVERYTHING = 3
"""At its default, 2, TensorFlow leaves out what it has found to be cheap after some calls: all of a small model."""


def profile_tensorflow(subject: Subject) -> Profile:
    """Profile the operators of TensorFlow's executor, or the instructions that XLA compiled.

    See https://www.tensorflow.org/api_docs/python/tf/profiler/experimental/start and .../ProfilerOptions
    """
    profiler: Any = importlib.import_module("tensorflow").profiler.experimental
    options = profiler.ProfilerOptions(host_tracer_level=_EVERYTHING, python_tracer_level=0, device_tracer_level=0)
    start = functools.partial(profiler.start, options=options)
    return profile(subject, start, profiler.stop, source="TensorFlow's profiler", note=_TENSORFLOW_NOTE)
