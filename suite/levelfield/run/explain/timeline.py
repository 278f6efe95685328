"""The profiler's own timeline as a file: which formats a backend has, and whether what a worker sent is in one."""

from pathlib import Path

import msgspec

from levelfield.backends import registry
from levelfield.backends.info import TraceFormat
from levelfield.backends.profiling import xplane
from levelfield.backends.protobuf import MalformedError
from levelfield.errors import LevelfieldError

ENDINGS: dict[TraceFormat, str] = {"chrome": ".json", "xplane": ".xplane.pb"}
"""How the file of each format is called."""
READERS: dict[TraceFormat, str] = {
    "chrome": "Perfetto (https://ui.perfetto.dev) and chrome://tracing open it.",
    "xplane": "TensorBoard's profiler plugin opens it in LOGDIR/plugins/profile/RUN/.",
}


class _Event(msgspec.Struct, frozen=True):
    """What is counted of a trace event: its phase. JAX ends its list with an event that is empty."""

    ph: str = ""
    name: str = ""


class _Chrome(msgspec.Struct, frozen=True, rename="camel"):
    """The object form of the format; the other is the list of events alone."""

    trace_events: list[_Event]


def wanted(path: Path, backend: str) -> TraceFormat:
    """Return the format of a timeline by its file's ending, before anything is launched.

    Raises LevelfieldError: the backend writes no timeline, or none in that format; or there is no such folder.
    """
    info = registry.get(backend)
    if not info.traces:
        raise LevelfieldError(
            f"{info.title} writes no timeline of its own: its profile has durations and no points in time."
            if info.profiler
            else f"{info.title} has no profiler that is read here, so there is no timeline.",
            fix="Leave --trace out." if info.profiler else "`levelfield explain` takes other backends.",
        )
    found = next((each for each, ending in ENDINGS.items() if path.name.endswith(ending)), None)
    if found not in info.traces:
        names = " or ".join(f"*{ENDINGS[each]}" for each in info.traces)
        raise LevelfieldError(
            f"{path.name!r} names no format in which {info.title} writes a timeline.", fix=f"Name the file {names}."
        )
    if path.is_dir() or not path.parent.is_dir():
        raise LevelfieldError(f"{path} cannot be written.", fix="Name a file in a folder that is there.")
    return found


def write(path: Path, trace: bytes, form: TraceFormat) -> str:
    """Write a timeline as the profiler wrote it, once it is seen to be one.

    Raises LevelfieldError: it is not in that format. Nothing is written then.
    """
    try:
        events = _events(trace, form)
    except (msgspec.MsgspecError, MalformedError, UnicodeDecodeError, RecursionError) as error:
        raise LevelfieldError(
            f"The worker's timeline is not in the requested format: {error}.",
            fix="Leave --trace out; the profile itself was read.",
        ) from error
    if not events:
        raise LevelfieldError("The worker's timeline has no events.", fix="Leave --trace out.")
    path.write_bytes(trace)
    return f"{path}: {events} events, {len(trace):,} bytes. {READERS[form]}"


def _events(trace: bytes, form: TraceFormat) -> int:
    """Count what has a place in time: complete events and begins of a Chrome trace, operators of an XSpace."""
    if form == "xplane":
        return sum(1 for _ in xplane.spans(trace))
    found = msgspec.json.decode(trace, type=_Chrome | list[_Event])
    events = found if isinstance(found, list) else found.trace_events
    return sum(each.ph in {"X", "B"} for each in events)
