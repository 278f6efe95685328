"""Whole runs with nothing but canaries, in the current interpreter: real workers that need only NumPy."""

import io
import os
from pathlib import Path

import psutil
from rich.console import Console

from suite.beginning import Request, start
from suite.bench import Bench
from suite.launchers.host import HostLauncher
from suite.plan import ALONE, CANARY, Plan
from suite.preparation import prepare
from suite.profiles import SMOKE
from suite.records import journal
from suite.records.files import JOURNAL
from suite.records.schema import Arm, Block, Case, Run, Scenario
from suite.running import tell
from suite.site import Site
from suite.watching import Silent, Watcher
from tests.reported import check_run

ARMS = (Arm(CANARY, CANARY, ordinal=2), Arm(CANARY, CANARY, ordinal=3))
"""The first one is the canary itself."""


def plan(*scenarios: Scenario, arms: tuple[Arm, ...] = ARMS, model: str = CANARY) -> Plan:
    """A plan of the smoke profile, on one CPU."""
    return Plan(
        profile=SMOKE,
        blocks=tuple(
            Block(
                case=Case(model, scenario, "fp32", 1, 1),
                arms=arms,
                planned_generations=SMOKE.launches_alone if scenario in ALONE else SMOKE.generations,
                canary=None if scenario in ALONE else CANARY,
            )
            for scenario in scenarios
        ),
        models=(model,),
        backends=tuple(dict.fromkeys(arm.backend for arm in arms)),
        scenarios=scenarios,
        precisions=("fp32",),
        batches={},
        threads=(1,),
        cpus=(min(os.sched_getaffinity(0)),),
    )


def site(made: Plan) -> Site:
    return prepare(made, HostLauncher(), Silent())


def workers() -> list[psutil.Process]:
    """Return the live workers of this process."""
    return [
        child
        for child in psutil.Process().children()
        if child.status() != psutil.STATUS_ZOMBIE and "suite.worker" in child.cmdline()
    ]


class Harness:
    """One run and its folder; `measure` may be called again to go on with it."""

    def __init__(self, made: Plan, reports: Path, *, request: Request | None = None, where: Site | None = None) -> None:
        self.plan = made
        self.folder = start(made, request or Request(seed=7), where or site(made), reports)

    def measure(self, watcher: Watcher | None = None, *, resumed: bool = False, where: Site | None = None) -> Run:
        try:
            Bench(self.folder, where or site(self.plan), watcher or Silent(), resumed=resumed).measure()
        finally:
            assert not workers()
        run = self.record()
        tell(self.folder, Console(file=io.StringIO()))
        check_run(self.folder)
        return run

    def record(self) -> Run:
        return journal.fold(journal.read(self.folder / JOURNAL))
