"""One timed window: the loop between two clock readings, and nothing else in it."""

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from typing import Any

import msgspec

from levelfield.record.measured import Window
from levelfield.worker.messages import Measure, Used
from levelfield.worker.probes import usage


def measure_window(
    step: Callable[[Any], object], batches: Sequence[Any], request: Measure, used: Callable[[], Used] = usage
) -> Window:
    """Call `step` for one window, with one of `batches` after the other, and return every call's duration.

    The garbage collector rests meanwhile, as in `timeit`; the cost of a sample is two clock readings, an append and the
    choice of the next batch (about 0.1 µs), of which half a reading falls inside the sample. `used` is asked before and
    after the timed calls.
    """
    clock = time.perf_counter_ns
    if request.inject_ns:
        step = _slowed(step, request.inject_ns)
    gc.collect()
    gc.disable()
    try:
        following = cycle(batches).__next__
        rewarm = _rewarm(step, following, request)
        samples: list[int] = []
        keep = samples.append
        calls, least, most = 0, request.min_calls, request.max_calls
        before = used()
        begin = clock()
        end = begin + request.window_ns
        while True:
            inputs = following()
            start = clock()
            step(inputs)
            stop = clock()
            keep(stop - start)
            calls += 1
            if (stop >= end and calls >= least) or calls >= most:
                break
        after = used()
    finally:
        gc.enable()
    return _measured(rewarm, samples, stop - begin, before, after)


def timed_answers(
    run: Callable[[Any], Any], placed: Iterable[Any], keep: Callable[[Any], Any]
) -> tuple[list[Any], Window]:
    """Call `run` once with each of `placed`; return what `keep` made of each answer, and every call's duration.

    What comes between the calls (the next inputs are placed, the answer is kept before another overwrites it) is in the
    window and not in the samples.
    """
    clock = time.perf_counter_ns
    samples: list[int] = []
    outputs: list[Any] = []
    before, begin = usage(), clock()
    for inputs in placed:
        start = clock()
        output = run(inputs)
        samples.append(clock() - start)
        outputs.append(keep(output))
    elapsed, after = clock() - begin, usage()
    return outputs, _measured((), samples, elapsed, before, after)


def _measured(rewarm: Sequence[int], samples: Sequence[int], window_ns: int, before: Used, after: Used) -> Window:
    spent = {name: value - getattr(before, name) for name, value in msgspec.structs.asdict(after).items()}
    return Window(rewarm_ns=tuple(rewarm), samples_ns=tuple(samples), window_ns=window_ns, **spent)


def _rewarm(step: Callable[[Any], object], following: Callable[[], Any], request: Measure) -> list[int]:
    """Warm the caches again, and wake the arm's own threads."""
    clock = time.perf_counter_ns
    calls: list[int] = []
    end = clock() + request.rewarm_ns
    while len(calls) < request.max_calls and (len(calls) < request.rewarm_calls or clock() < end):
        inputs = following()
        start = clock()
        step(inputs)
        calls.append(clock() - start)
    return calls


def _slowed(step: Callable[[Any], object], inject_ns: int) -> Callable[[Any], object]:
    """Make every call `inject_ns` longer by a true busy-wait: a sleep would free the core and hide the cost."""
    clock = time.perf_counter_ns

    def slowed(inputs: object) -> object:
        result = step(inputs)
        end = clock() + inject_ns
        while clock() < end:
            pass
        return result

    return slowed
