"""A run from plan to record: prepare images and artifacts, then generation after generation, all in the journal."""

import math
import random
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from suite import pacing, warnings
from suite.alone import cold_starts, peak_memory, work
from suite.converging import trainings
from suite.launches import bring_up, probe
from suite.machine.device_use import Device
from suite.machine.signals import Signals
from suite.outcomes import Outcome, stop, utc_now
from suite.plan import ALONE
from suite.preparation import canary_arm, canary_case
from suite.profiles import PROFILES
from suite.records import journal as journals
from suite.records.files import JOURNAL
from suite.records.journal import (
    Finished,
    GenerationBegun,
    GenerationDone,
    ImageKnown,
    Journal,
    LaunchDone,
    Resumed,
    Warned,
)
from suite.records.schema import (
    Absent,
    Arm,
    Block,
    Case,
    Failure,
    Launch,
    Warning_,
)
from suite.rounds import Pace, SupervisorClock, Table, affordable, warm_up
from suite.sharing import Company, sharing_of
from suite.site import Site
from suite.sittings import Sitting, going_on, remaining
from suite.statistics.stopping import StopReason
from suite.verification import verify_trainings
from suite.watching import Watcher

GIVE_UP_AFTER = 2
"""Failures of an arm in one block after which it is not launched again there."""
SEED_BITS = 63


class _Cost(msgspec.Struct, frozen=True):
    """What one arm of a block costs: a launch until it is warm, and a turn."""

    launch_s: float
    window_s: float


