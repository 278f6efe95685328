"""Whether a worker's reply can be true and fits into the record: numbers, times since the request, and amounts.

A worker runs third-party code, and what it reports is only a claim. Most of it cannot be checked from outside.
What cannot be is refused here, so that it costs the worker's own case and never a record that nothing reads again.
"""

import itertools
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from levelfield.compatibility import libraries
from levelfield.record import bounds
from levelfield.record.measured import Evaluation, Library, MachineProbe, Startup, Window
from levelfield.worker.messages import (
    Converged,
    Driven,
    Exported,
    Failed,
    Loaded,
    Measured,
    Output,
    Polled,
    Predicted,
    Probed,
    Profiled,
    Reply,
    RooflineMeasured,
    Sensed,
    Trained,
    Verified,
)
from levelfield.zoo.spec import OwnInput

MAX_NUMBER = 2**62
"""Integers are below this, so that the sum of two still fits into the record (`record.files`)."""
MAX_TEXT = 1 << 20
"""Characters of a text; the longest that a correct worker sends is a traceback."""
FAILURES = frozenset({"unsupported", "out-of-memory", "error", "crashed", "protocol"})
"""What a worker may call a failure of its own, or of a process that it trains with."""
CLOCKS_AGREE = 1.05
SLACK_NS = 1_000_000_000
"""Tolerance for an engine in a virtual machine, whose clock is not the host's: 5 % and one second."""
SUPERVISORS: dict[tuple[type[msgspec.Struct], str], int] = {
    (Startup, "start_ns"): 0,
    (Window, "calls_per_sample"): 1,
    (Window, "calls_not_kept"): 0,
}
"""Fields that the supervisor, or an import, sets: what a worker sends in them."""
COUNTED_NS = 10
"""A switch or a page fault takes longer."""
CPUS = os.cpu_count() or 1
MEMORY_BYTES = CPUS * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
"""Of all processes that train together: each counts the pages that it shares."""


MAX_AXES = 32


def implausibility(reply: Reply, elapsed_ns: int) -> str:
    """Return what cannot be true of a reply, as a noun; empty where nothing is."""
    return _numbers(reply) or _times(reply, CLOCKS_AGREE * elapsed_ns + SLACK_NS)


class Amounts:
    """What the workers of a run have reported for its record, by arm: what they lead to can be read, and agrees.

    `arms`: number of the run's arms; none that stays below its share pays for what others report.
    """

    def __init__(self, arms: int) -> None:
        self._arms = arms
        self._by_arm: dict[str, Counter[str]] = {}
        self._versions: dict[str, str] = {}
        self._measured: set[tuple[str, object]] = set()

    def excess(self, arm: str, reply: Reply, held: Mapping[str, str] = {}) -> str:
        """Count a reply; where it does not fit into one record, return why, as a noun, and do not count it.

        `held`: distribution to version, of the arm's image; empty: not known.
        """
        match reply:
            case Loaded() if self._versions.setdefault(arm, reply.version) != reply.version:
                return "another version than before"
            case Loaded() if held and any(libraries.not_held(reply.version, (), held)):
                return "a version that its image does not hold"
            case Probed() if held and (
                reply.distributions not in ({}, held) or any(libraries.not_held("", reply.libraries, held))
            ):
                return "what its image does not hold"
            case Measured(window=measured) | Converged(points=measured) if measured:
                if (arm, hash(measured)) in self._measured:
                    return "what it measured before, to the nanosecond"
                self._measured.add((arm, hash(measured)))
        own = Counter(_amounts(reply)) + self._by_arm.get(arm, Counter())
        others = sum((each for name, each in self._by_arm.items() if name != arm), Counter[str]())
        for what, most in bounds.REPORTED.items():
            if own[what] + others[what] > most and own[what] > most // self._arms:
                return f"more {what} than the record of a run holds"
        self._by_arm[arm] = own
        return ""


def _amounts(reply: Reply) -> dict[str, int]:
    """Return the amounts that a reply brings into the record; outputs stay outside."""
    if isinstance(reply, Verified):
        reply = msgspec.structs.replace(reply, output=b"", outputs=())
    elif not isinstance(
        reply, Loaded | Measured | MachineProbe | Polled | Driven | Trained | Converged | Probed | Failed
    ):
        return {}
    content = msgspec.json.encode(reply)
    return {"bytes": len(content), "values": content.count(b","), "facts": _facts(reply)}


def _facts(reply: Reply) -> int:
    match reply:
        case Loaded():
            return len(reply.settings)
        case Probed():
            return len(reply.libraries) + len(reply.distributions) + len(reply.environment)
        case _:
            return 0


