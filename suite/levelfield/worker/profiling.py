"""A worker's part of `levelfield explain`: plain calls, profiled calls, plain calls again, all in one launch."""

from collections.abc import Callable
from typing import Any

from levelfield.backends.profiling import protocol
from levelfield.backends.protocol import Backend, Options
from levelfield.worker import training
from levelfield.worker.messages import Measure, Profile, Profiled, Task
from levelfield.worker.sources import source_of, training_rule
from levelfield.worker.window import measure_window

_REWARM_CALLS = 3
_PLAIN_CALLS = 10_000
"""At the most in a plain window: of a model that takes microseconds, more would say no more."""


def profile(
    request: Profile, task: Task, backend: Backend, options: Options, step: Callable[[Any], object], inputs: object
) -> Profiled:
    """Profile the loaded model with its framework's own profiler.

    Raises Unsupported: the backend has no profiler that is read here, or the scenario is not that of a single call.
    """

    def reload(other: Backend) -> Callable[[Any], object]:
        source, rule = source_of(task), training_rule(task)
        return other.load(source) if rule is None else training.load(other, task, source, rule.optimizer).step

    def warm(call: Callable[[Any], object]) -> None:
        measure_window(call, (inputs,), _window(request, window_ns=0, most=1))

    plain = _window(request, window_ns=request.window_ns, most=_PLAIN_CALLS)
    before = measure_window(step, (inputs,), plain).samples_ns
    found = protocol.profile(
        task.backend,
        protocol.Subject(
            backend=backend,
            options=options,
            step=step,
            inputs=inputs,
            reload=reload,
            warm=warm,
            budget=protocol.Budget(request.window_ns, request.min_calls, request.max_calls),
        ),
    )
    after = measure_window(step, (inputs,), plain).samples_ns
    return Profiled(
        source=found.source,
        operators=found.operators,
        plain_ns=before + after,
        profiled_ns=found.calls_ns,
        note=found.note,
    )


def _window(request: Profile, *, window_ns: int, most: int) -> Measure:
    return Measure(
        window_ns=window_ns,
        min_calls=min(request.min_calls, most),
        max_calls=most,
        rewarm_ns=request.rewarm_ns,
        rewarm_calls=_REWARM_CALLS,
    )