class Bench:
    """One run in progress."""

    def __init__(self, folder: Path, site: Site, watcher: Watcher, *, resumed: bool = False) -> None:
        self._folder = folder
        self._run = journals.fold(journals.read(folder / JOURNAL))
        self._site = site
        self._watcher = watcher
        self._journal = Journal(folder / JOURNAL)
        self._signals = Signals(site.cpus)
        gpu = self._run.settings.gpu
        self._device = Device(gpu) if gpu is not None else None
        self._sharing = sharing_of(self._run, self._device)
        self._clock = SupervisorClock()
        self._canary: Outcome | None = None
        self._living: dict[str, Outcome] = {}
        self._known: set[str] = set()
        self._said: set[Warning_] = set()
        self._seconds: dict[str, float] = {}
        self._rounds: dict[str, int] = {}
        self._costs: dict[str, _Cost] = {}
        self._load_ns: dict[tuple[str, str], float] = {}
        self._profile = PROFILES[self._run.settings.profile]
        session = len(self._run.resumed) + resumed  # another order each time the run is taken up
        self._random = random.Random(f"{self._run.settings.seed}/{session}")  # noqa: S311  (a schedule)
        self._failed: dict[tuple[str, str], int] = {}
        self._begun = time.monotonic()
        for block in self._run.blocks:
            for generation in block.generations:
                for launch in generation.launches:
                    self._count_failure(block.case.id, launch.arm, launch.failure)
                for turn in (turn for each in generation.rounds for turn in each.turns):
                    self._count_failure(block.case.id, turn.arm, turn.failure)
        if resumed:
            self._journal.write(Resumed(utc_now()))

    def measure(self) -> None:
        """Take every planned generation that is not in the journal yet; stop early only where the budget is spent."""
        try:
            sittings = remaining(self._run.blocks)
            total, done = sum(map(len, sittings)), 0
            for number, sitting in enumerate(sittings):
                left = [each for later in sittings[number:] for each in later]
                if self._budget_spent(sitting, left):
                    break
                for _ in self._sit(sitting):
                    done += 1
                    self._watcher.done(done / total, self._left(left[1:]))
                    left = left[1:]
            else:
                self._until_precise()
            share: float | Absent = self._clock.share
            if not self._clock.elapsed_ns:
                share = Absent("no window was measured")
            self._journal.write(Finished(utc_now(), share))
        finally:
            self.close()

    def close(self) -> None:
        """End the canary and free what the run held; safe to call twice."""
        try:
            self._keep([])
            if self._canary is not None:
                stop([self._canary])
                self._canary = None
        finally:
            self._signals.close()
            if self._device is not None:
                self._device.close()
            self._journal.close()
            shutil.rmtree(self._site.caches, ignore_errors=True)

    def _sit(self, sitting: Sitting) -> Iterator[None]:
        """Measure a generation of each block of a sitting, with the same launches where they live on."""
        self._sharing.look()
        try:
            for block, index in sitting:
                began = time.monotonic()
                self._generation(block, index, last=(block, index) == sitting[-1])
                self._seconds[block.case.id] = time.monotonic() - began
                yield
        finally:
            self._keep([])

    def _until_precise(self) -> None:
        """Add generations to each block until its ratios are as precise as was asked, or the budget is spent."""
        target = self._run.settings.precision_target
        if target is None:
            return
        budget = self._run.settings.budget_seconds or self._profile.budget_seconds
        unfinished = [block.case.id for block in self._run.blocks if block.case.scenario not in ALONE]
        while unfinished:
            run = journals.fold(journals.read(self._folder / JOURNAL))
            for block in (block for block in run.blocks if block.case.id in unfinished):
                decision = pacing.finished(
                    block,
                    target=target,
                    spent_s=time.monotonic() - self._begun,
                    budget_s=budget,
                    generation_s=self._seconds.get(block.case.id, 0.0),
                )
                if decision.reason is None:
                    self._pace(block)
                    for _ in self._sit([(block, max(each.index for each in block.generations) + 1)]):
                        pass
                    continue
                unfinished.remove(block.case.id)
                if decision.reason is StopReason.BUDGET:
                    self._warn(warnings.precision_not_reached(decision.half_width or math.inf, target, block.case.id))

    def _pace(self, block: Block) -> None:
        """Give a block as many rounds a launch as its variance says they are worth."""
        cost = self._costs.get(block.case.id)
        if cost is not None:
            self._rounds[block.case.id] = pacing.rounds_for(
                block, launch_s=cost.launch_s, window_s=cost.window_s, otherwise=self._profile.rounds
            )

    def _budget_spent(self, sitting: Sitting, left: Sitting) -> bool:
        budget = self._run.settings.budget_seconds
        if budget is None:
            return False
        next_one = sum(self._seconds.get(block.case.id, 0.0) for block, _ in sitting)
        if time.monotonic() - self._begun + next_one <= budget:
            return False
        self._warn(warnings.budget_spent(budget, len(left)))
        return True

    def _left(self, todo: Sitting) -> float | None:
        known = list(self._seconds.values())
        if not known:
            return None
        return sum(self._seconds.get(block.case.id, sum(known) / len(known)) for block, _ in todo)

    def _keep(self, outcomes: Iterable[Outcome]) -> None:
        """Let these workers live on for the model's next case, and end the others."""
        kept = {outcome.arm.id: outcome for outcome in outcomes}
        workers = [outcome.worker for outcome in kept.values()]
        stop([outcome for outcome in self._living.values() if outcome.worker not in workers])
        self._living = kept

    def _generation(self, block: Block, index: int, *, last: bool) -> None:
        """Measure one generation; after the last of a sitting nobody has to live on."""
        case = block.case
        seed = self._random.getrandbits(SEED_BITS)
        self._watcher.generation(case.id, index, block.planned_generations)
        self._journal.write(GenerationBegun(case.id, index, seed))
        arms = [arm for arm in block.arms if self._failed.get((case.id, arm.id), 0) < GIVE_UP_AFTER]
        if not arms:
            self._watcher.progress("no backend is left that can answer", {})
        elif case.scenario == "cold-start":
            live_on = not last and case.device == "cpu"  # a GPU's memory may not hold all
            outcomes = cold_starts(self._site, block, arms, index, seed, self._journal, self._watcher, live_on=live_on)
            self._keep(outcomes)
            for outcome in outcomes:
                self._count_failure(case.id, outcome.arm.id, outcome.launch.failure)
                self._learn_cost(case, outcome.launch)
        elif case.scenario == "memory":
            for company in self._companies(case, arms, seed):
                self._keep([])
                outcomes = peak_memory(self._site, block, company, index, seed, self._journal, self._watcher)
                self._keep(outcomes)
                for outcome in outcomes:
                    self._count_failure(case.id, outcome.arm.id, outcome.launch.failure)
                    self._learn_cost(case, outcome.launch)
                    if self._site.image(outcome.arm).tag not in self._known:  # whoever goes on is not asked again
                        self._look_at(outcome)
        elif case.converges:
            for company in self._companies(case, arms, seed):
                self._keep([])
                self._keep(trainings(self._site, block, company, index, seed, self._signals, self._watcher))
                for outcome in self._living.values():
                    self._look_at(outcome)
                    self._note(case.id, index, outcome)
        else:
            first_round = 0
            for company in self._companies(case, arms, seed):
                self._keep(going_on(company, self._living).values())
                first_round = self._interleaved(block, company, index, seed, first_round)
        self._tell_xid_errors(case)
        self._journal.write(GenerationDone(case.id, index))

    def _interleaved(self, block: Block, arms: Sequence[Arm], index: int, seed: int, first_round: int) -> int:
        """Measure a company of arms that take turns; return the index of the round after its last."""
        case = block.case
        began = time.monotonic()
        pace = Pace(
            rounds=self._rounds.get(case.id, self._profile.rounds),
            window_ns=self._profile.window_ns,
            min_calls=self._profile.min_calls,
            repeats=max(1, self._profile.rounds // 2),
        )
        expected_ns = {
            arm.id: self._load_ns[case.model, arm.id] for arm in arms if (case.model, arm.id) in self._load_ns
        }
        outcomes = bring_up(
            self._site, case, arms, verify=not case.trains, alone=False, living=self._living, expected_ns=expected_ns
        )
        self._keep(outcomes)
        for outcome in outcomes:
            self._learn_cost(case, outcome.launch)
            if case.trains:
                work(outcome)
                if not outcome.launch.served:
                    # To compare, weights are copied out and another batch may be compiled: the peak is read before.
                    self._look_at(outcome)
        if case.trains:
            verify_trainings(self._site, case, outcomes)
        for outcome in outcomes:
            warm_up(outcome, pace, answers_count=not any(arm.inject for arm in arms))
        canary = self._living_canary(pace)
        if case.id not in self._rounds:
            fitting = affordable([*outcomes, canary], pace, self._profile.rounds_ns)
            pace = msgspec.structs.replace(pace, rounds=fitting)
        for outcome in (*outcomes, canary):
            self._note(case.id, index, outcome)
        self._tell_xid_errors(case)  # what came while arms loaded is no window's
        table = Table(
            [*outcomes, canary],
            block=case.id,
            generation=index,
            seed=seed,
            signals=self._signals,
            journal=self._journal,
            clock=self._clock,
            watcher=self._watcher,
            device=self._device if case.device != "cpu" else None,
            first_round=first_round,
        )
        launched = time.monotonic()
        lost = table.play(pace)
        self._sharing.saw(case, table.held_bytes)
        self._costs[case.id] = _Cost(
            launch_s=(launched - began) / len(outcomes),
            window_s=(time.monotonic() - launched) / max(table.windows, 1),
        )
        for turn in lost:
            self._count_failure(case.id, turn.arm, turn.failure)
        for outcome in outcomes:
            if not outcome.launch.served and not case.trains:
                self._look_at(outcome)
            self._journal.write(LaunchDone(case.id, index, outcome.launch))
        return table.next_round

    def _learn_cost(self, case: Case, launch: Launch) -> None:
        """Remember how long a fresh launch took to load, so that the longest can begin first."""
        if launch.startup is not None and not launch.served:
            self._load_ns[case.model, launch.arm] = launch.startup.import_ns + launch.startup.load_ns

    def _note(self, block: str, index: int, outcome: Outcome) -> None:
        self._journal.write(LaunchDone(block, index, outcome.launch))
        self._count_failure(block, outcome.launch.arm, outcome.launch.failure)

    def _count_failure(self, block: str, arm: str, failure: Failure | None) -> None:
        """What a backend cannot do, it will not learn; anything else is tried a second time."""
        if failure is not None and failure.kind == "out-of-memory":
            self._sharing.ran_out(block, arm)
        if failure is not None:
            learned = failure.kind != "unsupported"
            self._failed[block, arm] = self._failed.get((block, arm), 0) + 1 if learned else GIVE_UP_AFTER

    def _look_at(self, outcome: Outcome) -> None:
        """Probe a worker after its rounds, if it is there; the first of each image says what is installed there."""
        if outcome.worker is None:
            return
        image = self._site.image(outcome.arm)
        known = image.tag in self._known
        probed = probe(outcome, installed=not known)
        if probed is None or known:
            return
        self._known.add(image.tag)
        self._journal.write(
            ImageKnown(msgspec.structs.replace(image, distributions=probed.distributions, python=probed.python))
        )

    def _living_canary(self, pace: Pace) -> Outcome:
        """Return the canary, launched once a run and again if it died."""
        if self._canary is None or self._canary.worker is None:
            self._canary = bring_up(self._site, canary_case(len(self._site.cpus)), [canary_arm()])[0]
            warm_up(self._canary, pace)
            self._look_at(self._canary)
        return self._canary

    def _companies(self, case: Case, arms: Sequence[Arm], seed: int) -> list[Company]:
        """Divide the arms of a generation so that the GPU's memory is enough; on the CPU all are one company."""
        found, said = self._sharing.divide(case, arms, seed)
        for warning in said:
            self._warn(warning)
        return found

    def _tell_xid_errors(self, case: Case) -> None:
        """Warn of errors that NVIDIA's driver reported outside of windows: a turn's own are in its record."""
        codes = self._device.xid_errors() if self._device is not None and case.device != "cpu" else ()
        if codes and not isinstance(codes, Absent):
            self._warn(warnings.gpu_xid(codes, case.id))

    def _warn(self, warning: Warning_) -> None:
        if warning not in self._said:
            self._said.add(warning)
            self._journal.write(Warned(warning))
            self._watcher.warn(warning)
