"""Whole runs of real workers, and the days on which they are cut short."""

import itertools
import math
import os
import signal
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from levelfield.errors import LevelfieldError
from levelfield.plan import Plan
from levelfield.plan.profiles import SMOKE, STANDARD
from levelfield.record.journal import measured_s
from levelfield.record.schema import Arm, Block, Run, Warning_
from levelfield.run.options import Options
from levelfield.schedule import launches
from levelfield.schedule import run as bench
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.rounds import order
from levelfield.schedule.run import RunInProgress
from tests.benches import parity_of
from tests.canaries import ARMS, Harness, plan, site, workers
from tests.known import known

FIRST, SECOND = ARMS
needs_no_jax = pytest.mark.skipif(find_spec("jax") is not None, reason="this interpreter has jax")


class Meddler(SilentListener):
    """A listener that does something the first time a round has ended."""

    def __init__(self, deed: Callable[[], None]) -> None:
        self._deed: Callable[[], None] | None = deed

    def progress(self, text: str, estimates_ns: dict[str, float]) -> None:
        del text
        if self._deed is not None and estimates_ns:
            deed, self._deed = self._deed, None
            deed()


class Watching(SilentListener):
    """A listener that keeps what it is shown of the share that is done, and of the time that is left."""

    def __init__(self) -> None:
        self.shown: list[tuple[float, float | None]] = []

    def done(self, share: float, seconds_left: float | None) -> None:
        self.shown.append((share, seconds_left))


