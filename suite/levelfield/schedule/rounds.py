"""The schedule of one generation: warm up, then rounds in which every live arm takes one window, in random order.

A window begins when all workers have stopped computing: threads of a framework may spin after its last call. The
supervisor sleeps while a window is measured. Around each window it reads what the machine did; a round that was
disturbed, by those outside signals alone, is repeated whole and kept.

Where the canary's process can probe the machine, a window waits until it is calm, for a while. One that was not calm
from before to after is taken again in the same round, and kept: what decides is the probes, never the window's times.
What waiting and repeating may take has a limit for each window and one for each generation, so that an arm whose
windows last longer than a calm spell is measured all the same.
"""

import math
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from levelfield.launchers.worker import WorkerError
from levelfield.machine.device_use import Device, Reading
from levelfield.machine.disturbance import reasons
from levelfield.machine.quiet import wait_until_idle
from levelfield.machine.signals import Signals, difference
from levelfield.plan import CANARY
from levelfield.record.bounds import SAMPLES_KEPT
from levelfield.record.disturbance import Disturbed, sentence
from levelfield.record.files import MAX_ATTEMPTS
from levelfield.record.journal import Journal, RoundDone, TurnTaken
from levelfield.record.schema import Absent, DeviceUse, IdleWait, Launch, MachineProbe, Noise, Turn, Window
from levelfield.record.states import Judgement
from levelfield.schedule.calm import NO_CANARY, MachineStates
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import Outcome, end_workers, fail, failure
from levelfield.schedule.resources import Stopwatch
from levelfield.worker.messages import Measure, Measured

WARMUP_WINDOWS = 4
"""Most windows an arm may take before the first round."""
WARMUP_NS = 500_000_000
"""No further warm-up window begins after this long: whether a launch settled is judged from all its windows later."""
FEWEST_ROUNDS = 2
"""A launch must show its own spread between windows."""
TELLING = 8
"""Calls in a window from which its two halves can be compared."""
WARMUP_AGREE = 0.03
"""Warm-up goes on until the two halves of a window agree within this share of their median."""
INJECTION_CALLS = 11
"""Calls of the window that tells what a share of a launch's median is. The windows before it warm up, and are no
measure: in them ResNet-50's calls took up to 1.9 times as long as later on."""
WARM_CALLS = 1
WARM_NS = 5_000_000
"""Unrecorded calls before a window: at least so many, and for at least this long. All workers have stopped computing by
then (`machine.quiet`), so these calls only warm the caches and wake the arm's own threads."""
REWARM_NS = 40_000_000
"""The same where some worker's CPU clock cannot be read, so that it is not known when it stops: ONNX Runtime's threads
spin for 38 ms of CPU time after a call of ResNet-50 on two cores, OpenMP's for 4 to 7 ms."""
SETTLED_NS = 20_000_000
"""A guess of the wait before a window, for what a round takes: 3 ms after most frameworks, 40 ms after ONNX Runtime."""
SLACK_S = 60.0
"""Added to every time limit."""
ATTEMPTS = MAX_ATTEMPTS
"""How often one window is taken at the most, until the machine is calm in it."""
LONGEST_WINDOW_S = 6.0
"""After so long, its attempts and waits together, a window is not taken again."""
CALM_SHARE = 1.0
"""What waits and repeated windows of a generation may take, as a share of what its rounds are expected to take."""
VAIN_SHARE = 0.2
"""The same after a generation in which repeating was in vain, as on a machine that is contended all the time."""
BUDGET_SHARE = 0.25
"""The most of a generation's share of the budget that waits and repeated windows take."""
LEAST_CALM_S = 3.0
"""The same where the rounds are shorter than that: one state of the machine lasts for a second or so."""
PROBES_NS = 8_000_000
"""A guess of both probes around a window, for what a round takes."""


class Pace(msgspec.Struct, frozen=True):
    """How much a generation measures."""

    rounds: int
    window_ns: int
    min_calls: int
    repeats: int
    """Disturbed rounds that may be repeated."""


class SupervisorClock:
    """The supervisor's own CPU time during windows, summed over a run."""

    def __init__(self) -> None:
        self.cpu_ns = 0
        self.elapsed_ns = 0

    def add(self, noise: Noise) -> None:
        self.cpu_ns += noise.supervisor_ns
        self.elapsed_ns += noise.elapsed_ns

    @property
    def share(self) -> float:
        return self.cpu_ns / self.elapsed_ns if self.elapsed_ns else 0.0