def _numbers(reply: Reply) -> str:
    """Check every value of a reply; arrays hold one kind of value each, by the protocol."""
    stack: list[Any] = [reply]
    while stack:
        item = stack.pop()
        if isinstance(item, bool | bytes) or item is None:
            continue
        if isinstance(item, int):
            if not 0 <= item < MAX_NUMBER:
                return "a number that nothing counts"
        elif isinstance(item, float):
            if not math.isfinite(item):
                return "a number that is not finite"
        elif isinstance(item, str):
            if len(item) > MAX_TEXT:
                return "a text without end"
        elif isinstance(item, tuple):
            stack += (min(item), max(item)) if item and type(item[0]) is int else item
        elif isinstance(item, dict):
            if max(map(len, item), default=0) > bounds.MAX_REPORTED_NAME:
                return "a name without end"
            stack += (*item, *item.values())
        elif isinstance(item, msgspec.Struct):
            if isinstance(item, Library) and len(item.kind) > bounds.MAX_REPORTED_NAME:
                return "a name without end"
            if isinstance(item, Verified | Predicted | Output | OwnInput) and not _is_shape(item.shape):
                return "a shape that no array has"
            if any(type(item) is of and getattr(item, name) != sent for (of, name), sent in SUPERVISORS.items()):
                return "a field that the supervisor sets"
            stack += (getattr(item, name) for name in item.__struct_fields__)
    return ""


def _is_shape(sizes: tuple[int, ...]) -> bool:
    """Return whether every NumPy makes an array of this shape, of the longest type: it counts bytes past zeros."""
    return len(sizes) <= MAX_AXES and 8 * math.prod(max(each, 1) for each in sizes) <= MAX_NUMBER


def _times(reply: Reply, most_ns: float) -> str:
    match reply:
        case Loaded() | Probed() if _facts(reply) > bounds.MAX_LAUNCH_FACTS // 2:
            return "more facts than a launch has"
        case Exported() | Sensed() if (
            len(msgspec.json.encode(msgspec.structs.replace(reply, answers=()))) > MAX_TEXT // 4
        ):
            return "more than an export has to say"
        case Failed() if reply.kind not in FAILURES:
            return "a kind of failure that there is not"
        case Loaded():
            phases = msgspec.structs.astuple(reply.startup)
            return _longer("a load", sum(phase for phase in phases if isinstance(phase, int)), most_ns)
        case Measured(window=Window() as calls) | Verified(calls=Window() as calls):
            return _window(calls, most_ns)
        case Driven():
            return _longer("a test", reply.elapsed_ns, most_ns)
        case Converged():
            return _training(reply, most_ns)
        case Profiled():
            if any(not 0 <= each.self_ns <= most_ns or each.executions > most_ns for each in reply.operators):
                return "an operator that took longer than the profile"
            return _calls("a profile", (*reply.plain_ns, *reply.profiled_ns), most_ns)
        case Probed():
            resident = [each for each in (reply.memory.peak_rss_bytes, reply.memory.rss_bytes) if isinstance(each, int)]
            if len(resident) == 2 and resident[1] > CLOCKS_AGREE * resident[0]:
                return "more memory than at its peak"
            return "" if all(0 < each <= MEMORY_BYTES for each in resident) else "memory that no process here has"
        case RooflineMeasured():
            samples = (reply.samples.gemm_ns, reply.samples.copy_ns, reply.samples.add_ns)
            empty = next((each for each in samples if not each), None)
            return _calls("a series", empty if empty is not None else sum(samples, ()), most_ns)
        case MachineProbe() | Polled():
            return _calls("a probe", msgspec.structs.astuple(reply), most_ns)
        case _:
            return ""


def _window(window: Window, most_ns: float) -> str:
    if len(window.rewarm_ns) > bounds.MAX_WINDOW_CALLS:
        return "a window with more calls than are asked for"
    if window.window_ns < sum(window.samples_ns):
        return "a window that is shorter than its calls"
    if (window.waited_ns or 0) > sum(window.samples_ns):
        return "a window that waited for data longer than its calls took"
    if window.user_ns + window.system_ns > CPUS * most_ns:
        return "a window with more CPU time than this machine has"
    counted = (window.voluntary_switches, window.involuntary_switches, window.minor_faults, window.major_faults)
    if COUNTED_NS * sum(counted) > CPUS * most_ns:
        return "a window with more switches and page faults than fit into it"
    return _calls("a window", window.samples_ns, most_ns) or _longer(
        "a window", window.window_ns + sum(window.rewarm_ns), most_ns
    )


def _calls(what: str, samples_ns: Sequence[int], most_ns: float) -> str:
    if not samples_ns:
        return f"{what} without a call"
    if len(samples_ns) > bounds.MAX_WINDOW_CALLS:
        return f"{what} with more calls than are asked for"
    if min(samples_ns) <= 0:
        return f"{what} with a call that took no time"
    return _longer(what, sum(samples_ns), most_ns)


def _longer(what: str, duration_ns: int, most_ns: float) -> str:
    return f"{what} that took longer than the time since it was asked for" if duration_ns > most_ns else ""


def _training(converged: Converged, most_ns: float) -> str:
    points = converged.points
    if any(each.step > most_ns for each in points):
        return "more steps than a training has"
    if any(not 0 <= each.accuracy <= 1 for each in points):
        return "an accuracy that is no share"
    for before, after in itertools.pairwise((Evaluation(0, 0, 0.0, 0.0), *points)):
        if after.step <= before.step or after.elapsed_ns <= before.elapsed_ns:
            return "a training that goes back in time"
    return _longer("a training", points[-1].elapsed_ns, most_ns) if points else ""
