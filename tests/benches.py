"""Whole benches: as people type them, and with one launch of everything where a second would say the same again."""

import io
from pathlib import Path
from typing import Any, NamedTuple

import docker
import msgspec
from rich.console import Console

from levelfield import plan
from levelfield.launchers.docker import DockerLauncher
from levelfield.record import files, journal
from levelfield.record.page import NAME as REPORT
from levelfield.record.schema import Launch, Parity, Run
from levelfield.run.bench import conduct, finish
from levelfield.run.options import Options
from levelfield.schedule.launches import bring_up
from levelfield.schedule.listener import SilentListener
from levelfield.schedule.outcomes import Outcome, end_workers
from levelfield.schedule.preparation import prepare
from levelfield.schedule.resources import remove_caches
from levelfield.schedule.training_verification import verify_trainings
from tests.commands import Command, eventually, run
from tests.engines import none_left
from tests.reported import check_run


class BenchResult(NamedTuple):
    """What a bench leaves behind."""

    run: Run
    page: Path
    out: str
    code: int
    pid: int = 0


def bench(folder: Path, *words: str) -> BenchResult:
    """Run a small bench of the MLP as people type it."""
    folder.chmod(0o755)
    reports = folder / "reports"
    command = run("bench", "--profile", "smoke", "--models", "mlp", "--reports", reports, *words, folder=folder, code=0)
    (page,) = reports.glob(f"*/{REPORT}")
    return BenchResult(files.read(page.parent), page, command.out, command.code, command.pid)


def parity_of(launch: Launch) -> Parity:
    """Check that a launch answered, or trained, as the reference does; return what was compared."""
    assert launch.failure is None, launch.failure
    assert launch.parity is not None, launch.arm
    assert launch.parity.equal, (launch.arm, launch.parity.reason)
    return launch.parity


def until_a_round(command: Command, reports: Path) -> None:
    """Wait until a bench has ended a round."""

    def measures() -> bool:
        found = next(reports.glob("*/journal.jsonl"), None)
        return found is not None and any(isinstance(event, journal.RoundDone) for event in journal.read(found))

    assert eventually(lambda: not command.running or measures())
    assert command.running, command.wait().err


def verified(engine: docker.DockerClient, selection: plan.Selection) -> list[Outcome]:
    """Launch every arm of the one block once, compare what it answers or trains with the reference, and end it."""
    chosen = plan.make(msgspec.structs.replace(selection, profile="smoke", control="none"))
    (block,) = chosen.blocks
    site = prepare(chosen, DockerLauncher(engine), SilentListener())
    outcomes: list[Outcome] = []
    try:
        outcomes = bring_up(site, block.case, block.arms, verify=not block.case.trains, launch_measured=False)
        if block.case.trains:
            verify_trainings(site, block.case, outcomes)
    finally:
        end_workers(outcomes)
        remove_caches(site.caches)
    assert {outcome.arm.id for outcome in outcomes} == {arm.id for arm in block.arms}
    for outcome in outcomes:
        parity_of(outcome.launch)
    assert none_left(engine)
    return outcomes


def once(selection: plan.Selection, reports: Path, launcher: str, **more: Any) -> BenchResult:
    """Do all that the command does with a selection, from its images to its page, with one launch of every arm."""
    chosen = plan.make(selection)
    blocks = tuple(msgspec.structs.replace(block, planned_generations=1) for block in chosen.blocks)
    options = Options(selection=selection, reports=reports, launcher=launcher, **more)
    out = io.StringIO()
    console = Console(file=out, width=200)
    folder = conduct(msgspec.structs.replace(chosen, blocks=blocks), options, console)
    code = finish(folder, console)
    check_run(folder)
    return BenchResult(files.read(folder), folder / REPORT, out.getvalue(), code)


def cut_off(folder: Path) -> None:
    """Let a run that has ended be as if it was killed before its first launch, after the first data set."""
    one = files.read(folder)
    blocks = tuple(msgspec.structs.replace(block, generations=()) for block in one.blocks)
    with journal.Journal(folder / files.JOURNAL) as written:
        written.write(journal.Started(msgspec.structs.replace(one, blocks=blocks, accuracies=(), finished=None)))
        for accuracy in one.accuracies[:1]:
            written.write(journal.AccuracyKnown(accuracy))
    (folder / REPORT).unlink()
