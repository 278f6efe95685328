"""What a window may be measured on: after the others have stopped, on several arrays, and with answers that stay right.

Each test has a real worker that breaks the rule; none of its kind would be noticed without it.
"""

import itertools
import shutil
import statistics
from pathlib import Path

import msgspec
import pytest

from suite.analysis import analyse
from suite.errors import LevelfieldError
from suite.machine.settling import LIMIT_NS
from suite.record.schema import Arm, Case, Launch, Run, Settling, Turn
from suite.report import sentences
from suite.schedule import timed_inputs
from suite.schedule.launches import bring_up
from suite.schedule.outcomes import end_workers
from suite.schedule.rounds import REWARM_NS, WARM_NS
from suite.schedule.verification import AFTER_WINDOWS, verify_again
from suite.worker import rotation
from suite.zoo import inputs, models
from tests import canaries, hostile

pytestmark = pytest.mark.alone

HONEST = canaries.ARMS[1]
MS = 1_000_000


def measured(does: str, reports: Path) -> tuple[Arm, Run]:
    """Measure an honest canary beside one that does something wrong."""
    wrong = hostile.arm(does)
    return wrong, canaries.Harness(canaries.plan("latency", arms=(wrong, HONEST)), reports).measure()


def turns_of(run: Run) -> list[list[Turn]]:
    return [
        [turn for round_ in generation.rounds for turn in round_.turns]
        for block in run.blocks
        for generation in block.generations
    ]


def launches_of(run: Run, arm: Arm) -> list[Launch]:
    return [
        launch
        for block in run.blocks
        for generation in block.generations
        for launch in generation.launches
        if launch.arm == arm.id
    ]


