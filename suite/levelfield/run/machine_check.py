"""`levelfield doctor --measure`: the states of this machine, and the smallest difference that six minutes decide here.

For a part of the time the machine is probed every few milliseconds, which shows its levels and how long they last. For
the rest, identical NumPy programs are compared by the schedule and the rules of `bench`, which shows how far they
scatter. What is seen is kept for later runs (`machine.states`).
"""

import itertools
import time
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from levelfield.analysis import estimates, launch_levels
from levelfield.analysis.types import Estimate
from levelfield.errors import LevelfieldError
from levelfield.launchers.protocol import READY_TIMEOUT_S, Launcher, LaunchSpec
from levelfield.machine import states, topology
from levelfield.machine.cpu import last_cache_bytes
from levelfield.machine.fingerprint import fingerprint
from levelfield.paths import temporary_folder
from levelfield.plan import CANARY, Plan
from levelfield.plan.cpu_pinning import counts, pool
from levelfield.plan.profiles import STANDARD
from levelfield.record import journal
from levelfield.record.files import JOURNAL
from levelfield.record.schema import Absent, Arm, Block, Launch, MachineLevels, MachineProbe, Run
from levelfield.record.states import CALM_ARITHMETIC, LEAST_SHARE, Knowledge, excess, knowledge
from levelfield.report import units
from levelfield.run.options import Options
from levelfield.run.start import start_run
from levelfield.schedule.calm import MachineStates
from levelfield.schedule.listener import ProgressListener, Repeating
from levelfield.schedule.outcomes import Outcome, utc_now
from levelfield.schedule.preparation import canary_arm, canary_case, prepare
from levelfield.schedule.resources import RunResources, remove_caches
from levelfield.schedule.roofline import array_bytes
from levelfield.schedule.run import RunInProgress
from levelfield.statistics.arrays import InsufficientData
from levelfield.statistics.power import Design, VarianceSplit, minimum_detectable_effect, split_variance
from levelfield.statistics.student import MIN_LAUNCHES, EndedBy

PROBING_SHARE = 0.3
"""Of the time."""
PAUSE_S = 0.03
"""Between two probes: states last for a second or so, and a CPU that always computes would be another machine."""
DECIDED_S = 360.0
"""Of the run whose smallest difference is told."""
ARMS = (Arm(CANARY, CANARY, ordinal=2), Arm(CANARY, CANARY, ordinal=3))
"""Identical programs; the first one is the canary itself."""
LEAST_GENERATIONS = MIN_LAUNCHES
"""More follow while there is time."""


