"""Windows wait until the machine is calm, and are taken again where it was not; workers answer by a script."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from levelfield.launchers.worker import Worker, WorkerError
from levelfield.machine.signals import Signals
from levelfield.plan import CANARY
from levelfield.record import journal
from levelfield.record.journal import Journal, RoundDone, TurnTaken
from levelfield.record.schema import Absent, Arm, Case, Launch, MachineProbe, Reason, Turn, Window
from levelfield.record.states import FEWEST_PROBES, knowledge
from levelfield.schedule import calm, rounds
from levelfield.schedule.calm import MachineStates
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.outcomes import Outcome
from levelfield.schedule.rounds import ATTEMPTS, Pace, RoundScheduler, SupervisorClock
from levelfield.worker.messages import Measured, Polled, PollMachine, ProbeMachine
from tests.known import known

CALM, BUSY = 900_000, 1_400_000
PACE = Pace(rounds=1, window_ns=1_000_000, min_calls=1, repeats=0)


class ScriptedWorker:
    """Answers probes by a script, and windows with one call of a millisecond."""

    pid = None

    def __init__(self, script: Iterator[int | WorkerError] | None = None) -> None:
        self.script = script
        self.windows = 0

    def ask(self, request: object, _kind: object, _timeout_s: float) -> MachineProbe | Polled:
        assert isinstance(request, ProbeMachine | PollMachine)
        found = next(known(self.script))
        if isinstance(found, WorkerError):
            raise found
        return Polled(found) if isinstance(request, PollMachine) else MachineProbe(found, 400_000, 500_000)

    def ask_asleep(self, _request: object, _kind: object, _timeout_s: float) -> tuple[Measured, int]:
        self.windows += 1
        return Measured(Window((), (1_000_000,), 1_000_000, 0, 0, 0, 0, 0, 0)), 0

    def stop(self) -> None: ...

    def dismiss(self) -> None: ...


def outcome(arm: Arm, worker: ScriptedWorker) -> Outcome:
    return Outcome(arm, Case("mlp", "latency", "fp32", 1, 1), Launch(arm.id, ""), cast("Worker", worker))


def script(*then: int | WorkerError, always: int = CALM) -> Iterator[int | WorkerError]:
    """The first look, seven in ten calm; then these probes; then always the same."""
    for number in range(calm.FIRST_LOOK):
        yield CALM if number % 10 < 7 else BUSY
    yield from then
    while True:
        yield always


@pytest.fixture(autouse=True)
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEVELFIELD_CACHE", str(tmp_path))
    monkeypatch.setattr(calm, "PAUSE_S", 0.0001)
    for module, limit in ((calm, "LONGEST_WAIT_S"), (rounds, "LEAST_CALM_S"), (rounds, "LONGEST_WINDOW_S")):
        monkeypatch.setattr(module, limit, 600.0)  # which a busy machine does not use up


def states(then: Iterator[int | WorkerError]) -> MachineStates:
    made = MachineStates("here", 1 << 20)
    made.use(outcome(Arm(CANARY, CANARY), ScriptedWorker(then)))
    return made


def measured(
    tmp_path: Path, where: MachineStates | Absent, arm: Arm, pace: Pace = PACE, budget_s: float = math.inf
) -> tuple[list[Turn], float]:
    """Take one round of one arm; return the turns in the journal, and what is left for waits and repeated windows."""
    path = tmp_path / "journal.jsonl"
    with Journal(path) as written, Signals((0,)) as signals:
        made = RoundScheduler(
            outcomes={arm.id: outcome(arm, ScriptedWorker())}, block="b", generation=0, seed=1, signals=signals,
            journal=written, clock=SupervisorClock(), listener=SilentListener(), states=where, budget_s=budget_s,
        )  # fmt: skip
        made.measure_rounds(pace)
    events = journal.read(path)
    assert isinstance(events[-1], RoundDone)
    return [each.turn for each in events if isinstance(each, TurnTaken)], made._calm_s


ARM = Arm("jax", "jax")
STEAL = (Reason("steal", 0.09),)


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other programs of the machine take while tests run is not what is tested here."""
    monkeypatch.setattr(rounds, "reasons", lambda *_: ())


