"""One generation after the other: launch or reuse workers, verify, warm up, take turns; and the state between them."""

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from levelfield.machine import states as machine_states
from levelfield.machine.cpu import last_cache_bytes
from levelfield.machine.device_use import Device
from levelfield.machine.signals import Signals
from levelfield.plan.profiles import PROFILES
from levelfield.record import warnings as notices
from levelfield.record.bounds import SEED_BITS
from levelfield.record.journal import (
    GenerationBegun,
    GenerationDone,
    ImageKnown,
    Journal,
    LaunchDone,
    LevelsKnown,
    TimeSpent,
)
from levelfield.record.schema import Absent, Arm, Block, Case, Failure, Launch, Run, Warning_
from levelfield.record.states import probes_of
from levelfield.schedule import pacing
from levelfield.schedule.calm import ON_A_GPU, MachineStates
from levelfield.schedule.gpu_sharing import MemoryGroup, sharing_of
from levelfield.schedule.launches import bring_up, probe, rotate
from levelfield.schedule.listener import ProgressListener
from levelfield.schedule.outcomes import Outcome, end_workers
from levelfield.schedule.output_verification import verify_all_again
from levelfield.schedule.pacing import reusable_workers
from levelfield.schedule.preparation import canary_arm, canary_case
from levelfield.schedule.resources import RunResources
from levelfield.schedule.roofline import array_bytes
from levelfield.schedule.rounds import (
    BUDGET_SHARE,
    Pace,
    RoundScheduler,
    SupervisorClock,
    affordable,
    round_ns,
    warm_up,
)
from levelfield.schedule.training_verification import verify_trainings
from levelfield.schedule.whole_launch import OpenGeneration, cold_starts, peak_memory, trainings, work

GIVE_UP_AFTER = 2
"""Failures of an arm in one block after which it is not launched again there."""


TRAININGS_VERIFIED = 2
"""Launches of an arm whose training is compared with the reference: one that compiles, and one that loads what it kept.
Later ones load the same; to compare them too took an eighth of a default run, since steps of another batch compile."""


class Cost(msgspec.Struct, frozen=True):
    """What one arm of a block costs: a launch until it is warm, and a turn."""

    launch_s: float
    window_s: float


