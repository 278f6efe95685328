"""MLPerf LoadGen inside the worker: it sends the queries, the loaded model answers them, and its own logs are kept.

LoadGen is a library that calls back. In SingleStream, MultiStream and Offline it does so on the thread that runs the
test, so the model computes on the worker's main thread and nothing stands between the two. In Server it must not be
kept waiting: there it runs on a thread of its own, and the main thread takes one query after the other from a queue.
Either way the model is called by the thread that loaded it, as in every other scenario: a framework's threads belong to
the one that calls it (OpenMP's do), and a second one would bring a second set.

References
----------
MLCommons inference, `loadgen/` (`loadgen.h`, `test_settings.h`, `bindings/python_api.cc`) of version 6.0.
"""

import gc
import importlib
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.machinery import PathFinder
from itertools import cycle
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from levelfield.backends.protocol import Arrays, Unsupported
from levelfield.worker.messages import Drive, Driven

MODULE = "mlperf_loadgen"
BUILT_IN = 0
"""`conf_type` of `TestSettings.FromConfig`: LoadGen's own `mlperf.conf`, which is compiled into it."""
SUMMARY, DETAIL = "summary.txt", "detail.txt"
"""Names of its logs, behind the prefix `mlperf_log_`."""
SUMMARY_BYTES = 16 << 10
DETAIL_BYTES = 256 << 10
"""How much of a log is sent: a whole one has a tenth of that."""
AFTER_ERROR_S = 0.01
"""Pause in place of every call that follows a failed one: LoadGen cannot be stopped before its test is over."""

Step: TypeAlias = Callable[[Any], object]
Issue: TypeAlias = Callable[[list[int], list[int]], None]
"""Takes the numbers of a query's samples, by which they are answered, and their places among the inputs. (LoadGen calls
this way of calling back the fast one: it makes no object for each sample.)"""


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


def drive(request: Drive, step: Step, placed: Sequence[Any], batch: int) -> Driven:
    """Run one test of LoadGen.

    Raises Unsupported: there is no library for this Python. Raises ValueError: LoadGen has no setting of that name.
    Raises Exception: what a call raised: the test then has no result.
    """
    loadgen = library(Path(request.library))
    samples = len(placed) * batch
    settings, rules = _settings(loadgen, request, samples)
    answers = Answers()
    complete, response = loadgen.QuerySamplesComplete, loadgen.QuerySampleResponse

    def complete_all(ids: Iterable[int]) -> None:
        complete([response(each, 0, 0) for each in ids])

    arrivals: queue.SimpleQueue[tuple[int, int, int] | None] | None = None
    if request.scenario == "Server":
        arrivals = queue.SimpleQueue()
        issue = _queued(arrivals)
    elif batch == 1:
        issue = _one_by_one(step, placed, answers, complete_all)
    else:
        issue = _in_batches(step, _gathered(placed), batch, answers, complete_all)
    gc.collect()
    gc.disable()
    try:
        _rewarm(step, placed, request)
        with tempfile.TemporaryDirectory(prefix="loadgen-") as folder:
            test = Test(loadgen, issue, settings, samples, folder)
            begin = time.perf_counter_ns()
            if arrivals is None:
                test.run()
            else:
                _serve(test, arrivals, step, placed, answers, complete_all, request.give_up_ns)
            elapsed = time.perf_counter_ns() - begin
            summary, detail = (
                _read(Path(folder), *each) for each in ((SUMMARY, SUMMARY_BYTES), (DETAIL, DETAIL_BYTES))
            )
    finally:
        gc.enable()
    if answers.error is not None:
        raise answers.error
    return Driven(
        rules=rules,
        summary=summary,
        detail=detail,
        answered=answers.computed,
        not_served=answers.not_served,
        elapsed_ns=elapsed,
    )


def library(folder: Path) -> ModuleType:
    """Import LoadGen from a folder.

    Raises Unsupported: it holds none for this Python.
    """
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