def test_a_window_waits_for_the_last_workers_threads(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They spin for 120 ms, three times as long as windows used to wait, and reach no window."""
    hostile.install(tmp_path, monkeypatch)
    wrong, run = measured("spins", reports)
    after = [
        next_
        for turns in turns_of(run)
        for turn, next_ in itertools.pairwise(turns)
        if turn.arm == wrong.id and next_.arm != wrong.id
    ]
    assert len(after) >= 3
    for turn in after:
        assert turn.settling is not None
        assert turn.settling.waited_ns > 80 * MS
        assert turn.settling.busy == ()
        assert turn.noise is not None
        assert isinstance(turn.noise.idle_workers_ns, int)
        assert turn.noise.idle_workers_ns < 10 * MS
    others = [turn for turns in turns_of(run) for turn in turns if turn.window is not None]
    assert all(sum(turn.window.rewarm_ns) < REWARM_NS for turn in others if turn.window and turn.arm == HONEST.id)


def test_a_worker_that_never_rests_is_named(reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile.install(tmp_path, monkeypatch)
    wrong, run = measured("never_rests", reports)
    (warning,) = (each for each in analyse(run).warnings if each.code == "never-still")
    assert warning.about == wrong.id
    waits = [turn.settling for turns in turns_of(run) for turn in turns]
    assert all(wait is not None and wait.busy in ((), (wrong.id,)) for wait in waits)
    limited = [wait for wait in waits if wait is not None and wait.busy]
    assert len(limited) > len(waits) / 2
    assert all(wait.waited_ns >= LIMIT_NS for wait in limited)


def test_where_no_clock_can_be_read_the_time_is_fixed(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a worker whose process this one does not see."""
    monkeypatch.setattr("suite.launchers.worker.Worker.pid", property(lambda _: None))
    run = canaries.Harness(canaries.plan("latency"), reports).measure()
    for turns in turns_of(run):
        for turn in turns:
            assert turn.settling is not None
            assert turn.settling.unseen == tuple(sorted({each.arm for each in turns}))
            assert turn.window is not None
            assert sum(turn.window.rewarm_ns) >= 0.95 * REWARM_NS > WARM_NS


def test_an_answer_that_moves_after_the_windows_is_not_equal(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile.install(tmp_path, monkeypatch)
    wrong, run = measured("forgets", reports)
    assert launches_of(run, wrong)
    for launch in launches_of(run, wrong):
        assert launch.parity is not None
        assert not launch.parity.equal
        assert launch.parity.reason.startswith(AFTER_WINDOWS)
        assert launch.parity_after is not None
        assert not launch.parity_after.equal
    for launch in launches_of(run, HONEST):
        assert launch.parity is not None
        assert launch.parity_after is not None
        assert launch.parity.equal
        assert launch.parity_after.equal
        assert launch.parity_after.output_sha256 == launch.parity.output_sha256
        assert launch.parity_after.projection == ()
    found = analyse(run)
    standings = {row.arm: row.standing for block in found.blocks for row in block.rows}
    assert standings[wrong.id] == "unequal"
    assert standings[HONEST.id] != "unequal"
    assert "not equal" in sentences.overall(found).lower() or found.status.unequal


def test_a_worker_that_cannot_answer_after_its_windows_has_failed(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile.install(tmp_path, monkeypatch)
    wrong, run = measured("breaks", reports)
    for launch in launches_of(run, wrong):
        assert launch.failure is not None
        assert launch.failure.stage == "verify"
        assert "no more arrays" in launch.failure.message
    assert all(launch.failure is None for launch in launches_of(run, HONEST))


def test_nothing_is_measured_on_one_array(reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that keeps its answer for the array that it was given last computes in every timed call."""
    hostile.install(tmp_path, monkeypatch)
    wrong, run = measured("remembers", reports)
    medians: dict[str, list[float]] = {wrong.id: [], HONEST.id: []}
    for turns in turns_of(run):
        for turn in turns:
            if turn.window is not None and turn.arm in medians:
                medians[turn.arm].append(statistics.median(turn.window.samples_ns))
    assert statistics.median(medians[wrong.id]) > 0.3 * statistics.median(medians[HONEST.id])
    for arm in (wrong, HONEST):
        for launch in launches_of(run, arm):
            assert launch.timed_inputs == timed_inputs.SETS
            assert launch.timed_inputs_sha256 == rotation.digest(
                inputs.make(models.get("canary"), first, 1) for first in range(timed_inputs.SETS)
            )
            assert launch.inputs_sha256 != launch.timed_inputs_sha256


def test_other_timed_inputs_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made = canaries.plan("latency")
    site = canaries.site(made)
    outcomes = bring_up(site, made.blocks[0].case, canaries.ARMS[:1])
    try:
        monkeypatch.setattr(timed_inputs, "_zoo_digest", lambda *_: "0" * 64)
        with pytest.raises(LevelfieldError, match="other timed inputs for canary"):
            timed_inputs.rotate(site, made.blocks[0].case, outcomes)
    finally:
        end_workers(outcomes)
        shutil.rmtree(site.caches)


@pytest.mark.parametrize(
    ("model", "scenario", "batch", "sets"),
    [
        ("resnet50", "latency", 1, 4),
        ("resnet50", "throughput", 64, 2),
        ("resnet50", "throughput", 1024, 2),
        ("resnet50", "throughput", 36, 3),
        ("bert", "throughput-device", 128, 4),
        ("mlp", "latency", 1000, 4),
        ("resnet50", "training", 8, 1),
        ("mlp", "data-pipeline", 8, 1),
        ("resnet50", "memory", 1, 1),
        ("resnet50", "cold-start", 1, 1),
        ("resnet50", "convergence", 1, 1),
    ],
)
def test_how_many_batches_are_taken_in_turn(model: str, scenario: str, batch: int, sets: int) -> None:
    site = canaries.site(canaries.plan("latency"))
    assert timed_inputs.sets_of(site, msgspec.convert(_case(model, scenario, batch), Case)) == sets
    shutil.rmtree(site.caches)


def _case(model: str, scenario: str, batch: int) -> dict[str, str | int]:
    return {"model": model, "scenario": scenario, "precision": "fp32", "batch": batch, "threads": 1}


def test_an_unequal_answer_is_not_asked_for_again() -> None:
    made = canaries.plan("latency")
    site = canaries.site(made)
    (outcome,) = bring_up(site, made.blocks[0].case, canaries.ARMS[:1])
    try:
        assert outcome.launch.parity is not None
        verify_again(site, outcome.case, outcome)
        assert outcome.launch.parity_after is not None
        unequal = msgspec.structs.replace(outcome.launch.parity, equal=False)
        outcome.launch = msgspec.structs.replace(outcome.launch, parity=unequal, parity_after=None)
        verify_again(site, outcome.case, outcome)
        assert outcome.launch.parity_after is None
    finally:
        end_workers([outcome])
        shutil.rmtree(site.caches)


def test_a_wait_is_kept_as_it_was() -> None:
    turn = Turn(arm="a", window=None, settling=Settling(7, ("b",), ("c",)))
    assert msgspec.json.decode(msgspec.json.encode(turn), type=Turn) == turn
    assert msgspec.json.decode(b'{"arm":"a","window":null}', type=Turn).settling is None
