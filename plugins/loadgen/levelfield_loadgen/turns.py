"""Cases that MLPerf LoadGen drives: all arms are loaded, and one after the other is tested while the others sleep.

In SingleStream tests alternate with windows of this tool's own, each as long as the other and in turns first, so that
the two measure the same worker in the same seconds. In Server every test has another rate, which a search chooses.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from levelfield.analysis import loadgen as analysis
from levelfield.errors import LevelfieldError
from levelfield.launchers.worker import Worker, WorkerError
from levelfield.machine.disturbance import reasons
from levelfield.machine.quiet import wait_until_idle
from levelfield.machine.signals import Signals, difference
from levelfield.plan.profiles import Profile
from levelfield.record.schema import (
    LOADGEN_DETAIL_CHARS,
    LOADGEN_SUMMARY_CHARS,
    Arm,
    Block,
    LoadGenLaunch,
    LoadGenTest,
    Settings,
    Window,
)
from levelfield.schedule.launches import bring_up, paths_of, rotate
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import Outcome, ended_on_error, fail, shuffled
from levelfield.schedule.resources import RunResources
from levelfield.worker.messages import Drive, Driven, Measure, Measured
from levelfield.zoo import models
from levelfield_loadgen import detail_log
from levelfield_loadgen.search import next_load

PAIRS = 4
"""Tests of SingleStream in a launch, and windows beside them."""
FEWEST_PAIRS = 2
"""The same of a model so slow that the fewest queries take longer than a test should."""
FEWEST_QUERIES: Mapping[str, int] = {"SingleStream": 64, "MultiStream": 64, "Server": 100, "Offline": 1}
"""Queries of a test at the least, of Offline batches. LoadGen's early stopping needs 64 for a 90th percentile, and 662
for a 99th: with fewer it says INVALID, which is kept."""
FEWEST_CALLS = 5
"""Of the window that tells how long a call is."""
MOST_CALLS = 2_000
"""Calls of a window beside a test at the most: their times are all recorded."""
SHORTEST_S = 0.25
"""Of a test, whatever the budget is."""
TESTS_IN_A_SEARCH = 8
"""A guess, for the budget."""
WARM_NS = 50_000_000
PATIENCE = 20
"""A query of Server is given up after so many times the latency target, and no sooner than `PATIENCE_NS`."""
PATIENCE_NS = 2_000_000_000
MOST_SAMPLES_PER_SECOND = 250_000
"""For which Offline prepares: LoadGen itself takes some microseconds for each sample, so that no model is faster."""
SAMPLES = "performance_sample_count_override"
UNNAMED = "*"
"""How LoadGen's settings name a model that MLPerf's rules do not have: what holds for all models holds for it."""
SLACK_S = 120.0


class Pace(NamedTuple):
    """How long LoadGen tests."""

    test_s: float
    """Each test at the least."""
    target_ns: int | None
    """Latency target of Server that the user named; None: that of MLPerf's rules."""


def pace_of(profile: Profile, settings: Settings, block: Block, planned: int) -> Pace:
    """Return how long the tests of a block are: as long as was requested, as the profile says, or as the budget allows.

    `planned`: generations of all blocks of the run: each has the same share of the budget.
    """
    seconds = settings.loadgen_test_s if settings.loadgen_test_s is not None else profile.loadgen_test_s
    if settings.loadgen_test_s is None and settings.budget_seconds is not None:
        tests = TESTS_IN_A_SEARCH if block.case.definition.driven_as == "Server" else 2
        share_s = settings.budget_seconds / max(planned, 1) / max(len(block.arms), 1) / tests
        seconds = max(SHORTEST_S, min(seconds, share_s))
    target_ms = settings.latency_target_ms
    return Pace(seconds, round(target_ms * 1e6) if target_ms is not None else None)


