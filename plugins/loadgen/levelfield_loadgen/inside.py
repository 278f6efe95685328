"""MLPerf LoadGen inside the worker: it sends the queries, the loaded model answers them, and its own logs are kept.

This file and LoadGen's library lie in one folder that workers are handed, so that no image is built with either.

LoadGen is a library that calls back. In SingleStream, MultiStream and Offline it does so on the thread that runs the
test, so the model computes on the worker's main thread and nothing stands between the two. In Server it must not be
kept waiting: there it runs on a thread of its own, and the main thread takes one query after the other from a queue.
Either way the model is called by the thread that loaded it, as in every other scenario: a framework's threads belong to
the one that calls it (OpenMP's do), and a second one would bring a second set.

References
----------
MLCommons inference, `loadgen/` (`loadgen.h`, `test_settings.h`, `bindings/python_api.cc`) of version 6.0.
"""

import functools
import gc
import importlib
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from itertools import cycle
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from levelfield.backends.protocol import Unsupported

MODULE = "mlperf_loadgen"
BUILT_IN = 0
"""`conf_type` of `TestSettings.FromConfig`: LoadGen's own `mlperf.conf`, which is compiled into it."""
SUMMARY_BYTES = 16 << 10
DETAIL_BYTES = 256 << 10
"""How much of a log is sent: a whole one has a tenth of that."""
AFTER_ERROR_S = 0.01
"""Pause in place of every call that follows a failed one: LoadGen cannot be stopped before its test is over."""

Step: TypeAlias = Callable[[Any], object]
Complete: TypeAlias = Callable[[Sequence[int]], None]
Issue: TypeAlias = Callable[[list[int], list[int]], None]
"""Takes the numbers of a query's samples, by which they are answered, and their places among the inputs. (LoadGen calls
this way of calling back the fast one: it makes no object for each sample.)"""
Arrivals: TypeAlias = "queue.SimpleQueue[tuple[int, int, int] | None]"
"""When each query came, its number and its place; None ends them."""


class Answers:
    """What became of the samples of one test."""

    def __init__(self) -> None:
        self.computed = 0
        self.not_served = 0
        self.error: Exception | None = None
        """The first one; nothing is computed after it."""

    def attempt(self, step: Step, inputs: object, samples: int) -> None:
        """Compute a call, unless one has failed before. No exception may pass through LoadGen."""
        if self.error is not None:
            time.sleep(AFTER_ERROR_S)
            return
        try:
            step(inputs)
        except Exception as error:  # noqa: BLE001  (raised again when the test is over)
            self.error = error
        else:
            self.computed += samples


def drive(request: Mapping[str, Any], step: Step, placed: Sequence[Any], batch: int) -> tuple[dict[str, Any], int]:
    """Run one test; return its logs and counts, and the nanoseconds from LoadGen's start to its end.

    `request`: LoadGen's `scenario` and `model` (its name in MLPerf's rules; `*` where they have none of it), `settings`
    by the names of the attributes of `TestSettings`, `rewarm_ns` and `rewarm_calls` of unrecorded calls before, and
    `give_up_ns`, after which a waiting query of Server is answered without a call (0: all are computed).

    Raises Unsupported: there is no library for this Python. Raises ValueError: LoadGen has no setting of that name.
    Raises Exception: what a call raised: the test then has no result.
    """
    loadgen = library(Path(__file__).parent)
    samples = len(placed) * batch
    settings, rules = _settings(loadgen, request, samples)
    answers = Answers()
    respond, response = loadgen.QuerySamplesComplete, loadgen.QuerySampleResponse

    def complete(numbers: Sequence[int]) -> None:
        respond([response(number, 0, 0) for number in numbers])

    arrivals: Arrivals | None = None
    if request["scenario"] == "Server":
        arrivals = queue.SimpleQueue()
        issue = _queued(arrivals)
    elif batch == 1:
        issue = _one_by_one(step, placed, answers, complete)
    else:
        issue = _in_batches(step, placed, batch, answers, complete)
    gc.collect()
    gc.disable()
    try:
        _rewarm(step, placed, request)
        with tempfile.TemporaryDirectory(prefix="loadgen-") as folder:
            test = functools.partial(_run, loadgen, issue, settings, samples, folder)
            begin = time.perf_counter_ns()
            if arrivals is None:
                test()
            else:
                _serve(test, arrivals, step, placed, answers, complete, request["give_up_ns"])
            elapsed_ns = time.perf_counter_ns() - begin
            logs = {
                "summary": _read(f"{folder}/mlperf_log_summary.txt", SUMMARY_BYTES),
                "detail": _read(f"{folder}/mlperf_log_detail.txt", DETAIL_BYTES),
            }
    finally:
        gc.enable()
    if answers.error is not None:
        raise answers.error
    return {**logs, "rules": rules, "answered": answers.computed, "not_served": answers.not_served}, elapsed_ns


