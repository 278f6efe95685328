"""Calibration of this machine with identical programs: kept in the cache, cited by later reports."""

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from suite.machine.fingerprint import changed
from suite.paths import cache_root
from suite.record.files import write_atomically
from suite.record.schema import Calibrated, Case, Fingerprint
from suite.safety import untrusted
from suite.statistics.errors import InsufficientData
from suite.statistics.power import Design, minimum_detectable_effect, power
from suite.statistics.proportions import Proportion, proportion
from suite.statistics.student import MIN_LAUNCHES
from suite.statistics.variance import VarianceSplit, split_variance
from suite.statistics.verdicts import Verdict

SCHEMA = 1
NAME = "calibration.json"
MAX_BYTES = 1 << 26
EFFECTS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
SAME_MACHINE = ("cpu", "memory", "virtualisation")
"""Groups of facts that must not have changed: on another machine, the figures mean nothing."""


class Repeat(msgspec.Struct, frozen=True):
    """One A/A run in the product's own schedule."""

    run: str
    started: str
    seconds: float
    ratio: float
    low: float
    high: float
    verdict: Verdict
    medians_ns: tuple[tuple[tuple[float | None, ...], ...], ...]
    """Each window's median call by generation, round and arm; None where there is none, or the round was disturbed."""


class Point(msgspec.Struct, frozen=True):
    """Where the power curve passes."""

    launches: int
    effect: float
    power: float
    """Probability that the 95 % interval excludes no change, on the right side."""


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of the runs; a run is added to a calibration only under the same ones."""

    started: str
    tool_version: str
    machine: Fingerprint
    image: str
    """Tag of the image that both arms ran in."""
    backend: str
    case: Case
    margin: float
    launches: int
    """Of each arm, in every run."""
    rounds: int
    window_ns: int


class Calibration(Conditions, frozen=True, kw_only=True):
    """The whole of it."""

    schema: int
    finished: str
    repeats: tuple[Repeat, ...]
    false_positives: Proportion
    """Runs in which identical arms were called different."""
    same: Proportion
    """Runs in which they were called the same."""
    split: VarianceSplit | None
    """Over all runs; None: they are too few."""
    curve: tuple[Point, ...] = ()
    minimum_detectable_effect: float | None = None
    """Slowdown that such a run finds in 95 % of cases at 95 % confidence."""

    def __str__(self) -> str:
        found = self.false_positives
        seen = self.minimum_detectable_effect
        return (
            f"Identical arms of {self.backend} ({self.case.model}) were called different in {found.successes} of "
            f"{found.trials} runs on this machine (exact 95 % interval {found.low:.1%} to {found.high:.1%}), and the "
            f"same in {self.same.successes}"
            + (f"; a run of {self.launches} launches finds slowdowns from {seen:.1%} on." if seen is not None else ".")
            + f" Measured {self.finished[:10]}."
        )


def conclude(conditions: Conditions, repeats: Sequence[Repeat], finished: str) -> Calibration:
    """Compute a calibration from its runs.

    Parameters
    ----------
    conditions
        Machine, case and settings that all runs have in common.
    repeats
        A/A runs, in order of time; at least one.
    finished
        Time of the last run, ISO 8601.

    Raises
    ------
    ValueError
        There is no run.
    """
    different = sum(each.verdict in {Verdict.FASTER, Verdict.SLOWER} for each in repeats)
    split = _split(repeats)
    sizes = sorted({conditions.launches, *(MIN_LAUNCHES * factor for factor in (1, 2, 4))})
    designs = [Design(n, conditions.rounds, split.launch_sd, split.window_sd) for n in sizes] if split else []
    usual = [design for design in designs if design.launches == conditions.launches]
    return Calibration(
        **msgspec.structs.asdict(conditions),
        schema=SCHEMA,
        finished=finished,
        repeats=tuple(repeats),
        false_positives=proportion(different, len(repeats)),
        same=proportion(sum(each.verdict is Verdict.SAME for each in repeats), len(repeats)),
        split=split,
        curve=tuple(Point(each.launches, effect, power(effect, each)) for each in designs for effect in EFFECTS),
        minimum_detectable_effect=minimum_detectable_effect(usual[0]) if usual else None,
    )


def _split(repeats: Sequence[Repeat]) -> VarianceSplit | None:
    generations = [generation for each in repeats for generation in each.medians_ns]
    rounds = max((len(generation) for generation in generations), default=0)
    if not rounds:
        return None
    arms = len(generations[0][0])
    windows = np.full((len(generations), rounds, arms), np.nan)
    for g, generation in enumerate(generations):
        for r, row in enumerate(generation):
            windows[g, r] = [math.nan if value is None else math.log(value) for value in row]
    try:
        return split_variance(windows)
    except InsufficientData:
        return None


def path() -> Path:
    """Return where it is kept; `levelfield clean` leaves it there, since it takes long to make."""
    return cache_root() / NAME


def store(calibration: Calibration) -> Path:
    """Keep it in place of the one before."""
    target = path()
    write_atomically(target, msgspec.json.encode(calibration) + b"\n")
    return target


def load(machine: Fingerprint | None = None) -> Calibration | None:
    """Return what is known, or None: nothing is, the file is damaged or of another version, or of another machine.

    Parameters
    ----------
    machine
        The fingerprint of this machine; None: whichever machine it was.
    """
    try:
        found = msgspec.json.decode(untrusted.read_plain(path(), MAX_BYTES), type=Calibration)
    except (OSError, msgspec.MsgspecError):
        return None
    if found.schema != SCHEMA:
        return None
    return found if machine is None or same_machine(found.machine, machine) else None


def cited(machine: Fingerprint) -> Calibrated | None:
    """Return what a report on this machine cites of its calibration; None where there is none that fits."""
    found = load(machine)
    if found is None:
        return None
    return Calibrated(
        finished=found.finished,
        backend=found.backend,
        model=found.case.model,
        launches=found.launches,
        runs=found.false_positives.trials,
        different=found.false_positives.successes,
        same=found.same.successes,
        margin=found.margin,
        minimum_detectable_effect=found.minimum_detectable_effect,
    )


def same_machine(before: Fingerprint, now: Fingerprint) -> bool:
    """Return whether processor, memory and virtualisation are unchanged (`SAME_MACHINE`).

    Parameters
    ----------
    before, now
        Fingerprints.
    """
    first, second = ({group: each.get(group, {}) for group in SAME_MACHINE} for each in (before, now))
    return not changed(first, second)
