"""Whole runs with nothing but canaries, in the current interpreter: real workers that need only NumPy."""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
from rich.console import Console

from levelfield.launchers.host import HostLauncher
from levelfield.plan import CANARY, Plan
from levelfield.plan.profiles import PROFILES, SMOKE
from levelfield.record import journal
from levelfield.record.files import JOURNAL
from levelfield.record.schema import Arm, Block, Case, Run
from levelfield.run.bench import finish
from levelfield.run.options import Options
from levelfield.run.start import start_run
from levelfield.scenarios import ScenarioName, get
from levelfield.schedule import calm, pacing, rounds
from levelfield.schedule.listener import ProgressListener, SilentListener
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import RunResources
from levelfield.schedule.run import RunInProgress, Undecided
from tests.reported import check_run

QUICK = msgspec.structs.replace(SMOKE, window_ns=30_000_000)
"""The smoke profile with shorter windows."""
ARMS = (Arm(CANARY, CANARY, ordinal=2), Arm(CANARY, CANARY, ordinal=3))
"""The first one is the canary itself."""


def plan(*scenarios: ScenarioName, arms: tuple[Arm, ...] = ARMS, model: str = CANARY) -> Plan:
    """A plan of the smoke profile, on one CPU."""
    return Plan(
        profile=SMOKE,
        blocks=tuple(
            Block(
                case=Case(model, scenario, "fp32", 1, 1),
                arms=arms,
                planned_generations=SMOKE.launches_alone if not get(scenario).timed else SMOKE.generations,
                canary=None if not get(scenario).timed else CANARY,
            )
            for scenario in scenarios
        ),
        models=(model,),
        backends=tuple(dict.fromkeys(msgspec.structs.replace(arm, ordinal=1).id for arm in arms)),
        scenarios=scenarios,
        precisions=("fp32",),
        batches={},
        threads=(1,),
        cpus=(min(os.sched_getaffinity(0)),),
    )


def site(made: Plan) -> RunResources:
    return prepare(made, HostLauncher(), SilentListener())


def workers() -> list[psutil.Process]:
    """Return the live workers of this process."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end at any moment
            if child.status() != psutil.STATUS_ZOMBIE and "levelfield.worker" in child.cmdline():
                found.append(child)
    return found


@contextlib.contextmanager
def quickly() -> Iterator[None]:
    """Measure in short windows, few rounds, and on a busy machine too: tests of the schedule need no calm one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROFILES, SMOKE.name, QUICK)
        patch.setattr(pacing, "MOST_ROUNDS", 3)
        patch.setattr(calm, "LONGEST_WAIT_S", 0.0)
        patch.setattr(calm, "PAUSE_S", 0.001)
        patch.setattr(rounds, "ATTEMPTS", 1)
        yield


class Harness:
    """One run and its folder; `measure` may be called again to go on with it."""

    def __init__(
        self, made: Plan, reports: Path, *, options: Options | None = None, where: RunResources | None = None
    ) -> None:
        self.plan = made
        self.folder = start_run(
            made, msgspec.structs.replace(options or Options(seed=7), reports=reports), where or site(made)
        )

    def measure(
        self,
        listener: ProgressListener | None = None,
        *,
        resumed: bool = False,
        budget_seconds: float | None = None,
        where: RunResources | None = None,
        undecided: Undecided | None = None,
    ) -> Run:
        try:
            with quickly():
                RunInProgress(
                    self.folder, where or site(self.plan), listener or SilentListener(), resumed=resumed,
                    budget_seconds=budget_seconds, undecided=undecided,
                ).measure()  # fmt: skip
        finally:
            assert not workers()
        run = self.record()
        finish(self.folder, Console(file=io.StringIO()))
        check_run(self.folder)
        return run

    def record(self) -> Run:
        return journal.fold(journal.read(self.folder / JOURNAL))
