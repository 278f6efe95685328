"""What a framework's profiling is: a function that runs a loaded model under its profiler, and reads the result.

`BackendInfo.profiler` names that of a backend, `(subject: Subject) -> Profile`.
"""

import gc
import importlib
import time
from collections.abc import Callable
from typing import Any, cast

import msgspec

from levelfield.backends import registry
from levelfield.backends.profiling.operators import Operator
from levelfield.backends.protocol import Backend, Options, SaysCompiled, Unsupported


class Budget(msgspec.Struct, frozen=True):
    """How many calls are profiled: until the time is over, within bounds."""

    window_ns: int
    min_calls: int
    max_calls: int


class Subject(msgspec.Struct, frozen=True):
    """A model that is loaded and warm."""

    backend: Backend
    options: Options
    """With which the backend was made."""
    step: Callable[[Any], object]
    """The timed call."""
    inputs: Any
    reload: Callable[[Backend], Callable[[Any], object]]
    """Load the same once more, for profilers that must be asked before: with that backend, and return its call."""
    warm: Callable[[Callable[[Any], object]], None]
    """Make a few calls that are not recorded."""
    budget: Budget


class Profile(msgspec.Struct, frozen=True):
    """What a profiler reported of some calls."""

    source: str
    """Name of the profiler: `torch.profiler`."""
    operators: tuple[Operator, ...]
    calls_ns: tuple[int, ...]
    """Each call's time, seen from outside, under the profiler."""
    note: str
    """What must be known to read it."""


def profile(name: str, subject: Subject) -> Profile:
    """Profile a backend's loaded model with its framework's own profiler.

    Raises Unsupported: the backend has no profiler, or it reported nothing.
    """
    info = registry.get(name)
    if not info.profiler:
        raise Unsupported(f"{name} has no profiler that is read here.")
    module, function = info.profiler.split(".")
    profiler = getattr(importlib.import_module(f"levelfield.backends.profiling.{module}"), function)
    found = cast("Profile", profiler(subject))
    if not found.operators:
        raise Unsupported(f"{found.source} named no operator of {name}'s.")
    return found


def compiled(subject: Subject) -> str:
    """Return XLA's text of what is profiled; empty where the backend has none."""
    return subject.backend.compiled_text(subject.inputs) if isinstance(subject.backend, SaysCompiled) else ""


def calls(
    step: Callable[[Any], object], inputs: object, budget: Budget, after: Callable[[], None] | None = None
) -> tuple[int, ...]:
    """Call `step` until the budget is spent, `after` it something that is not timed; return each call's nanoseconds.

    `after`: called after each call, outside of what is timed; None: nothing is.
    """
    clock = time.perf_counter_ns
    found: list[int] = []
    gc.collect()
    gc.disable()
    try:
        end = clock() + budget.window_ns
        while len(found) < budget.max_calls and (len(found) < budget.min_calls or clock() < end):
            begin = clock()
            step(inputs)
            found.append(clock() - begin)
            if after is not None:
                after()
    finally:
        gc.enable()
    return tuple(found)