def test_a_machine_that_changed_during_a_run_is_reported(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fingerprint is read again at the end; here one of its facts is made to differ by then."""
    assert "machine-changed" not in [each.code for each in Harness(plan("memory"), reports).measure().warnings]
    harness = Harness(plan("memory"), reports)
    before = harness.record().machine
    after = before | {"clock": before["clock"] | {"governor": "powersave"}}
    monkeypatch.setattr(bench, "fingerprint", lambda *_, **__: after)
    (warning,) = [each for each in harness.measure().warnings if each.code == "machine-changed"]
    assert "clock, governor:" in warning.message
    assert warning.message.endswith("became powersave.")


def test_a_whole_run(reports: Path) -> None:
    run = Harness(plan("cold-start", "memory", "latency"), reports).measure()
    assert run.finished
    assert isinstance(run.supervisor_window_share, float)
    assert run.supervisor_window_share < 0.2
    cold, memory, latency = run.blocks
    for block in run.blocks:
        assert len(block.generations) == block.planned_generations
        for generation in block.generations:
            assert generation.complete
            wanted = {arm.id for arm in block.arms} | ({block.canary} if block.canary else set())
            assert {launch.arm for launch in generation.launches} == wanted
            for launch in generation.launches:
                parity_of(launch)
                assert known(launch.startup).start_ns > 0 or launch.served
                assert launch.weights_sha256
                if launch.arm != "canary" and not launch.served:
                    (arm,) = (each for each in block.arms if each.id == launch.arm)
                    assert launch.environment_padding_bytes == launches.padding_of(arm, generation.seed)
    assert not any(launch.cache_warm for launch in cold.generations[0].launches)
    for launch in memory.generations[0].launches:
        assert launch.memory is not None
        assert isinstance(launch.memory.peak_rss_bytes, int)
        assert launch.memory.peak_rss_bytes > 16 << 20
        assert launch.libraries
    for generation in latency.generations:
        assert len([each for each in generation.rounds if not each.repeats]) >= 2
        for each in generation.rounds:
            turns = list(dict.fromkeys(turn.arm for turn in each.turns))
            assert turns == order(turns, generation.seed, each.index)
            assert set(turns) == {FIRST.id, SECOND.id, "canary"}
            for turn in each.turns:
                assert turn.window
                assert len(turn.window.samples_ns) >= SMOKE.min_calls
                assert turn.noise
    assert len({generation.seed for generation in latency.generations}) == 2
    (image,) = run.images
    assert "numpy" in image.distributions


def kill_the_oldest() -> None:
    os.kill(min(workers(), key=lambda worker: worker.create_time()).pid, signal.SIGKILL)


def test_a_killed_worker_costs_its_own_turns_only(reports: Path) -> None:
    run = Harness(plan("latency"), reports).measure(Meddler(kill_the_oldest))
    first, second = run.blocks[0].generations
    assert first.complete
    lost = [turn for each in first.rounds for turn in each.turns if turn.failure]
    assert [(turn.arm, turn.failure.kind) for turn in lost if turn.failure] == [(FIRST.id, "crashed")]
    assert "SIGKILL" in str(lost[0].failure)
    for each in first.rounds:
        assert {turn.arm for turn in each.turns if turn.window} >= {SECOND.id, "canary"}
    assert all(turn.window for each in second.rounds for turn in each.turns), "it is launched again"


def test_a_spent_budget_ends_a_run_between_generations(reports: Path) -> None:
    harness = Harness(plan("latency"), reports, options=Options(seed=1, budget_seconds=0.5))
    run = harness.measure()
    assert run.finished
    assert len(run.blocks[0].generations) == 1
    assert run.blocks[0].generations[0].complete
    assert [warning.code for warning in run.warnings].count("budget-spent") == 1
    again = harness.measure(resumed=True, budget_seconds=120.0)
    assert [generation.complete for generation in again.blocks[0].generations] == [True, True]
    assert "budget-spent" not in [warning.code for warning in again.warnings]
    assert again.settings.budget_seconds == pytest.approx(120 + measured_s(run.time_spent_s), abs=1e-3)


class Durations:
    """Generations that take so many seconds each, by the threads of their case, on a clock of their own."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, seconds: dict[int, float], first: dict[int, float] | None = None
    ) -> None:
        self.now_s = 0.0
        self.clock = SimpleNamespace(share=0.0, elapsed_ns=1)
        self.begun: dict[int, list[float]] = {threads: [] for threads in seconds}
        self._seconds, self._first = seconds, first or {}
        monkeypatch.setattr(bench, "Generations", lambda *_: self)
        monkeypatch.setattr(bench, "time", SimpleNamespace(monotonic=lambda: self.now_s, sleep=self._take))

    def measure(self, block: Block, _index: int, **_: bool) -> None:
        self.begun[block.case.threads].append(self.now_s)
        threads = block.case.threads
        self._take(self._first.pop(threads, self._seconds[threads]))

    def answering(self, _: Block) -> list[Arm]:
        return []

    def begin(self) -> None: ...

    def keep(self, _: object) -> None: ...

    def close(self) -> None: ...

    def _take(self, seconds: float) -> None:
        self.now_s += seconds


class Told(SilentListener):
    """Keeps the warnings that a user sees while a run goes on."""

    def __init__(self) -> None:
        self.warnings: list[Warning_] = []

    def warn(self, warning: Warning_) -> None:
        self.warnings.append(warning)


def two_cases(reports: Path, budget_s: float) -> Harness:
    """A run that is planned to make five launches of each of two cases, on one thread and on two."""
    (block,) = plan("latency").blocks
    blocks = tuple(
        Block(msgspec.structs.replace(block.case, threads=threads), block.arms, planned_generations=5)
        for threads in (1, 2)
    )
    made = msgspec.structs.replace(plan("latency"), profile=STANDARD, blocks=blocks, threads=(1, 2))
    return Harness(made, reports, options=Options(budget_seconds=budget_s))