def test_a_run_looks_at_the_machine_before_its_first_window() -> None:
    made = states(script())
    assert made.levels is not None
    assert made.levels.probes == calm.FIRST_LOOK >= FEWEST_PROBES
    assert made.levels.low_share == pytest.approx(0.7)
    _, looked = made.take()
    assert len(looked) == calm.FIRST_LOOK
    assert made.take()[1] == ()


def test_a_window_waits_until_the_machine_is_calm_and_keeps_what_it_saw(tmp_path: Path) -> None:
    (turn,), left_s = measured(tmp_path, states(script(BUSY, BUSY, BUSY)), ARM)
    assert (turn.polled_ns, turn.probed_before) == ((BUSY, BUSY, BUSY), MachineProbe(CALM, 400_000, 500_000))
    assert left_s < rounds.LEAST_CALM_S


def test_a_window_that_was_not_calm_is_taken_again_and_all_attempts_are_kept(tmp_path: Path) -> None:
    turns, _ = measured(tmp_path, states(script(CALM, BUSY, CALM, BUSY, CALM, CALM)), ARM)
    after = [turn.probed_after for turn in turns]
    assert [isinstance(each, MachineProbe) and each.arithmetic_ns for each in after] == [BUSY, BUSY, CALM]


def test_a_machine_that_stays_contended_costs_a_bounded_number_of_attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calm, "LONGEST_WAIT_S", 0.01)
    turns, _ = measured(tmp_path, states(script(always=BUSY)), ARM)
    assert len(turns) == ATTEMPTS
    assert all(turn.window is not None for turn in turns)


def disturbed_rounds(tmp_path: Path, where: MachineStates | Absent, monkeypatch: pytest.MonkeyPatch) -> list[RoundDone]:
    # A round is judged by a list of windows, a window by itself.
    monkeypatch.setattr(rounds, "reasons", lambda noises, _cpus: STEAL if isinstance(noises, list) and noises else ())
    measured(tmp_path, where, ARM, Pace(rounds=1, window_ns=1_000_000, min_calls=1, repeats=1))
    return [each for each in journal.read(tmp_path / "journal.jsonl") if isinstance(each, RoundDone)]


def test_a_round_whose_windows_were_taken_again_one_by_one_is_not_repeated_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calm, "LONGEST_WAIT_S", 0.0)
    (done,) = disturbed_rounds(tmp_path, states(script(always=BUSY)), monkeypatch)
    assert done.disturbed == STEAL


@pytest.mark.parametrize("probed", [True, False])
def test_a_round_is_repeated_whole_where_signals_of_its_calm_windows_together_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, probed: bool
) -> None:
    where = states(script()) if probed else calm.NO_CANARY
    assert len(disturbed_rounds(tmp_path, where, monkeypatch)) == 2


def test_where_repeating_was_in_vain_the_next_generation_repeats_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that is contended all the time is not measured eight times for nothing."""
    monkeypatch.setattr(calm, "LONGEST_WAIT_S", 0.0)
    monkeypatch.setattr(rounds, "VAIN_SHARE", 0.0)
    where = states(script(always=BUSY))
    taken = []
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        turns, _ = measured(tmp_path / str(number), where, ARM, Pace(2, window_ns=1_000_000, min_calls=1, repeats=0))
        taken.append(len(turns))
    assert taken == [2 * ATTEMPTS, 2, 2 * ATTEMPTS], "after a generation without repeats nothing is known of them"


def test_where_the_machine_is_contended_throughout_no_window_waits(tmp_path: Path) -> None:
    """Windows of all states are used then."""
    where = states(script(always=BUSY))
    for _ in range(4 * calm.FIRST_LOOK):
        where.probe()
    where.take()
    assert where.is_hardly_calm()
    (turn,), left_s = measured(tmp_path, where, ARM)
    assert turn.polled_ns == ()
    assert left_s == 0


def test_where_hardly_any_probe_is_calm_no_window_waits_for_what_an_earlier_run_knew(tmp_path: Path) -> None:
    earlier = states(script())
    for _ in range(calm.FIRST_LOOK):
        earlier.probe()
    assert earlier.close()
    where = states(itertools.repeat(BUSY))
    assert knowledge(known(where.levels)) == "two states seen"
    (turn,), _ = measured(tmp_path, where, ARM)
    assert turn.polled_ns == ()
    judged = known(where.judge(turn))
    assert judged.state == "contended", "it is judged by the lower mode all the same"
