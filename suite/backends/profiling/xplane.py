"""Reading the file that the profilers of TensorFlow and JAX write, `*.xplane.pb`, without TensorBoard or protobuf.

Since TensorFlow 2.11 it is the only one that TensorFlow writes (https://github.com/tensorflow/tensorflow/issues/58738).
Its message, `XSpace`, is defined in `tsl/profiler/protobuf/xplane.proto` of https://github.com/openxla/xla; the wire
format is that of https://protobuf.dev/programming-guides/encoding.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from suite.backends import hlo
from suite.backends.profiling.operators import Span
from suite.backends.protocol import Unsupported

_Value: TypeAlias = int | memoryview

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


def read(folder: Path, compiled: str = "") -> list[Span]:
    """Return the spans of the one trace that lies somewhere in a folder.

    Parameters
    ----------
    folder
        Where the profiler was told to write.
    compiled
        XLA's text of the module that ran, from which instructions get the name of what they are of.

    Raises
    ------
    Unsupported
        There is none, or it is in another format.
    """
    paths = sorted(folder.rglob("*.xplane.pb"))
    if not paths:
        raise Unsupported("The profiler left no trace (*.xplane.pb).")
    try:
        found = [span for path in paths for span in spans(path.read_bytes())]
    except (ValueError, IndexError) as error:
        raise Unsupported(f"The profiler's trace is in a format that is not known here: {error}.") from error
    origins = hlo.origins(compiled)
    return [_with_origin(span, origins) for span in found]


def _with_origin(span: Span, origins: Mapping[str, tuple[str, str]]) -> Span:
    """Say of an instruction what it computes: `ynn_fusion` alone tells nobody that it is a convolution."""
    if span.name not in origins:
        return span
    of, shape = origins[span.name]
    plain = _COUNT.sub("", of)
    kind = span.kind if plain in span.kind else f"{span.kind} ({plain})"
    return msgspec.structs.replace(span, kind=kind, name=f"{span.name}: {of} {shape}")


def spans(trace: bytes) -> Iterator[Span]:
    """Yield the operators of a trace, XLA's and TensorFlow's, one by one.

    Raises
    ------
    ValueError, IndexError
        It is no such trace.
    """
    for number, plane in _fields(memoryview(trace)):
        if number == _PLANES:
            yield from _plane(_message(plane))


def _plane(plane: memoryview) -> Iterator[Span]:
    events: dict[int, str] = {}
    stats: dict[int, str] = {}
    lines: list[memoryview] = []
    for number, value in _fields(plane):
        if number == _PLANE_LINES:
            lines.append(_message(value))
        elif number in {_PLANE_EVENTS, _PLANE_STATS}:
            entry = dict(_fields(_message(value)))
            metadata = dict(_fields(_message(entry.get(_MAP_VALUE, memoryview(b"")))))
            names = events if number == _PLANE_EVENTS else stats
            names[_whole(metadata.get(_METADATA_ID, 0))] = _text(metadata.get(_METADATA_NAME, memoryview(b"")))
    for index, line in enumerate(lines):
        yield from _line(line, str(index), events, stats)


def _line(line: memoryview, thread: str, events: dict[int, str], stats: dict[int, str]) -> Iterator[Span]:
    start_ns = 0
    found: list[memoryview] = []
    for number, value in _fields(line):
        if number == _LINE_START_NS:
            start_ns = _whole(value)
        elif number == _LINE_EVENTS:
            found.append(_message(value))
    for event in found:
        told = [(number, value) for number, value in _fields(event) if number != _EVENT_STATS]
        stats_of = (_instruction(_message(value), stats) for number, value in _fields(event) if number == _EVENT_STATS)
        plain = {number: _whole(value) for number, value in told}
        named = _named(events.get(plain.get(_EVENT_METADATA, 0), ""), next(filter(None, stats_of), ""))
        if named is None or _EVENT_OCCURRENCES in plain:  # those are sums over many, which have no place in time
            continue
        begin_ns = start_ns + plain.get(_EVENT_OFFSET_PS, 0) / 1000
        yield Span(*named, thread=thread, begin_ns=begin_ns, end_ns=begin_ns + plain.get(_EVENT_DURATION_PS, 0) / 1000)


def _named(event: str, instruction: str) -> tuple[str, str] | None:
    """Return kind and name; None for what is no operator."""
    if instruction:
        return _NUMBER.sub("", instruction), instruction
    operator = _OPERATOR.fullmatch(event)
    return (operator["type"], operator["name"]) if operator else None


def _instruction(stat: memoryview, stats: dict[int, str]) -> str:
    """Return the instruction that a statistic names; empty for any other statistic."""
    value = dict(_fields(stat))
    if stats.get(_whole(value.get(_STAT_METADATA, 0))) != _HLO:
        return ""
    if _STAT_TEXT in value:
        return _text(value[_STAT_TEXT])
    return stats.get(_whole(value.get(_STAT_REFERENCE, 0)), "")


def _fields(message: memoryview) -> Iterator[tuple[int, _Value]]:
    """Yield a message's fields, undecoded."""
    position, end = 0, len(message)
    while position < end:
        key, position = _varint(message, position)
        wire = key & 7
        if wire == 0:
            value, position = _varint(message, position)
            yield key >> 3, value
            continue
        if wire == 2:
            size, position = _varint(message, position)
        elif wire in {1, 5}:
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"field type {wire}")
        if position + size > end:
            raise ValueError("a field is longer than its message")
        yield key >> 3, message[position : position + size]
        position += size


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("a number is longer than 64 bits")


def _message(value: _Value) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a number stands where a message was expected")  # noqa: TRY004  (of the file, not of a caller)
    return value


def _whole(value: _Value) -> int:
    if not isinstance(value, int):
        raise ValueError("a message stands where a number was expected")  # noqa: TRY004  (the same)
    return value


def _text(value: _Value) -> str:
    return bytes(_message(value)).decode("utf-8", "replace")