class Generations:
    """Measure one generation at a time, and own the workers that are kept from one case to the next."""

    def __init__(
        self,
        run: Run,
        resources: RunResources,
        journal: Journal,
        listener: ProgressListener,
        warn: Callable[[Warning_], None],
    ) -> None:
        self._resources = resources
        self._phase = resources.watch.phase
        self._journal = journal
        self._listener = listener
        self._warn = warn
        self._signals = Signals(resources.cpus)
        gpu = run.settings.gpu
        self._device = Device(gpu) if gpu is not None else None
        self._sharing = sharing_of(run, self._device)
        self._others: dict[str, int] = {}
        """The most processes of others that were on the GPU at a time, by id of the case."""
        self._profile = PROFILES[run.settings.profile]
        self._seed = run.settings.seed
        self._canary: Outcome | None = None
        self._states = MachineStates(
            machine_states.key_of(run.machine, resources.image(canary_arm()), len(resources.cpus)),
            array_bytes(last_cache_bytes(resources.cpus), resources.memory_bytes),
        )
        self._live: dict[str, Outcome] = {}
        self._known: set[str] = set()
        self._load_ns: dict[tuple[str, str], float] = {}
        self._failed: dict[tuple[str, str], int] = {}
        self.clock = SupervisorClock()
        self._open_ended = run.settings.ends_on_verdict or run.settings.precision_target is not None
        self._settings = run.settings
        self._planned = sum(block.planned_generations for block in run.blocks)
        budget_s = run.settings.budget_seconds
        self._generation_s = math.inf if budget_s is None else budget_s / max(self._planned, 1)
        """Share of the budget that each planned generation has."""
        self._trainings_verified: Counter[tuple[str, str]] = Counter()
        """By case and arm."""
        self._costs: dict[str, Cost] = {}
        """By case, as its last generation showed."""
        for block in run.blocks:
            for generation in block.generations:
                self._states.resume(generation.looked)
                self._states.resume(probes_of(turn for each in generation.rounds for turn in each.turns))
                for launch in generation.launches:
                    self._count_failure(block.case.id, launch.arm, launch.failure)
                for turn in (turn for each in generation.rounds for turn in each.turns):
                    self._count_failure(block.case.id, turn.arm, turn.failure)

    def answering(self, block: Block) -> list[Arm]:
        """Return the arms of a block but those that failed so often that they are not launched again there."""
        return [arm for arm in block.arms if self._failed.get((block.case.id, arm.id), 0) < GIVE_UP_AFTER]

    def begin(self) -> None:
        """Read what a GPU has free, before a launch group launches a worker."""
        self._sharing.read_free_memory()

    def close(self) -> None:
        """End every worker and free what was held; safe to call twice."""
        try:
            self.keep([])
            if self._canary is not None:
                end_workers([self._canary])
                self._canary = None
        finally:
            self._signals.close()
            if self._device is not None:
                self._device.close()
            self._states.close()

    def keep(self, outcomes: Iterable[Outcome]) -> None:
        """Keep these workers for the model's next case, and end the others."""
        kept = {outcome.arm.id: outcome for outcome in outcomes}
        workers = [outcome.worker for outcome in kept.values()]
        with self._phase("ending workers"):
            end_workers([outcome for outcome in self._live.values() if outcome.worker not in workers])
        self._live = kept

    def measure(self, block: Block, index: int, *, last: bool, closing: bool) -> None:
        """Measure one generation of a block. Its workers are kept until others are.

        Raises LevelfieldError: when the engine is gone, or two workers hold different weights or inputs.
        """
        case = block.case
        # Not drawn one after the other: a resumed run has to have the schedule that it would have had in one go.
        seed = random.Random(f"{self._seed}/{case.id}/{index}").getrandbits(SEED_BITS)  # noqa: S311  (a schedule)
        self._listener.generation(case.id, index, block.planned_generations)
        self._journal.write(GenerationBegun(case.id, index, seed))
        arms = self.answering(block)
        made = OpenGeneration(self._resources, block, index, seed, self._journal, self._signals, self._listener)
        if not arms:
            self._listener.progress("no backend is left that can answer", {})
        elif case.definition.sample == "cold start":
            keep_workers = not last and case.device == "cpu"  # a GPU's memory may not hold all
            with self._phase("cold starts"):
                self.keep(cold_starts(made, arms, keep_workers=keep_workers))
            self._learn(case)
        elif case.definition.sample == "peak memory":
            for group in self._groups(case, arms, seed):
                self.keep([])
                with self._phase("peak memory"):
                    self.keep(peak_memory(made, group, self._expected_ns(case, group)))
                self._learn(case)
                for outcome in self._live.values():
                    self._probe(outcome, if_image_unknown=True)
        elif case.converges:
            for group in self._groups(case, arms, seed):
                self.keep([])
                with self._phase("training to a target"):
                    self.keep(trainings(made, group))
                for outcome in self._live.values():
                    self._probe(outcome)
                    self._record_launch(case.id, index, outcome)
        elif (driver := self._resources.driver) is not None and case.definition.driven:
            for group in self._groups(case, arms, seed):
                self.keep(reusable_workers(group, self._live).values())
                with self._phase("LoadGen tests"):
                    outcomes = driver.measure(
                        self._resources,
                        block,
                        group,
                        index,
                        seed,
                        self._signals,
                        self._listener,
                        running=self._live,
                        profile=self._profile,
                        settings=self._settings,
                        planned=self._planned,
                    )
                self.keep(outcomes)
                for outcome in outcomes:
                    self._learn_cost(case, outcome.launch)
                    self._probe(outcome, if_image_unknown=bool(outcome.launch.served))
                if closing:
                    self._verify_again(case, outcomes)
                for outcome in outcomes:
                    self._record_launch(case.id, index, outcome)
        else:
            first_round = 0
            for group in self._groups(case, arms, seed):
                self.keep(reusable_workers(group, self._live).values())
                first_round = self._interleaved(block, group, index, seed, first_round, closing=closing)
        self._warn_of_xid_errors(case)
        self._journal.write(TimeSpent(self._resources.watch.take()))
        self._journal.write(GenerationDone(case.id, index))

    def _verify_trainings(self, case: Case, outcomes: Sequence[Outcome]) -> None:
        """Compare the trainings of arms that have fewer than `TRAININGS_VERIFIED` equal ones so far."""
        verified = self._trainings_verified
        todo = [each for each in outcomes if verified[case.id, each.arm.id] < TRAININGS_VERIFIED]
        verify_trainings(self._resources, case, todo)
        verified.update((case.id, each.arm.id) for each in todo if each.launch.parity and each.launch.parity.equal)

    def _interleaved(
        self, block: Block, arms: Sequence[Arm], index: int, seed: int, first_round: int, *, closing: bool
    ) -> int:
        """Measure a group of arms that take turns; return the index of the round after its last."""
        case = block.case
        began = time.monotonic()
        pace = Pace(
            rounds=self._profile.rounds,
            window_ns=self._profile.window_ns,
            min_calls=self._profile.min_calls,
            repeats=max(1, self._profile.rounds // 2),
        )
        with self._phase("loading"):
            outcomes = bring_up(
                self._resources,
                case,
                arms,
                verify=not case.trains,
                launch_measured=False,
                running=self._live,
                expected_ns=self._expected_ns(case, arms),
                seed=seed,
                listener=self._listener,
            )
        self.keep(outcomes)
        for outcome in outcomes:
            self._learn_cost(case, outcome.launch)
            if case.trains:
                with self._phase("warming up"):
                    work(outcome)
                if not outcome.launch.served:
                    # To compare, weights are copied out and another batch may be compiled: the peak is read before.
                    self._probe(outcome)
        if case.trains:
            with self._phase("verifying"):
                self._verify_trainings(case, outcomes)
        with self._phase("timed inputs"):
            rotate(self._resources, case, outcomes)
        with self._phase("warming up"):
            for outcome in outcomes:
                warm_up(outcome, pace, injecting=any(arm.inject for arm in arms))
        canary = self._live_canary(pace)
        turns = [*outcomes, canary]
        alone = len(block.arms) == 1 and self._settings.clock_seconds is not None  # a round costs no other arm's time
        if self._open_ended or alone:
            launch_s, window_s = (time.monotonic() - began) / len(outcomes), round_ns(turns, pace) / 1e9 / len(turns)
            cost = self._costs.get(case.id, Cost(launch_s, window_s))
            rounds = pacing.rounds_for(block, launch_s=cost.launch_s, window_s=cost.window_s)
            if index < block.planned_generations:
                rounds = pacing.rounds_within(
                    rounds,
                    seconds=(1 - BUDGET_SHARE) * self._generation_s,
                    launch_s=cost.launch_s * len(outcomes),
                    round_s=cost.window_s * len(turns),
                )
        else:
            rounds = affordable(turns, pace, self._profile.rounds_ns)
        pace = msgspec.structs.replace(pace, rounds=rounds)
        for outcome in (*outcomes, canary):
            self._record_launch(case.id, index, outcome)
        self._warn_of_xid_errors(case)  # what came while arms loaded is no window's
        on_cpu = case.device == "cpu"
        if on_cpu:
            with self._phase("waiting for calm"):
                self._states.use(canary)
        scheduler = RoundScheduler(
            outcomes={outcome.arm.id: outcome for outcome in (*outcomes, canary)},
            block=case.id,
            generation=index,
            seed=seed,
            signals=self._signals,
            journal=self._journal,
            clock=self.clock,
            listener=self._listener,
            states=self._states if on_cpu else ON_A_GPU,
            budget_s=self._generation_s,
            device=self._device if case.device != "cpu" else None,
            next_round=first_round,
            watch=self._resources.watch,
        )
        launched = time.monotonic()
        before = self._others_on_gpu(case, outcomes)
        with self._phase("around windows"):
            lost = scheduler.measure_rounds(pace)
        levels, looked = self._states.take() if on_cpu else (None, ())
        if levels is not None:
            self._journal.write(LevelsKnown(case.id, index, levels, looked))
        self._warn_of_others_on_gpu(case, (before, self._others_on_gpu(case, outcomes)))
        self._sharing.record_memory_use(case, scheduler.held_bytes)
        self._costs[case.id] = Cost(
            launch_s=(launched - began) / len(outcomes),
            window_s=(time.monotonic() - launched) / max(scheduler.windows, 1),
        )
        for turn in lost:
            self._count_failure(case.id, turn.arm, turn.failure)
        for outcome in outcomes:
            if not case.trains:
                self._probe(outcome, if_image_unknown=bool(outcome.launch.served))
        alive = [outcome for outcome in outcomes if outcome.worker is not None]
        if closing:
            self._verify_again(case, alive)
        for outcome in alive:
            self._count_failure(case.id, outcome.launch.arm, outcome.launch.failure)
        for outcome in outcomes:
            self._journal.write(LaunchDone(case.id, index, outcome.launch))
        return scheduler.next_round

    def _verify_again(self, case: Case, outcomes: Iterable[Outcome]) -> None:
        with self._phase("verifying"):
            verify_all_again(self._resources, case, [each for each in outcomes if each.worker is not None])

    def _learn(self, case: Case) -> None:
        """Count failures of the launches that were measured as a whole, and remember how long the others took."""
        for outcome in self._live.values():
            self._count_failure(case.id, outcome.arm.id, outcome.launch.failure)
            self._learn_cost(case, outcome.launch)

    def _learn_cost(self, case: Case, launch: Launch) -> None:
        """Remember how long a fresh launch took to load, so that the longest can begin first."""
        if launch.startup is not None and not launch.served:
            self._load_ns[case.model, launch.arm] = launch.startup.import_ns + launch.startup.load_ns

    def _expected_ns(self, case: Case, arms: Sequence[Arm]) -> dict[str, float]:
        return pacing.expected_loads_ns(self._load_ns, case.model, [arm.id for arm in arms])

    def _record_launch(self, block: str, index: int, outcome: Outcome) -> None:
        self._journal.write(LaunchDone(block, index, outcome.launch))
        self._count_failure(block, outcome.launch.arm, outcome.launch.failure)

    def _count_failure(self, block: str, arm: str, failure: Failure | None) -> None:
        """Count a failure: `unsupported` is permanent, so the arm is not retried; after any other it is, once."""
        if failure is not None and failure.kind == "out-of-memory":
            self._sharing.record_out_of_memory(block, arm)
        if failure is not None:
            permanent = failure.kind == "unsupported"
            self._failed[block, arm] = GIVE_UP_AFTER if permanent else self._failed.get((block, arm), 0) + 1

    def _probe(self, outcome: Outcome, *, if_image_unknown: bool = False) -> None:
        """Probe a worker after its rounds; the first of each image says what is installed there."""
        if outcome.worker is None:
            return
        image = self._resources.image(outcome.arm)
        known = image.tag in self._known
        if known and if_image_unknown:
            return
        with self._phase("probing"):
            probed = probe(outcome, installed=not known)
        if probed is None or known:
            return
        self._known.add(image.tag)
        held = probed.distributions or self._resources.held(outcome.arm)
        self._journal.write(ImageKnown(msgspec.structs.replace(image, distributions=held, python=probed.python)))

    def _live_canary(self, pace: Pace) -> Outcome:
        """Return the canary, launched once a run and again if it died."""
        if self._canary is None or self._canary.worker is None:
            case, arm = canary_case(len(self._resources.cpus)), canary_arm()
            with self._phase("loading"):
                self._canary = bring_up(self._resources, case, [arm], seed=self._seed)[0]
            with self._phase("warming up"):
                warm_up(self._canary, pace)
            self._probe(self._canary)
        return self._canary

    def _groups(self, case: Case, arms: Sequence[Arm], seed: int) -> list[MemoryGroup]:
        """Divide the arms of a generation so that the GPU's memory is enough; on the CPU all are one group."""
        found, warnings = self._sharing.divide(case, arms, seed)
        for warning in warnings:
            self._warn(warning)
        return found

    def _others_on_gpu(self, case: Case, outcomes: Sequence[Outcome]) -> dict[int, int]:
        """Return the processes on the GPU that are not of this run, and the bytes that each holds."""
        if self._device is None or case.device == "cpu":
            return {}
        own = {each.worker.pid for each in outcomes if each.worker is not None and each.worker.pid is not None}
        found = self._device.others(own)
        return {} if isinstance(found, Absent) else found

    def _warn_of_others_on_gpu(self, case: Case, seen: Sequence[Mapping[int, int]]) -> None:
        """Warn of them once a case, with the most that any generation saw."""
        most = max(seen, key=len)
        if len(most) > self._others.get(case.id, 0):
            self._others[case.id] = len(most)
            self._warn(notices.gpu_shared(case.id, len(most), sum(most.values())))

    def _warn_of_xid_errors(self, case: Case) -> None:
        """Warn of errors that NVIDIA's driver reported outside of windows: a turn's own are in its record."""
        codes = self._device.xid_errors() if self._device is not None and case.device != "cpu" else ()
        if codes and not isinstance(codes, Absent):
            self._warn(notices.gpu_xid(case.id, codes))
