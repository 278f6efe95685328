"""Levelfield beside other tools of the field, on the same model and machine.

Each tool is held against a bare loop around the same call: how far the median that it reports
is from the loop's, what CPU time its supervisor takes meanwhile, what it needs on disk, how long it takes to decide
between two arms where it decides at all, and how far two series of the same thing are apart. It needs a quiet machine;
`--add` adds launches and repetitions to a record, so that the machine need not be quiet for all of it at once.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from studies import commands
from studies.overhead.contestants import Target
from studies.overhead.record import Cell
from studies.overhead.schedule import measure
from studies.peers import cells, decisions, disk
from studies.peers.answers import OPTIMUM_BENCHMARK, PYPERF
from studies.peers.record import Trial
from studies.peers.show import markdown
from studies.peers.workspace import Workspace
from studies.record import begin, read
from suite.cli.options import NAMES
from suite.errors import LevelfieldError
from suite.images import catalogue
from suite.images.build import build
from suite.launchers.docker import connect
from suite.launchers.worker import WorkerError
from suite.machine.fingerprint import fingerprint
from suite.names import unknown
from suite.plan import Plan, cpu_pinning
from suite.record.schema import Case
from suite.run.calibration import same_machine
from suite.schedule.resources import RunResources
from suite.version import __version__

DONE = 0
"""Exit code; `commands.COULD_NOT_RUN` where something could not be measured."""
USUAL, QUICK = {"launches": 8, "repeats": 1}, {"launches": 2, "repeats": 1}
"""Where the command line does not say."""


class Request(msgspec.Struct, frozen=True):
    """What to measure, and how."""

    model: str
    tools: tuple[str, ...]
    """Those of the cells; empty: all."""
    launches: int
    """Of each cell, to be added."""
    repeats: int
    """Of the decisions, to be added."""
    threads: int | None
    seed: int
    quick: bool


def run(keep: commands.Keep[Trial], listener: commands.Terminal, *, request: Request, before: Trial | None) -> Trial:
    """Measure cells, then decisions; what fails costs its own part only."""
    chosen = _chosen(request.tools, request.model) if request.launches else ()
    if not chosen and not request.repeats:
        raise LevelfieldError("Nothing is asked for.", fix="Give --launches or --repeats.")
    deciding = (decisions.BACKEND,) if request.repeats else ()
    backends = tuple(dict.fromkeys((*(each.backend for each in chosen), *deciding)))
    selected = commands.selection((request.model,), backends, request.threads)
    with commands.prepared(selected, listener) as (plan, resources), Workspace() as workspace:
        targets = _targets(plan, resources)
        needed = (*(each.image for each in chosen if each.image), *([PYPERF] if request.repeats else []))
        images = [build(name, progress=listener.say) for name in dict.fromkeys(needed)]
        case, client = plan.blocks[0].case, next(iter(targets.values())).client
        trial = _begun(request, resources, case, before)
        known = {each.tag: each for each in (*trial.images, *resources.images.values(), *images)}
        trial = trial.updated(images=tuple(known.values()), disk=disk.measure(client))
        keep(trial)
        for each in chosen:
            trial = _with_cell(trial, each, targets[each.backend], workspace, request, listener.say)
            keep(trial)
        for _ in range(request.repeats):
            trial = _with_decisions(trial, targets[decisions.BACKEND], workspace, request, listener.say)
            keep(trial)
        for target in targets.values():
            target.client.close()
    return trial


def _chosen(tools: tuple[str, ...], model: str) -> tuple[cells.Cell, ...]:
    known = {each.tool: each for each in cells.CELLS}
    for name in tools:
        if name not in known:
            raise unknown("tool", name, known)
        if not known[name].takes(model):
            raise LevelfieldError(
                f"{name} cannot be given {model} here.",
                fix=f"Ask for {', '.join(known[name].models)}, or leave it out.",
            )
    return tuple(each for each in cells.CELLS if each.takes(model) and (not tools or each.tool in tools))


def _targets(plan: Plan, resources: RunResources) -> dict[str, Target]:
    (block,) = plan.blocks
    cpus = cpu_pinning.pinned(block.case.threads, resources.cpus, resources.topology)
    return {arm.backend: Target(connect(), resources, block.case, arm, cpus) for arm in block.arms}


def _begun(request: Request, resources: RunResources, case: Case, before: Trial | None) -> Trial:
    settings = {
        "model": request.model,
        "case": case.id,
        "quick": "yes" if request.quick else "no",
        "processes of pyperf in a cell": str(cells.series_processes(quick=request.quick)),
    }
    if before is None:
        return begin(Trial, resources, seed=request.seed, settings=settings, versions=versions())
    if before.settings != settings or before.versions != versions():
        raise LevelfieldError("The record was made with other settings or versions.", fix="Name another --out.")
    if not same_machine(before.machine, fingerprint(resources.cpus)):
        raise LevelfieldError("The record was made on another machine.", fix="Name another --out.")
    return before


def versions() -> dict[str, str]:
    """Return the versions of all tools and frameworks, as the locks have them."""
    found = {"levelfield": __version__}
    for image, names in (
        ("torch", ("torch",)),
        ("openvino", ("openvino",)),
        (PYPERF, ("onnxruntime", "pyperf")),
        (OPTIMUM_BENCHMARK, ("optimum-benchmark", "transformers")),
    ):
        held = catalogue.lock(image).versions
        found |= {name: held[name] for name in names}
    return found


def _with_cell(
    trial: Trial, cell: cells.Cell, target: Target, workspace: Workspace, request: Request, say: Callable[[str], None]
) -> Trial:
    contrasts = cell.contrasts()
    names = tuple(dict.fromkeys(name for each in contrasts for name in (each.first, each.second)))
    start = next((each for each in trial.cells if cell.tool in each.arms), None)
    begun = start or Cell(backend=cell.backend, case=target.case, arms=names, generations=(), findings=())
    try:
        found = measure(
            msgspec.structs.replace(begun, failure=""),
            contrasts,
            target.resources.cpus,
            cell.effort(request.launches, quick=request.quick),
            cells.launcher(cell, target, workspace, quick=request.quick),
            seed=trial.seed,
            say=lambda text: say(f"{cell.tool}: {text}"),
        )
    except (LevelfieldError, WorkerError) as error:
        say(f"{cell.tool}: {error}")
        found = msgspec.structs.replace(begun, failure=f"{cell.tool}: {error}")
    others = tuple(each for each in trial.cells if each is not start)
    return trial.updated(cells=(*others, found))


def _with_decisions(
    trial: Trial, target: Target, workspace: Workspace, request: Request, say: Callable[[str], None]
) -> Trial:
    made = list(trial.decisions)
    try:
        for each in decisions.decide(target, workspace, say, quick=request.quick):
            made.append(each)  # noqa: PERF402  (what was decided before an error is kept)
    except (LevelfieldError, WorkerError) as error:
        say(str(error))
        return trial.updated(decisions=tuple(made), failures=(*trial.failures, str(error)))
    return trial.updated(decisions=tuple(made))


def exit_code(trial: Trial) -> int:
    """Return what the trial says to the shell: 0, or 2 where something could not be measured."""
    failed = any(cell.failure for cell in trial.cells) or trial.failures
    return commands.COULD_NOT_RUN if failed else DONE


@click.command(context_settings=commands.SETTINGS)
@click.option("--model", default="bert", show_default=True, help="Network; optimum-benchmark runs bert alone.")
@click.option("--tools", type=NAMES, default=(), help="Only these beside a bare loop; default: all.")
@click.option("--launches", type=click.IntRange(0), default=None, help="Launches of each tool; default: 8.")
@click.option("--repeats", type=click.IntRange(0), default=None, help="Decisions of each kind; default: 1.")
@click.option("--threads", type=int, default=None, help="Threads of every side; default: one per core.")
@commands.seed_option
@click.option("--quick", is_flag=True, help="Two launches, one decision, short windows: it shows that all works.")
@commands.out_option
@commands.add_option
def main(out: Path | None, *, add: bool, **requested: Any) -> None:  # noqa: ANN401
    """Hold other tools and Levelfield against bare loops, and let those that decide decide."""
    for name, value in (QUICK if requested["quick"] else USUAL).items():
        requested[name] = value if requested[name] is None else requested[name]
    out = out or commands.default_path(Trial.TRIAL)

    def measured(keep: commands.Keep[Trial], listener: commands.Terminal) -> Trial:
        if out.exists() and not add:
            raise LevelfieldError(f"{out} exists already.", fix="Add to it (--add), or name another file with --out.")
        before = read(out, Trial) if out.exists() else None
        return run(keep, listener, request=msgspec.convert(requested, Request), before=before)

    trial = commands.conduct(Trial, measured, lambda trial: trial, markdown, out=out)
    sys.exit(exit_code(trial))