class MachineMeasured(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about the states of a machine."""

    probes: int
    seconds: float
    """Of probing alone."""
    levels: MachineLevels
    knowledge: Knowledge
    calm_share: float
    """Of the time of probing."""
    calm_s: float | None
    """Mean length of a calm spell; None: none began and ended."""
    contended_s: float | None
    contended_arithmetic: float | None
    """Median arithmetic of the probes that were not calm, over the low mode; None: all were."""
    kept: bool
    """Whether later runs on this machine know its low mode from this measurement."""
    launches: int
    """Of each of two identical programs, in the comparison."""
    ratio: Estimate | None
    """Of the two, where the truth is 1; None: there are no launches of both."""
    split: VarianceSplit | None
    """None: launches are too few."""
    smallest: float | None
    """Slowdown that six minutes of two such programs find in 95 % of cases at 95 % confidence."""
    smallest_launches: int
    """Launches of each that these six minutes have."""


def measure(launcher: Launcher, listener: ProgressListener, seconds: float) -> MachineMeasured:
    """Measure this machine.

    Raises LevelfieldError: the canary cannot be launched, or cannot probe the machine.
    """
    launcher.sweep()
    plan = _plan()
    resources = prepare(plan, launcher, listener)
    try:
        listener.say(f"probing the machine for {PROBING_SHARE * seconds:.0f} s")
        moments, known, kept = _probe(resources, PROBING_SHARE * seconds)
        # Notices of a run would speak of options of `bench`.
        with Repeating(listener) as steps:
            steps.say(f"comparing identical programs for {(1 - PROBING_SHARE) * seconds:.0f} s")
            record = _compare(plan, resources, steps, (1 - PROBING_SHARE) * seconds)
    finally:
        remove_caches(resources.caches)
    return conclude(moments, known, record, (1 - PROBING_SHARE) * seconds, kept=kept)


def conclude(
    moments: Sequence[tuple[float, MachineProbe]], known: MachineLevels, record: Run, seconds: float, *, kept: bool
) -> MachineMeasured:
    """Compute what is told of a machine from what was measured.

    `moments`: probes with their time in seconds.
    """
    seen = [(at, not excess(probe, known)) for at, probe in moments]
    others = [probe.arithmetic_ns / known.arithmetic_ns for _, probe in moments if excess(probe, known)]
    (block,) = record.blocks
    compared = launch_levels.launch_levels(block)
    one, other = (compared[arm.id] for arm in block.arms)
    generations = [each for each in block.generations if each.rounds]
    split = _split(block)
    rounds = max(1, round(float(np.mean([len(each.rounds) for each in generations])))) if generations else 1
    possible = max(MIN_LAUNCHES, round(DECIDED_S / (seconds / len(generations)))) if generations else MIN_LAUNCHES
    return MachineMeasured(
        probes=len(seen),
        seconds=seen[-1][0] - seen[0][0],
        levels=known,
        knowledge=knowledge(known),
        calm_share=sum(calm for _, calm in seen) / len(seen),
        calm_s=_mean_length(seen, calm=True),
        contended_s=_mean_length(seen, calm=False),
        contended_arithmetic=float(np.median(others)) if others else None,
        kept=kept,
        launches=len(generations),
        ratio=estimates.ratio(other, one, ended=EndedBy.PLAN),
        split=split,
        smallest=minimum_detectable_effect(Design(possible, rounds, split.launch_sd, split.window_sd))
        if split is not None
        else None,
        smallest_launches=possible,
    )


def _plan() -> Plan:
    places = pool((), topology.read())
    (threads,) = counts((), places)
    block = Block(case=canary_case(threads), arms=ARMS, planned_generations=LEAST_GENERATIONS, canary=canary_arm().id)
    return Plan(
        profile=STANDARD,
        blocks=(block,),
        models=(CANARY,),
        backends=(CANARY,),
        scenarios=("latency",),
        precisions=("fp32",),
        batches={},
        threads=(threads,),
        cpus=tuple(sorted(places.cpus[:threads])),
    )


def _probe(resources: RunResources, seconds: float) -> tuple[list[tuple[float, MachineProbe]], MachineLevels, bool]:
    """Probe for some time; return each probe with its time, their levels, and whether those are kept."""
    image = resources.image(canary_arm())
    worker = resources.launcher.launch(
        LaunchSpec(
            name="machine-check",
            image=image,
            threads=len(resources.cpus),
            cpus=resources.cpus,
            memory_nodes=resources.memory_nodes(resources.cpus),
            memory_bytes=resources.memory_bytes,
            artifacts=resources.artifacts.root,
        )
    )
    buffer_bytes = array_bytes(last_cache_bytes(resources.cpus), resources.memory_bytes)
    probing = MachineStates(states.key_of(fingerprint(resources.cpus), image, len(resources.cpus)), buffer_bytes)
    canary = Outcome(canary_arm(), canary_case(len(resources.cpus)), Launch(CANARY, utc_now()), worker)
    try:
        worker.await_ready(READY_TIMEOUT_S)
        probing.use(canary)
        moments: list[tuple[float, MachineProbe]] = []
        end = time.monotonic() + seconds
        while time.monotonic() < end or not moments:
            found = probing.probe()
            if isinstance(found, Absent):
                raise LevelfieldError(
                    f"The machine could not be probed: {found.reason}.", fix="Look at `levelfield doctor`."
                )
            moments.append((time.monotonic(), found))
            time.sleep(PAUSE_S)
        known, _ = probing.take()
        if known is None:
            raise LevelfieldError("Too few probes were made to show a level.", fix="Give it more time.")
        return moments, known, probing.close()
    finally:
        worker.stop()


def _compare(plan: Plan, resources: RunResources, listener: ProgressListener, seconds: float) -> Run:
    """Compare identical programs as `bench` does, in a folder that is thrown away afterwards."""
    with temporary_folder("machine") as folder:
        run_folder = start_run(plan, Options(seed=0, reports=folder, budget_seconds=seconds), resources)
        RunInProgress(run_folder, resources, listener).measure()
        return journal.fold(journal.read(run_folder / JOURNAL))


def _split(block: Block) -> VarianceSplit | None:
    try:
        return split_variance(launch_levels.reduce(block).log_counted)
    except InsufficientData:
        return None


def _mean_length(seen: Sequence[tuple[float, bool]], *, calm: bool) -> float | None:
    """Return how long a state lasted on average, in seconds, of the spells that began and ended; None: none did."""
    spells = [(state, next(group)[0]) for state, group in itertools.groupby(seen, key=lambda each: each[1])]
    lengths = [end - begin for (state, begin), (_, end) in itertools.pairwise(spells[1:]) if state is calm]
    return sum(lengths) / len(lengths) if lengths else None


def in_words(found: MachineMeasured) -> tuple[str, ...]:
    """Return what was found as sentences: levels, states, and the smallest difference."""
    return (_levels(found), _states(found), _noise(found), _smallest(found), *_kept(found))


def _levels(found: MachineMeasured) -> str:
    low = found.levels
    return (
        f"Low mode of {units.count(found.probes)} probes: arithmetic {units.time(low.arithmetic_ns)}, memory "
        f"{units.time(low.memory_ns)}, fresh pages {units.time(low.pages_ns)}."
    )


def _states(found: MachineMeasured) -> str:
    match found.knowledge:
        case "contended throughout":
            return (
                f"Contended throughout: {units.percent(found.levels.low_share)} of the probes lie within "
                f"{units.percent(CALM_ARITHMETIC - 1)} of the low mode, and {units.percent(LEAST_SHARE)} are needed."
            )
        case "one state seen":
            return "One state seen: whether the machine was calm is not known until another one is seen."
        case "two states seen":
            lengths = [
                f"{name} for {units.time(seconds * 1e9)} on average"
                for name, seconds in (("calm", found.calm_s), ("contended", found.contended_s))
                if seconds is not None
            ]
            busy = (
                f"; when it is not, arithmetic takes {found.contended_arithmetic:.2f}× as long"
                if found.contended_arithmetic is not None
                else ""
            )
            stay = f" It stays {', '.join(lengths)}." if lengths else ""
            return f"Calm {units.percent(found.calm_share)} of the time{busy}.{stay}"


def _noise(found: MachineMeasured) -> str:
    if found.split is None or found.ratio is None:
        times = units.plural(found.launches, "time")
        return f"Identical programs were launched {times} each: too few to show how far they scatter."
    window, launch = units.percent(found.split.window_sd), units.percent(found.split.launch_sd)
    scatter = f"Launches scatter by {launch} and" if found.split.launch_sd else "Launches scatter as their windows do,"
    return (
        f"Identical NumPy programs, {units.plural(found.launches, 'launch', 'launches')} each: their ratio is "
        f"{units.times(found.ratio)}, where the truth is 1. {scatter} windows of a launch by {window}."
    )


def _smallest(found: MachineMeasured) -> str:
    if found.smallest is None:
        return "The smallest difference that six minutes decide is not known: give it more time."
    minutes = DECIDED_S / 60
    return (
        f"The smallest difference that {minutes:.0f} minutes of two such programs decide here: "
        f"{units.percent(found.smallest)} ({found.smallest_launches} launches of each, found in 95 % of cases at 95 % "
        "confidence; computed from this scatter). Frameworks load longer, so that a run has fewer launches of them."
    )


def _kept(found: MachineMeasured) -> Iterator[str]:
    if found.kept:
        yield "Runs of the next month on this machine know its low mode from this measurement."