class Test:
    """One test: LoadGen's objects around it."""

    def __init__(self, loadgen: ModuleType, issue: Issue, settings: object, samples: int, folder: str) -> None:
        self._loadgen, self._issue, self._settings, self._samples = loadgen, issue, settings, samples
        self._logs = loadgen.LogSettings()
        self._logs.enable_trace = False
        self._logs.log_output.outdir = folder
        self._logs.log_output.prefix = "mlperf_log_"
        self._logs.log_output.copy_summary_to_stdout = False

    def run(self) -> None:
        """Run it; returns when all queries have been answered, and the logs are written."""
        loadgen = self._loadgen
        system = loadgen.ConstructFastSUT(self._issue, _nothing)
        # The samples are in memory before and after: nothing is loaded or let go.
        samples = loadgen.ConstructQSL(self._samples, self._samples, _nothing, _nothing)
        try:
            loadgen.StartTestWithLogSettings(system, samples, self._settings, self._logs, "")
        finally:
            loadgen.DestroyQSL(samples)
            loadgen.DestroyFastSUT(system)


def _settings(loadgen: ModuleType, request: Drive, samples: int) -> tuple[Any, dict[str, float]]:
    """Return LoadGen's settings, its own with those of the request in their place; and what these replaced."""
    settings = loadgen.TestSettings()
    settings.FromConfig("", request.model, request.scenario, BUILT_IN)
    settings.scenario = getattr(loadgen.TestScenario, request.scenario)
    settings.mode = loadgen.TestMode.PerformanceOnly
    rules: dict[str, float] = {}
    for name, value in (request.settings | {"performance_sample_count_override": samples}).items():
        if not hasattr(settings, name):
            raise ValueError(f"LoadGen has no setting {name!r}.")
        rules[name] = getattr(settings, name)
        setattr(settings, name, value)
    return settings, rules


def _one_by_one(
    step: Step, placed: Sequence[Any], answers: Answers, complete: Callable[[Iterable[int]], None]
) -> Issue:
    """Answer every sample by a call of its own."""

    def issue(numbers: list[int], places: list[int]) -> None:
        for number, place in zip(numbers, places, strict=True):
            answers.attempt(step, placed[place], 1)
            complete((number,))

    return issue


def _in_batches(
    step: Step, samples: Arrays, batch: int, answers: Answers, complete: Callable[[Iterable[int]], None]
) -> Issue:
    """Answer the samples of a query in calls of whole batches; to put a batch together is part of the answer."""

    def issue(numbers: list[int], places: list[int]) -> None:
        for first in range(0, len(numbers), batch):
            chosen = places[first : first + batch]
            count = len(chosen)
            chosen += chosen[:1] * (batch - count)
            inputs = {name: array[chosen] for name, array in samples.items()}
            answers.attempt(step, inputs, count)
            complete(numbers[first : first + batch])

    return issue


def _gathered(placed: Sequence[Mapping[str, Any]]) -> Arrays:
    """Return all samples in one array for each input."""
    return {name: np.concatenate([each[name] for each in placed]) for name in placed[0]}


def _queued(arrivals: "queue.SimpleQueue[tuple[int, int, int] | None]") -> Issue:
    """Put every query into a queue, with the time at which it came."""
    clock, put = time.perf_counter_ns, arrivals.put

    def issue(numbers: list[int], places: list[int]) -> None:
        for number, place in zip(numbers, places, strict=True):
            put((clock(), number, place))

    return issue


def _serve(
    test: Test,
    arrivals: "queue.SimpleQueue[tuple[int, int, int] | None]",
    step: Step,
    placed: Sequence[Any],
    answers: Answers,
    complete: Callable[[Iterable[int]], None],
    give_up_ns: int,
) -> None:
    """Run a test on a thread of its own, and answer its queries on this one, in the order in which they come."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            test.run()
        except BaseException as error:  # noqa: BLE001  (raised again on the thread that waits)
            failed.append(error)
        finally:
            arrivals.put(None)

    thread = threading.Thread(target=run, name="loadgen")
    thread.start()
    clock = time.perf_counter_ns
    while (arrival := arrivals.get()) is not None:
        came, number, index = arrival
        if give_up_ns and clock() - came > give_up_ns:
            answers.not_served += 1
        else:
            answers.attempt(step, placed[index], 1)
        complete((number,))
    thread.join()
    if failed:
        raise failed[0]


def _rewarm(step: Step, placed: Sequence[Any], request: Drive) -> None:
    clock, following = time.perf_counter_ns, cycle(placed).__next__
    end, calls = clock() + request.rewarm_ns, 0
    while calls < request.rewarm_calls or clock() < end:
        step(following())
        calls += 1


def _read(folder: Path, name: str, most_bytes: int) -> str:
    with (folder / f"mlperf_log_{name}").open("rb") as file:
        return file.read(most_bytes).decode(errors="replace")


def _nothing(*_: object) -> None:
    """Do nothing."""