def tests(
    folder: str,
    resources: RunResources,
    block: Block,
    arms: Sequence[Arm],
    index: int,
    seed: int,
    signals: Signals,
    listener: ProgressListener,
    *,
    running: Mapping[str, Outcome],
    profile: Profile,
    settings: Settings,
    planned: int,
) -> list[Outcome]:
    """Load every arm, then let LoadGen test one after the other, in random order, while the others sleep.

    `folder`: what workers are handed, under the artifacts folder. Raises LevelfieldError: when the engine is gone, or
    two workers hold different weights or inputs.
    """
    case, pace = block.case, pace_of(profile, settings, block, planned)
    outcomes = bring_up(resources, case, arms, launch_measured=False, running=running, seed=seed)
    values: dict[str, float] = {}
    with ended_on_error(outcomes):
        rotate(resources, case, outcomes)
        by_arm = {outcome.arm.id: outcome for outcome in outcomes}
        for number, arm in enumerate(shuffled(arms, seed), start=1):
            outcome = by_arm[arm.id]
            if outcome.worker is not None:
                pids = {other.arm.id: other.worker.pid for other in outcomes if other.worker and other.worker.pid}
                wait_until_idle(pids)
                before = signals.snapshot(pids)
                launch = _Turn(f"{paths_of(resources, outcome).artifacts}/{folder}", outcome, pace).take()
                if launch is not None:
                    noise = difference(before, signals.snapshot(pids), arm.id)
                    launch = msgspec.structs.replace(
                        launch,
                        noise=noise,
                        disturbed=reasons([noise], len(signals.cpus)),
                        detail=launch.detail if not index else "",
                    )
                    outcome.launch = msgspec.structs.replace(outcome.launch, loadgen=launch)
                    if (value := analysis.value_ns(launch)) is not None:
                        values[arm.id] = value
            listener.progress(f"LoadGen tested {arm.id} ({number} of {len(outcomes)})", values)
    return outcomes


class _Answer(msgspec.Struct, forbid_unknown_fields=True):
    """What `inside.drive` returns of a test."""

    rules: dict[str, float]
    """What LoadGen's own settings of the scenario and model had been, of those that the request gave."""
    summary: str
    detail: str
    """The beginning of the log, which is whole unless LoadGen had thousands of errors to report."""
    answered: int
    """Samples that were computed."""
    not_served: int