@pytest.mark.parametrize(
    ("budget_s", "launches", "end_s", "apart_s"),
    [(100.0, [5, 5], 67.0, 10.0), (50.0, [5, 5], 50.0, 5.75), (34.0, [5, 1], 34.0, 5.0), (12.0, [3, 1], 11.0, 0.0)],
)
def test_a_short_budget_costs_pauses_first_and_then_cases(
    reports: Path, monkeypatch: pytest.MonkeyPatch, budget_s: float, launches: list[int], end_s: float, apart_s: float
) -> None:
    harness = two_cases(reports, budget_s)
    durations = Durations(monkeypatch, {1: 2.0, 2: 5.0})
    RunInProgress(harness.folder, site(harness.plan), SilentListener()).measure()
    assert [len(begun) for begun in durations.begun.values()] == launches
    assert durations.now_s == pytest.approx(end_s)
    pauses = (after - before - 2.0 for before, after in itertools.pairwise(durations.begun[1]))
    assert min(pauses, default=math.inf) >= apart_s
    short = [warning.code for warning in harness.record().warnings].count("budget-spent")
    assert short == (launches != [5, 5])


@pytest.mark.parametrize(
    ("budget_s", "launches", "says", "fix"),
    [
        (190.0, [5, 5], "", ""),
        (145.0, [5, 5], "", ""),
        (138.0, [1, 5], "Of the budget of 138 s 8 s are left, too few for another pass; 4 generations", "--budget 6m"),
        (99.0, [1, 1], "Of the budget of 99 s 19 s are left, too few for another pass; 8 generations", "--budget 7m"),
        (70.0, [1, 1], "The budget of 70 s was spent; 8 generations were not made", "--budget 6m with --resume"),
    ],
)
def test_a_first_launch_that_compiles_costs_no_case_its_other_ones(
    reports: Path, monkeypatch: pytest.MonkeyPatch, budget_s: float, launches: list[int], says: str, fix: str
) -> None:
    harness = two_cases(reports, budget_s)
    durations = Durations(monkeypatch, {1: 2.0, 2: 5.0}, {1: 60.0, 2: 20.0})
    listener = Told()
    RunInProgress(harness.folder, site(harness.plan), listener).measure()
    found = [each for each in harness.record().warnings if each.code == "budget-spent"]
    assert [len(begun) for begun in durations.begun.values()] == launches
    told = ["budget-short"] * (launches == [1, 5]) + ["budget-spent"] * bool(says)
    assert [each.code for each in listener.warnings] == told
    assert says in "".join(each.message for each in found)
    assert fix in "".join(each.remedy for each in found)


@needs_no_jax
def test_what_cannot_run_here_is_absent_with_its_reason(reports: Path) -> None:
    run = Harness(plan("latency", "memory", arms=(Arm("jax", "jax"), FIRST)), reports).measure()
    assert run.finished
    latency, memory = run.blocks
    launches = [launch for generation in latency.generations for launch in generation.launches if launch.arm == "jax"]
    assert len(launches) == 1, "what a backend cannot do, it will not learn"
    for launch in (*launches, *(each for each in memory.generations[0].launches if each.arm == "jax")):
        assert launch.failure is not None
        assert launch.failure.kind == "unsupported"
        assert "not installed" in launch.failure.message
    assert all(turn.window for generation in latency.generations for each in generation.rounds for turn in each.turns)


def test_a_run_that_ends_on_verdicts_adds_generations_to_what_has_none(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "FIRST_LOOK_S", 0.0)
    looks: list[list[int]] = []

    def undecided(run: Run) -> dict[str, str]:
        looks.append([len(block.generations) for block in run.blocks])
        latency = run.blocks[0]
        return {latency.case.id: "1.00 (0.90-1.10)"} if len(latency.generations) < 3 else {}

    harness = Harness(plan("latency", "throughput"), reports, options=Options(seed=1, ends_on_verdict=True))
    run = harness.measure(undecided=undecided)
    assert looks == [[2, 2], [3, 2]]
    assert [len(block.generations) for block in run.blocks] == [3, 2]
    assert "not-decided" not in [warning.code for warning in run.warnings]