def order(names: Sequence[str], seed: int, round_index: int) -> list[str]:
    """Return the order of turns in a round: a function of the seed alone, so that it can be checked.

    `round_index`: of the round, from 0.
    """
    shuffled = sorted(names)
    random.Random(f"{seed}/{round_index}").shuffle(shuffled)  # noqa: S311  (a schedule, not a secret)
    return shuffled


def warm_up(outcome: Outcome, pace: Pace, *, injecting: bool = False) -> None:
    """Run an arm until a window's two halves agree, `WARMUP_WINDOWS` at the most; keep every sample.

    The calls of its verification are the window where the model is so slow that they took a window's time.

    `injecting`: whether calls of this block will be made longer by a share of themselves. Then every arm of it takes
    one more, longer window: the share is one of that window's median, and all have the same past.
    """
    if outcome.worker is None:
        return
    answered = outcome.answered
    if not injecting and answered is not None and _long(outcome, answered) >= pace.window_ns:
        outcome.note(warmup=(answered,))
        return
    windows: list[Window] = []
    try:
        for _ in range(WARMUP_WINDOWS):
            windows.append(_ask(outcome, pace, _guess_ns(outcome, windows), 0, warm_ns=0, warm_calls=0)[0])
            if _halves_agree(windows[-1]) or sum(window.window_ns for window in windows) > WARMUP_NS:
                break
        if injecting:
            longer = msgspec.structs.replace(pace, min_calls=max(pace.min_calls, INJECTION_CALLS))
            windows.append(_ask(outcome, longer, _guess_ns(outcome, windows), 0)[0])
    except WorkerError as error:
        fail(outcome, "measure", error)
    outcome.note(warmup=tuple(windows))


def _long(outcome: Outcome, answered: Window) -> int:
    """Return how long a verification's calls took; on a GPU without the first.

    There a first call makes CUDA ready and tries algorithms, for seconds where the others take milliseconds.
    """
    return sum(answered.samples_ns[0 if outcome.case.device == "cpu" else 1 :])


def affordable(outcomes: Sequence[Outcome], pace: Pace, rounds_ns: int) -> int:
    """Return how many rounds fit into `rounds_ns` (nanoseconds), by the calls of the arms' warm-up."""
    expected_ns = round_ns(outcomes, pace)
    return min(pace.rounds, max(FEWEST_ROUNDS, int(rounds_ns / expected_ns))) if expected_ns else pace.rounds


def round_ns(outcomes: Sequence[Outcome], pace: Pace) -> float:
    """Return how long one round takes, by the calls of the arms' warm-up, in nanoseconds; 0 where no worker is left."""
    calls_ns = [_guess_ns(outcome, outcome.launch.warmup) for outcome in outcomes if outcome.worker is not None]
    return sum(
        max(pace.window_ns, pace.min_calls * call) + _warm_ns(call) + SETTLED_NS + PROBES_NS for call in calls_ns
    )


def injected_ns(inject: str, launch: Launch) -> int:
    """Return how much longer each call of an arm is made, in nanoseconds.

    `inject`: `5%`: of the launch's own median before the injection; `0.001`: seconds; empty: nothing.
    """
    if not inject or not launch.warmup:
        return 0
    if inject.endswith("%"):
        return round(float(inject[:-1]) / 100 * statistics.median(launch.warmup[-1].samples_ns))
    return round(float(inject) * 1e9)


def _halves_agree(window: Window) -> bool:
    """Few calls tell nothing, and are slow ones: those of the verification have warmed them up."""
    half = len(window.samples_ns) // 2
    if 2 * half < TELLING:
        return True
    first, second = statistics.median(window.samples_ns[:half]), statistics.median(window.samples_ns[-half:])
    return abs(first - second) <= WARMUP_AGREE * max(first, second)


def _guess_ns(outcome: Outcome, windows: Sequence[Window]) -> float:
    if windows:
        return statistics.median(windows[-1].samples_ns)
    first_call_ns = outcome.launch.startup.first_call_ns if outcome.launch.startup else 0
    return 0 if isinstance(first_call_ns, Absent) else first_call_ns


def _warm_ns(call_ns: float) -> float:
    """Return how long the unrecorded calls before a window take."""
    return max(WARM_NS, WARM_CALLS * call_ns)