class _Turn:
    """The tests of one arm in one generation, and the windows between them."""

    def __init__(self, folder: str, outcome: Outcome, pace: Pace) -> None:
        driven_as = outcome.case.definition.driven_as
        if not driven_as:
            raise ValueError(f"{outcome.case.id} is not driven by LoadGen.")
        self._outcome, self._case, self._pace = outcome, outcome.case, pace
        self._scenario = driven_as
        self._inside = f"{folder}/inside.py"
        self._own: list[Window] = []
        self._tests: list[LoadGenTest] = []
        self._details: list[str] = []
        self._settings: dict[str, float] = {}
        self._rules: dict[str, float] = {}
        self._version = ""
        self._target_ns = pace.target_ns

    def take(self) -> LoadGenLaunch | None:
        """Take all tests; None where the worker failed, and was ended."""
        try:
            first = self._window(self._pace.test_s / PAIRS, FEWEST_CALLS)
            call_ns = statistics.median(first.samples_ns)
            match self._scenario:
                case "SingleStream":
                    self._alternate(call_ns)
                case "MultiStream":
                    self._own.append(first)
                    self._test({"multi_stream_expected_latency_ns": call_ns}, self._pace.test_s, call_ns)
                case "Offline":
                    self._own.append(first)
                    rate = min(1e9 * self._case.batch / call_ns, MOST_SAMPLES_PER_SECOND)
                    self._test({"offline_expected_qps": rate}, self._pace.test_s, call_ns)
                case "Server":
                    self._own.append(first)
                    self._search(call_ns)
        except WorkerError as error:
            fail(self._outcome, "measure", error)
            return None
        launch = LoadGenLaunch(
            version=self._version,
            scenario=self._scenario,
            settings=self._settings,
            rules=self._rules,
            tests=tuple(self._tests),
            own=tuple(self._own),
            target_ns=self._target_ns if self._scenario == "Server" else None,
        )
        return msgspec.structs.replace(launch, detail=self._details[launch.tests.index(analysis.deciding(launch)[-1])])

    def _alternate(self, call_ns: float) -> None:
        """Take tests, and beside each a window; which of the two is first, changes from pair to pair."""
        slow = FEWEST_QUERIES["SingleStream"] * call_ns > 1e9 * self._pace.test_s
        pairs = FEWEST_PAIRS if slow else PAIRS
        seconds = self._pace.test_s / pairs
        settings: dict[str, int | float] = {"single_stream_expected_latency_ns": call_ns}
        for number in range(pairs):
            if number % 2:
                self._test(settings, seconds, call_ns)
            self._own.append(self._window(seconds, FEWEST_QUERIES["SingleStream"]))
            if not number % 2:
                self._test(settings, seconds, call_ns)

    def _search(self, call_ns: float) -> None:
        """Search for the highest rate that holds the latency target."""
        capacity = 1e9 / call_ns
        while (rate := next_load(self._tried(), capacity)) is not None:
            settings: dict[str, int | float] = {"server_target_qps": rate}
            if self._pace.target_ns is not None:
                settings["server_target_latency_ns"] = self._pace.target_ns
            self._test(settings, self._pace.test_s, max(call_ns, 1e9 / rate))
            if self._target_ns is not None and call_ns > self._target_ns:
                return  # one query alone takes longer than the target, so no rate holds it

    def _tried(self) -> tuple[analysis.Tried, ...]:
        return analysis.tried(self._tests, self._target_ns)

    def _window(self, seconds: float, least: int) -> Window:
        request = Measure(
            window_ns=round(1e9 * seconds), min_calls=least, max_calls=MOST_CALLS, rewarm_ns=WARM_NS, rewarm_calls=1
        )
        return self._worker.ask(request, Measured, SLACK_S + 20 * seconds).window

    def _test(self, settings: dict[str, int | float], seconds: float, query_ns: float) -> None:
        """Take one test."""
        least = FEWEST_QUERIES[self._scenario] * (self._case.batch if self._scenario == "Offline" else 1)
        settings = {"min_duration_ms": math.ceil(1000 * seconds), "min_query_count": least} | settings
        request: dict[str, int | float | str | dict[str, int | float]] = {
            "scenario": self._scenario,
            "model": models.get(self._case.model).mlperf or UNNAMED,
            "settings": settings,
            "rewarm_ns": WARM_NS,
            "rewarm_calls": 1,
            "give_up_ns": max(PATIENCE_NS, PATIENCE * (self._target_ns or 0)),
        }
        expected_s = seconds + least * query_ns / 1e9
        driven = self._worker.ask(Drive(self._inside, request), Driven, SLACK_S + 10 * expected_s)
        try:
            answer = msgspec.convert(driven.answer, _Answer)
            result = detail_log.parse(answer.detail, driven.elapsed_ns)
        except msgspec.ValidationError as error:
            raise WorkerError("protocol", f"What LoadGen's driver answers has another form: {error}.") from error
        except LevelfieldError as error:
            raise WorkerError("protocol", error.message, answer.summary[:500]) from error
        if result.scenario != self._scenario:
            raise WorkerError("protocol", f"LoadGen tested {result.scenario} in place of {self._scenario}.")
        if self._scenario == "Server":
            self._target_ns = result.target_latency_ns
        self._version, self._rules = result.version, answer.rules
        given = {name: value for name, value in settings.items() if name != "server_target_qps"}
        # The worker adds this one: as many samples as it was given inputs.
        self._settings = given | {SAMPLES: self._outcome.launch.timed_inputs * self._case.batch}
        self._tests.append(
            msgspec.structs.replace(
                result.test,
                offered_per_second=settings.get("server_target_qps"),
                not_served=answer.not_served,
                summary=answer.summary[:LOADGEN_SUMMARY_CHARS],
            )
        )
        self._details.append(answer.detail[:LOADGEN_DETAIL_CHARS])

    @property
    def _worker(self) -> Worker:
        if self._outcome.worker is None:
            raise WorkerError("crashed", f"{self._outcome.arm.id} is not there any more.")
        return self._outcome.worker