def test_the_budget_ends_what_has_no_verdict_and_says_what_is_known(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "FIRST_LOOK_S", 0.0)
    options = Options(seed=1, ends_on_verdict=True, budget_seconds=5.0)
    harness = Harness(planned(plan("latency"), 1), reports, options=options)
    run = harness.measure(undecided=lambda run: {run.blocks[0].case.id: "1.00 (0.90-1.10)"})
    (warning,) = [each for each in run.warnings if each.code == "not-decided"]
    assert warning.about == run.blocks[0].case.id
    assert "1.00 (0.90-1.10)" in warning.message
    assert run.blocks[0].generations
    again = harness.measure(resumed=True, undecided=lambda _: {})
    assert len(again.blocks[0].generations) == len(run.blocks[0].generations)


def test_a_run_that_ends_on_verdicts_shows_what_is_left_of_its_budget(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "FIRST_LOOK_S", 0.0)
    options = Options(seed=1, ends_on_verdict=True, budget_seconds=600.0)
    harness = Harness(planned(plan("latency"), 1), reports, options=options)
    watching = Watching()
    harness.measure(undecided=lambda _: {}, listener=watching)
    ((share, left),) = watching.shown
    assert 0 < share < 0.9
    assert left == pytest.approx(600 * (1 - share))


def test_a_budget_that_is_over_while_launches_go_on_shows_what_they_take(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = msgspec.structs.replace(planned(plan("memory", "latency"), 5), profile=STANDARD)
    harness = Harness(made, reports, options=Options(budget_seconds=50.0))
    Durations(monkeypatch, {1: 2.0}, {1: 60.0})
    watching = Watching()
    RunInProgress(harness.folder, site(made), watching).measure()
    assert watching.shown[0] == (0.5, 60.0)


def planned(made: Plan, generations: int) -> Plan:
    blocks = tuple(msgspec.structs.replace(block, planned_generations=generations) for block in made.blocks)
    return msgspec.structs.replace(made, blocks=blocks)


@needs_no_jax
@pytest.mark.parametrize("until", [{"precision_target": 0.01}, {"ends_on_verdict": True}])
def test_what_cannot_run_is_not_waited_for(reports: Path, until: dict[str, Any]) -> None:
    jax = plan("latency", arms=(Arm("jax", "jax"),), model="mlp")
    harness = Harness(jax, reports, options=Options(seed=1, budget_seconds=120.0, **until))
    run = harness.measure(undecided=lambda run: {run.blocks[0].case.id: "no launch of both arms"})
    assert run.finished
    assert len(run.blocks[0].generations) < 10


def test_results_of_workers_that_hold_other_weights_are_refused(reports: Path) -> None:
    harness = Harness(plan("latency"), reports)
    run = harness.measure(where=msgspec.structs.replace(site(harness.plan), weights_sha256={"canary": "0" * 64}))
    for launch in (each for generation in run.blocks[0].generations for each in generation.launches):
        assert launch.failure is not None
        assert "holds other weights for canary" in launch.failure.message
        assert "levelfield images clean" in launch.failure.message
        assert not launch.warmup


def test_a_disk_that_fills_up_keeps_what_was_measured(small_disk: Path) -> None:
    harness = Harness(plan("latency"), small_disk)
    (small_disk / "ballast").write_bytes(bytes(_free_bytes(small_disk) - 20 * 1024))
    with pytest.raises(LevelfieldError, match=r"The journal .* cannot be written: No space left") as caught:
        harness.measure()
    assert "--resume" in caught.value.fix
    cut = harness.record()
    assert cut.finished is None
    assert cut.blocks[0].generations[0].launches
    (small_disk / "ballast").unlink()
    subprocess.run(["mount", "-o", "remount,size=8m", small_disk], check=True)
    run = harness.measure(resumed=True)
    assert run.finished
    assert run.blocks[0].generations[0].launches == cut.blocks[0].generations[0].launches


def _free_bytes(folder: Path) -> int:
    free = os.statvfs(folder)
    return free.f_bavail * free.f_bsize
