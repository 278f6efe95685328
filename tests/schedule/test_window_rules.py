"""What a window may be measured on: after the others have stopped, on several arrays, and with answers that stay right.

Each test has a real worker that breaks the rule; none of its kind would be noticed without it.
"""

import functools
import itertools
from pathlib import Path

import pytest

from levelfield.analysis import analyse
from levelfield.machine.quiet import LIMIT_NS, wait_until_idle
from levelfield.schedule import rounds
from levelfield.schedule.output_verification import AFTER_WINDOWS
from levelfield.schedule.rounds import REWARM_NS, WARM_NS
from tests import canaries, hostile
from tests.known import known
from tests.schedule.windows import HONEST, launches_of, measured, requests_of, turns_of

MS = 1_000_000


def test_a_window_waits_for_the_last_workers_threads(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They spin for 120 ms, and reach no window: waiting has no limit here, however slowly they get a CPU."""
    monkeypatch.setattr(rounds, "wait_until_idle", functools.partial(wait_until_idle, limit_ns=10**13))
    hostile.install(tmp_path, monkeypatch)
    asked = requests_of(monkeypatch)
    wrong, run = measured("spins", reports)
    spinning = [turn for turns in turns_of(run) for turn in turns if turn.arm == wrong.id]
    assert len(spinning) >= 3
    for turn in spinning:
        assert known(turn.settled).busy == ()
    after = [
        next_
        for turns in turns_of(run)
        for turn, next_ in itertools.pairwise(turns)
        if turn.arm == wrong.id and next_.arm != wrong.id
    ]
    assert len(after) >= 3
    for turn in after:
        assert turn.noise is not None
        assert isinstance(turn.noise.idle_workers_ns, int)
        assert turn.noise.idle_workers_ns < 10 * MS
    assert {each.rewarm_ns for each in asked} == {WARM_NS}


def test_a_worker_that_never_rests_is_named(reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile.install(tmp_path, monkeypatch)
    wrong, run = measured("never_rests", reports)
    (warning,) = (each for each in analyse(run).warnings if each.code == "never-still")
    assert warning.about == wrong.id
    assert "spinning=off" in warning.remedy, "no variable of the environment reaches a worker"
    waits = [turn.settling for turns in turns_of(run) for turn in turns]
    assert all(wait is not None and wait.busy in ((), (wrong.id,)) for wait in waits)
    limited = [wait for wait in waits if wait is not None and wait.busy]
    assert len(limited) > len(waits) / 2
    assert all(wait.waited_ns >= LIMIT_NS for wait in limited)


def test_where_no_clock_can_be_read_the_time_is_fixed(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a worker whose process this one does not see."""
    asked = requests_of(monkeypatch)
    monkeypatch.setattr("levelfield.launchers.worker.Worker.pid", property(lambda _: None))
    run = canaries.Harness(canaries.plan("latency"), reports).measure()
    for turns in turns_of(run):
        for turn in turns:
            assert known(turn.settling).unseen == tuple(sorted({each.arm for each in turns}))
    assert len(asked) == sum(map(len, turns_of(run)))
    assert {each.rewarm_ns for each in asked} == {REWARM_NS}


def test_an_answer_that_moves_after_the_windows_is_not_equal(
    reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile.install(tmp_path, monkeypatch)
    wrong, run = measured("forgets", reports)
    *earlier, last = launches_of(run, wrong)
    assert earlier
    assert all(launch.parity_after is None for launch in earlier), "only the last launch is compared twice"
    assert last.parity is not None
    assert not last.parity.equal
    assert last.parity.reason.startswith(AFTER_WINDOWS)
    assert not known(last.parity_after).equal
    for launch in launches_of(run, HONEST):
        assert known(launch.parity).equal
    for launch in launches_of(run, HONEST)[-1:]:
        assert launch.parity_after is not None
        assert launch.parity_after.equal
        assert launch.parity_after.output_sha256 == known(launch.parity).output_sha256
        assert launch.parity_after.projection == ()
    found = analyse(run)
    standings = {row.arm: row.standing for block in found.blocks for row in block.rows}
    assert standings[wrong.id] == "unequal"
    assert standings[HONEST.id] != "unequal"
    assert found.status.unequal