def _ask(
    outcome: Outcome,
    pace: Pace,
    call_ns: float,
    inject_ns: int,
    *,
    warm_ns: int = WARM_NS,
    warm_calls: int = WARM_CALLS,
) -> tuple[Window, int]:
    """Take one window of a worker; return also the supervisor's CPU time when it fell asleep; raises `WorkerError`."""
    if outcome.worker is None:
        raise WorkerError("crashed", f"{outcome.arm.id} is not there any more.")
    expected_s = (max(pace.window_ns, pace.min_calls * call_ns) + warm_ns + (warm_calls + 1) * call_ns) / 1e9
    measured, asleep_ns = outcome.worker.ask_asleep(
        Measure(
            window_ns=pace.window_ns,
            min_calls=pace.min_calls,
            rewarm_ns=warm_ns,
            rewarm_calls=warm_calls,
            inject_ns=inject_ns,
        ),
        Measured,
        SLACK_S + 20 * expected_s,
    )
    return keep_evenly(measured.window), asleep_ns


def keep_evenly(window: Window) -> Window:
    """Keep an even share of a window's samples, in order, where there are more than `SAMPLES_KEPT`."""
    size = len(window.samples_ns)
    if size <= SAMPLES_KEPT:
        return window
    kept = tuple(window.samples_ns[index * size // SAMPLES_KEPT] for index in range(SAMPLES_KEPT))
    return msgspec.structs.replace(window, samples_ns=kept, calls_not_kept=size - SAMPLES_KEPT)


@dataclass(kw_only=True)
class RoundScheduler:
    """The live arms of one generation, around which the turns go."""

    outcomes: Mapping[str, Outcome]
    """By id of the arm."""
    block: str
    generation: int
    seed: int
    signals: Signals
    journal: Journal
    clock: SupervisorClock
    listener: ProgressListener
    states: MachineStates | Absent = NO_CANARY
    """What probes the machine around windows; absent with the reason where nothing does."""
    budget_s: float = math.inf
    """Share of the run's budget that this generation has; infinite: there is no budget."""
    device: Device | None = None
    next_round: int = 0
    """Index of the round that comes next; a generation may be measured in several groups, one after the other."""
    watch: Stopwatch = field(default_factory=Stopwatch)
    """Of the run's time."""

    def __post_init__(self) -> None:
        self._inject_ns = {arm: injected_ns(each.arm.inject, each.launch) for arm, each in self.outcomes.items()}
        self._medians: dict[str, list[float]] = {}
        self._lost: list[Turn] = []
        self.held_bytes: dict[str, int] = {}
        """The most that each arm's process was seen to hold of the GPU's memory."""
        self._calm_s = 0.0
        """What waits and repeated windows may still take."""

    def measure_rounds(self, pace: Pace) -> list[Turn]:
        """Take all rounds, repeating disturbed ones as often as the pace allows; return the turns that failed."""
        expected_s = pace.rounds * round_ns(list(self.outcomes.values()), pace) / 1e9
        vain = not isinstance(self.states, Absent) and self.states.repeating_was_in_vain()
        wanted_s = VAIN_SHARE * expected_s if vain else max(LEAST_CALM_S, CALM_SHARE * expected_s)
        if not isinstance(self.states, Absent) and self.states.is_hardly_calm():
            wanted_s = 0.0
        self._calm_s = min(wanted_s, BUDGET_SHARE * self.budget_s)
        done = 0
        spare = pace.repeats
        repeats = 0
        while done < pace.rounds and self._live():
            index, self.next_round = self.next_round, self.next_round + 1
            disturbed, worth_repeating = self._round(index, pace)
            again = worth_repeating and spare > 0
            self.journal.write(RoundDone(self.block, self.generation, index, disturbed=disturbed, repeats=repeats))
            if again:
                spare -= 1
                repeats += 1
            else:
                done += 1
                repeats = 0
            self.listener.progress(
                f"round {done} of {pace.rounds}" + (f", repeated: {sentence(disturbed)}" if again else ""),
                {arm: statistics.median(medians) for arm, medians in self._medians.items()},
            )
        return self._lost

    @property
    def windows(self) -> int:
        return sum(map(len, self._medians.values()))

    def _live(self) -> dict[str, int]:
        """Return the process ids of the workers that are alive, by arm; 0 where the host cannot see them."""
        return {arm: each.worker.pid or 0 for arm, each in self.outcomes.items() if each.worker is not None}

    def _round(self, index: int, pace: Pace) -> tuple[Disturbed, bool]:
        """Take a round; return why it is called disturbed, and whether to repeat it whole may help.

        Of windows that were judged one by one, those that are calm are judged together once more, since the counters of
        a single one are coarse. Where none is calm they have been taken again already.
        """
        taken: list[tuple[Turn, Judgement | None]] = []
        for arm in order(list(self._live()), self.seed, index):
            turn, judged = self._take(self.outcomes[arm], index, pace)
            taken.append((turn, judged))
            if turn.failure is not None:
                self._lost.append(turn)
        noises = [turn.noise for turn, _ in taken if turn.noise is not None]
        calm = [turn.noise for turn, judged in taken if turn.noise and (judged is None or judged.state == "calm")]
        disturbed = reasons(calm or noises, len(self.signals.cpus))
        return disturbed, bool(disturbed and calm)

    def _take(self, outcome: Outcome, index: int, pace: Pace) -> tuple[Turn, Judgement | None]:
        """Take an arm's window until the machine is calm in it, as long as that is allowed; return the last attempt."""
        began = time.monotonic()
        for attempt in range(ATTEMPTS):
            again = time.monotonic()
            turn = self._turn(outcome, pace)
            self.journal.write(TurnTaken(self.block, self.generation, index, turn))
            judged = None if isinstance(self.states, Absent) else self.states.judge(turn)
            if attempt and judged is not None and not isinstance(self.states, Absent):
                self._calm_s -= time.monotonic() - again
                self.states.count_repeat(judged)
            # The canary shows the machine as it is: what it sees when contended is not taken again.
            if judged is None or judged.state == "calm" or outcome.arm.id == CANARY:
                break
            if self._calm_s <= 0 or time.monotonic() - began > LONGEST_WINDOW_S:
                break
        return turn, judged

    def _probe_before(self, arm: str) -> tuple[MachineProbe | Absent, tuple[int, ...]]:
        """Probe the machine, and wait until it is calm as long as that is allowed."""
        if isinstance(self.states, Absent):
            return self.states, ()
        began = time.monotonic()
        with self.watch.phase("waiting for calm"):
            found, polled = self.states.await_calm(0.0 if arm == CANARY else self._calm_s)
        if polled:
            self._calm_s -= time.monotonic() - began
        return found, polled

    def _probe_after(self) -> tuple[MachineProbe | Absent, IdleWait | None]:
        """Probe the machine when the arm's threads have stopped too: what they take is not the machine's state."""
        if isinstance(self.states, Absent):
            return self.states, None
        with self.watch.phase("waiting"):
            settled = wait_until_idle(self._live())
            if settled.unseen:
                time.sleep(
                    REWARM_NS / 1e9
                )  # nobody sees when the arm's threads stop: as long as they are known to spin
        with self.watch.phase("waiting for calm"):
            return self.states.probe(), settled

    def _turn(self, outcome: Outcome, pace: Pace) -> Turn:
        arm = outcome.launch.arm
        guess_ns = statistics.median(self._medians[arm]) if arm in self._medians else _guess_ns(outcome, ())
        with self.watch.phase("waiting"):
            settling = wait_until_idle(self._live())
        probed_before, polled_ns = self._probe_before(arm)
        pids = {name: pid for name, pid in self._live().items() if pid}
        device_before = self.device.read() if self.device is not None else None
        before = self.signals.snapshot(pids)
        woken_ns = time.process_time_ns()
        try:
            warm_ns = REWARM_NS if settling.unseen else WARM_NS
            with self.watch.phase("canary windows" if arm == CANARY else "windows"):
                window, asleep_ns = _ask(outcome, pace, guess_ns, self._inject_ns[arm], warm_ns=warm_ns)
        except WorkerError as error:
            end_workers([outcome])  # after a failed window its state is unknown
            used = self._used(device_before, pids, arm)  # what the GPU reports may say why
            return Turn(arm=arm, window=None, failure=failure("measure", error), device=used, settling=settling)
        # To read the counters and the answer costs more than to wait, and falls into no window.
        noise = difference(before, self.signals.snapshot(pids), arm)
        noise = msgspec.structs.replace(noise, supervisor_ns=asleep_ns - woken_ns)
        self.clock.add(noise)
        self._medians.setdefault(arm, []).append(statistics.median(window.samples_ns))
        used = self._used(device_before, pids, arm)
        probed_after, settled = self._probe_after()
        return Turn(
            arm=arm,
            window=window,
            noise=noise,
            device=used,
            settling=settling,
            settled=settled,
            probed_before=probed_before,
            probed_after=probed_after,
            polled_ns=polled_ns,
            outside=() if isinstance(self.states, Absent) else reasons((noise,), len(self.signals.cpus)),
        )

    def _used(self, before: Reading | None, pids: dict[str, int], arm: str) -> DeviceUse | None:
        if self.device is None or before is None:
            return None
        used = self.device.use(before, pids, arm)
        if not isinstance(used.memory_bytes, Absent):
            self.held_bytes[arm] = max(used.memory_bytes, self.held_bytes.get(arm, 0))
        return used
