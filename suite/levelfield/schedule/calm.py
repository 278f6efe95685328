"""The state of the machine during a run: probed in the canary's process, while all workers rest, and waited for."""

import time
from collections.abc import Iterable
from typing import TypeVar

from levelfield.errors import LevelfieldError
from levelfield.launchers.worker import WorkerError
from levelfield.machine import states
from levelfield.record.schema import Absent, MachineLevels, MachineProbe, Turn
from levelfield.record.states import Judgement, excess, is_calm, judge, knowledge, levels
from levelfield.schedule.outcomes import Outcome, end_workers
from levelfield.worker.messages import Polled, PollMachine, ProbeMachine

_T = TypeVar("_T", MachineProbe, Polled)

TIMEOUT_S = 60.0
FIRST_LOOK = 60
"""Probes before a run's first round, so that its first windows are judged too: with pauses, a second."""
PAUSE_S = 0.01
"""Between two probes of the first look, or while a window waits: a state lasts for a second or so."""
LONGEST_WAIT_S = 1.5
"""The longest wait of one window for the machine to be calm."""

RECENT, HARDLY = 240, 0.05
"""Of so many probes, the share of calm ones below which no window waits: in a run with 0.2 %, waits took 82 of 540 s
in vain."""
FEWEST_REPEATS = 8
LEAST_GAIN = 0.1
"""Share of at least so many repeated windows that must have been calm for repeating to be worth its time."""

ON_A_GPU = Absent("the arms compute on a GPU, and the probe is of the CPUs")
NO_CANARY = Absent("the canary, whose process probes the machine, is not there")


class MachineStates:
    """Probes of one run, and what follows from them; a machine's levels are kept under its name for later runs."""

    def __init__(self, machine: str, buffer_bytes: int) -> None:
        self._machine = machine
        self._buffer_bytes = buffer_bytes
        self._kept = states.load(machine)
        self._probes: list[MachineProbe] = []
        self._looked: list[MachineProbe] = []
        self._repeats: list[bool] = []
        """Of the last generation's windows that were taken again, whether each was calm then."""
        self._canary: Outcome | None = None
        self._lost: Absent | None = None
        self.levels: MachineLevels | None = None
        """Low modes of all probes until the last generation's end; None: there are too few."""

    def use(self, canary: Outcome) -> None:
        """Probe in this canary's process from now on; a run begins with a look at the machine."""
        self._canary, self._lost = canary, None
        if not self._probes:
            for _ in range(FIRST_LOOK):
                found = self.probe()
                if isinstance(found, Absent):
                    return
                self._looked.append(found)
                time.sleep(PAUSE_S)
            self._learn()

    def resume(self, probes: Iterable[MachineProbe]) -> None:
        """Take the probes that an earlier part of the run had made."""
        self._probes += probes
        self._learn()

    def probe(self) -> MachineProbe | Absent:
        """Return how long the fixed work takes now, all parts; absent with the reason where it cannot be done."""
        found = self._ask(ProbeMachine(self._buffer_bytes), MachineProbe)
        if not isinstance(found, Absent):
            self._probes.append(found)
        return found

    def await_calm(self, limit_s: float) -> tuple[MachineProbe | Absent, tuple[int, ...]]:
        """Wait until the machine is calm, or the limit is reached.

        `limit_s`: the longest wait in seconds, `LONGEST_WAIT_S` at the most; 0: it is probed and not waited for.
        """
        end = time.monotonic() + min(limit_s, LONGEST_WAIT_S)
        polled: list[int] = []
        while True:
            found = self.probe()
            if isinstance(found, Absent) or self.levels is None or not excess(found, self.levels):
                return found, tuple(polled)
            if time.monotonic() >= end:
                return found, tuple(polled)
            polled.append(found.arithmetic_ns)
            while time.monotonic() < end:
                time.sleep(PAUSE_S)
                alone = self._ask(PollMachine(), Polled)
                if isinstance(alone, Absent) or is_calm(alone.arithmetic_ns, self.levels):
                    break
                polled.append(alone.arithmetic_ns)

    def judge(self, turn: Turn) -> Judgement | None:
        """Return the state of a window by what is known now; None where it is not known."""
        return judge(turn, self.levels)

    def count_repeat(self, judged: Judgement) -> None:
        """Count a window that was taken again, and whether that was of use."""
        self._repeats.append(judged.state == "calm")

    def is_hardly_calm(self) -> bool:
        """Return whether so few probes were calm that no window is worth a wait.

        An earlier run may know a lower mode that this one hardly sees; windows are judged by it all the same.
        """
        if self.levels is None or knowledge(self.levels) == "contended throughout":
            return self.levels is not None
        recent = self._probes[-RECENT:]
        calm = sum(not excess(probe, self.levels) for probe in recent)
        return len(recent) >= FIRST_LOOK and calm < HARDLY * len(recent)

    def repeating_was_in_vain(self) -> bool:
        """Return whether hardly any window of the last generation was calm when it was taken again; forget it."""
        found, self._repeats = self._repeats, []
        return len(found) >= FEWEST_REPEATS and sum(found) < LEAST_GAIN * len(found)

    def take(self) -> tuple[MachineLevels | None, tuple[MachineProbe, ...]]:
        """Return the levels of all probes until now, by which windows are judged from here on, and the first look."""
        self._learn()
        looked, self._looked = tuple(self._looked), []
        return self.levels, looked

    def close(self) -> bool:
        """Keep what this run saw for the next ones; return whether there was something to keep. Safe to call twice."""
        probes, self._probes = self._probes, []
        try:
            return states.keep(self._machine, levels(probes))
        except (OSError, LevelfieldError):  # a full disk costs the next run its start alone
            return False

    def _learn(self) -> None:
        self.levels = levels(self._probes, self._kept)

    def _ask(self, request: ProbeMachine | PollMachine, kind: type[_T]) -> _T | Absent:
        if self._lost is not None:
            return self._lost
        if self._canary is None or self._canary.worker is None:
            return NO_CANARY
        try:
            return self._canary.worker.ask(request, kind, TIMEOUT_S)
        except WorkerError as error:
            if error.gone:
                end_workers([self._canary])
            self._lost = Absent(f"the canary's process could not probe the machine: {error.message}")
            return self._lost
