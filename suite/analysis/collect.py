"""From a block of the record to arrays: one summary a window, so that a million samples are walked once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from suite.record.schema import Arm, Block, Failure, Generation, Launch, Window
from suite.statistics.arrays import Floats


@dataclass(frozen=True)
class WindowSummary:
    """One timed window, its samples kept as an array."""

    round: int
    disturbed: bool
    samples_ns: Floats
    median_ns: float
    calls: int
    window_ns: int
    cpu_ns: int


@dataclass(frozen=True)
class LaunchSummary:
    """One worker's windows, in the order of the rounds."""

    generation: int
    launch: Launch
    windows: tuple[WindowSummary, ...]
    windows_failed: int
    failure: Failure | None

    @property
    def measured(self) -> bool:
        return bool(self.windows)


@dataclass(frozen=True)
class ArmSummary:
    """All launches of one arm, by generation."""

    arm: Arm
    launches: tuple[LaunchSummary, ...]
    failures: tuple[Failure, ...] = ()


def arms(block: Block) -> tuple[ArmSummary, ...]:
    """Summarise every arm of a block but the canary, in the order of the plan."""
    return tuple(_arm(arm, block) for arm in block.arms if arm.id != block.canary)


def canary_launches(block: Block) -> tuple[LaunchSummary, ...]:
    """Summarise the canary's launches in a block, or none where it took no part."""
    if block.canary is None:
        return ()
    return tuple(_launches(block.canary, block.generations))


def _arm(arm: Arm, block: Block) -> ArmSummary:
    launches = tuple(_launches(arm.id, block.generations))
    return ArmSummary(
        arm=arm,
        launches=launches,
        failures=tuple(launch.failure for launch in launches if launch.failure is not None),
    )


def _launches(arm: str, generations: Iterable[Generation]) -> Iterable[LaunchSummary]:
    for generation in generations:
        launch = next((launch for launch in generation.launches if launch.arm == arm), None)
        turns = [(round_, turn) for round_ in generation.rounds for turn in round_.turns if turn.arm == arm]
        if launch is None and not turns:
            continue
        failed = [turn.failure for _, turn in turns if turn.failure is not None]
        yield LaunchSummary(
            generation=generation.index,
            launch=launch or Launch(arm=arm, started=""),
            windows=tuple(
                _summary(turn.window, round_.index, disturbed=bool(round_.disturbed))
                for round_, turn in turns
                if _usable(turn.window)
            ),
            windows_failed=sum(not _usable(turn.window) for _, turn in turns),
            failure=(launch.failure if launch is not None else None) or (failed[0] if failed else None),
        )


def _usable(window: Window | None) -> TypeGuard[Window]:
    """Say whether a window holds times: a record from a stranger may hold anything."""
    return window is not None and bool(window.samples_ns) and min(window.samples_ns) > 0 and window.window_ns > 0


def _summary(window: Window, index: int, *, disturbed: bool) -> WindowSummary:
    samples = np.asarray(window.samples_ns, dtype=np.float64)
    return WindowSummary(
        round=index,
        disturbed=disturbed,
        samples_ns=samples,
        median_ns=float(np.median(samples)),
        calls=int(samples.size),
        window_ns=window.window_ns,
        cpu_ns=window.user_ns + window.system_ns,
    )