def library(folder: Path) -> ModuleType:
    """Import LoadGen from a folder; raises Unsupported: it holds none for this Python."""
    if MODULE in sys.modules:
        return sys.modules[MODULE]
    if PathFinder.find_spec(MODULE, [str(folder)]) is None:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise Unsupported(f"LoadGen's library for Python {here} is not in {folder}.")
    sys.path.append(str(folder))
    try:
        return importlib.import_module(MODULE)
    finally:
        sys.path.remove(str(folder))


def _run(loadgen: ModuleType, issue: Issue, settings: object, samples: int, folder: str) -> None:
    """Run a test; returns when all queries have been answered, and the logs are written."""
    logs = loadgen.LogSettings()
    logs.enable_trace = False
    logs.log_output.outdir = folder
    logs.log_output.prefix = "mlperf_log_"
    logs.log_output.copy_summary_to_stdout = False
    system = loadgen.ConstructFastSUT(issue, _nothing)
    # The samples are in memory before and after: nothing is loaded or let go.
    memory = loadgen.ConstructQSL(samples, samples, _nothing, _nothing)
    try:
        loadgen.StartTestWithLogSettings(system, memory, settings, logs, "")
    finally:
        loadgen.DestroyQSL(memory)
        loadgen.DestroyFastSUT(system)


def _settings(loadgen: ModuleType, request: Mapping[str, Any], samples: int) -> tuple[Any, dict[str, float]]:
    """Return LoadGen's settings, its own with those of the request in their place; and what these replaced."""
    settings = loadgen.TestSettings()
    settings.FromConfig("", request["model"], request["scenario"], BUILT_IN)
    settings.scenario = getattr(loadgen.TestScenario, request["scenario"])
    settings.mode = loadgen.TestMode.PerformanceOnly
    rules: dict[str, float] = {}
    for name, value in (request["settings"] | {"performance_sample_count_override": samples}).items():
        if not hasattr(settings, name):
            raise ValueError(f"LoadGen has no setting {name!r}.")
        rules[name] = getattr(settings, name)
        setattr(settings, name, value)
    return settings, rules


def _one_by_one(step: Step, placed: Sequence[Any], answers: Answers, complete: Complete) -> Issue:
    """Answer every sample by a call of its own."""

    def issue(numbers: list[int], places: list[int]) -> None:
        for number, place in zip(numbers, places, strict=True):
            answers.attempt(step, placed[place], 1)
            complete((number,))

    return issue


def _in_batches(
    step: Step, placed: Sequence[Mapping[str, Any]], batch: int, answers: Answers, complete: Complete
) -> Issue:
    """Answer the samples of a query in calls of whole batches; to put a batch together is part of the answer."""
    samples = {name: np.concatenate([inputs[name] for inputs in placed]) for name in placed[0]}

    def issue(numbers: list[int], places: list[int]) -> None:
        for first in range(0, len(numbers), batch):
            chosen = places[first : first + batch]
            count = len(chosen)
            chosen += chosen[:1] * (batch - count)
            answers.attempt(step, {name: array[chosen] for name, array in samples.items()}, count)
            complete(numbers[first : first + batch])

    return issue


def _queued(arrivals: Arrivals) -> Issue:
    """Put every query into a queue, with the time at which it came."""
    clock, put = time.perf_counter_ns, arrivals.put

    def issue(numbers: list[int], places: list[int]) -> None:
        for number, place in zip(numbers, places, strict=True):
            put((clock(), number, place))

    return issue


def _serve(
    test: Callable[[], None],
    arrivals: Arrivals,
    step: Step,
    placed: Sequence[Any],
    answers: Answers,
    complete: Complete,
    give_up_ns: int,
) -> None:
    """Run a test on a thread of its own, and answer its queries on this one, in the order in which they come."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            test()
        except BaseException as error:  # noqa: BLE001  (raised again on the thread that waits)
            failed.append(error)
        finally:
            arrivals.put(None)

    thread = threading.Thread(target=run, name="loadgen")
    thread.start()
    clock = time.perf_counter_ns
    while (arrival := arrivals.get()) is not None:
        came, number, place = arrival
        if give_up_ns and clock() - came > give_up_ns:
            answers.not_served += 1
        else:
            answers.attempt(step, placed[place], 1)
        complete((number,))
    thread.join()
    if failed:
        raise failed[0]


def _rewarm(step: Step, placed: Sequence[Any], request: Mapping[str, Any]) -> None:
    clock, following = time.perf_counter_ns, cycle(placed).__next__
    end, calls = clock() + request["rewarm_ns"], 0
    while calls < request["rewarm_calls"] or clock() < end:
        step(following())
        calls += 1


def _read(path: str, most_bytes: int) -> str:
    with Path(path).open("rb") as file:
        return file.read(most_bytes).decode(errors="replace")


def _nothing(*_: object) -> None:
    """Do nothing."""
