"""What is said before a run begins, its folder and its journal's first line; and the check that it is resumed there."""

import secrets
import sys
from collections.abc import Iterable
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.markup import escape

from levelfield import analysis
from levelfield.analysis import guarded, summaries
from levelfield.errors import LevelfieldError, explained
from levelfield.images import base
from levelfield.images.build import estimate
from levelfield.launchers.protocol import Launcher
from levelfield.machine import quiet
from levelfield.machine.fingerprint import changed, fingerprint
from levelfield.names import made_of, plural
from levelfield.paths import tool_sha256
from levelfield.plan import Plan
from levelfield.plan.decoding import call_of
from levelfield.prepare.own_model.python_file import check_isolated
from levelfield.prepare.own_weights import store as own_weights
from levelfield.record import warnings as notices
from levelfield.record.bounds import SEED_BITS
from levelfield.record.files import JOURNAL
from levelfield.record.journal import Journal, Started
from levelfield.record.schema import SCHEMA, Absent, Artifact, DataSet, Fingerprint, Run, Settings, Warning_, Work
from levelfield.report.units import roughly
from levelfield.run import first_ranking
from levelfield.run.first_ranking import needed
from levelfield.run.options import Options
from levelfield.schedule.outcomes import utc_now
from levelfield.schedule.resources import RunResources
from levelfield.statistics.student import MIN_LAUNCHES
from levelfield.version import __version__
from levelfield.zoo import flops, models

LARGE_BYTES = 1_000_000_000
"""Disk that images may take without a question."""
LAUNCH_S = 1.0
"""The quickest launch: a process starts, imports a framework, and loads a small model."""
_LOOK_S = 0.5
_PLACES = {"docker": "Containers", "venv": "Virtual environments"}


def announce(chosen: Plan, launcher: Launcher, options: Options, console: Console) -> None:
    """Print what a run will do, with sizes and times; in a terminal, ask before large images are made.

    Raises SystemExit: a dry run ends here. Raises LevelfieldError: the answer was no; or a user's Python would run
    anywhere but in containers.
    """
    check_isolated(chosen.own, (arm.launcher or launcher.kind for arm in chosen.answering))
    cases, results = len(chosen.blocks), sum(len(block.arms) for block in chosen.blocks)
    console.print(
        f"[bold]{plural(len(chosen.backends), 'backend')}[/] ({', '.join(chosen.backends)}) × "
        f"{plural(len(chosen.models), 'model')} × {', '.join(chosen.scenarios)} on {plural(len(chosen.cpus), 'CPU')}, "
        f"profile {chosen.profile.name}: {plural(cases, 'case')}, {plural(results, 'result')}{_time(chosen, options)}.",
        highlight=False,
    )
    for message, remedy in dict.fromkeys(
        (each.message, each.remedy) for each in chosen.warnings
    ):  # of all its arms once
        console.print(f"[yellow]{escape(message)}[/] {escape(remedy)}", highlight=False)
    for found in quiet.now(_LOOK_S):
        if found.topic == "other processes" and found.state == "warn":
            console.print(f"[yellow]{escape(f'Other processes: {found.message} {found.fix}')}[/]", highlight=False)
    if short := _too_short(chosen, options):
        console.print(f"[yellow]{short}[/]", highlight=False)
    costs = {place: estimate(names, place, options.base) for place, names in needed(chosen, launcher).items()}
    for place, cost in costs.items():
        prefix = f"{_PLACES[place]}: " if len(costs) > 1 else ""
        console.print(prefix + cost.sentence(), highlight=False)
    if options.dry_run:
        raise SystemExit(0)
    large = sum(cost.disk_bytes for cost in costs.values()) > LARGE_BYTES
    in_terminal = console.is_terminal and sys.stdin is not None and sys.stdin.isatty()
    if large and in_terminal and not options.yes and not click.confirm("Make them?", default=True, err=True):
        raise LevelfieldError("Nothing was made or measured.", fix="Name fewer backends with --backends.")


def _too_short(chosen: Plan, options: Options) -> str:
    """Say that a budget is spent before any case can have a rank; empty: it may have time for one."""
    arms = min(len(block.arms) for block in chosen.blocks)
    least_s = LAUNCH_S * MIN_LAUNCHES * arms
    if chosen.profile.generations < MIN_LAUNCHES or least_s <= (options.budget_seconds or least_s):
        return ""
    return (
        f"Nothing can be ranked in {roughly(options.budget_seconds or 0)}: {MIN_LAUNCHES} launches of each of {arms} "
        f"arms take {roughly(least_s)} at the least. Give a larger --budget, or fewer --backends."
    )


def _time(chosen: Plan, options: Options) -> str:
    """Return how long measuring takes: where nothing else says it, what the profile is."""
    if options.until_seconds is not None:
        return f", all of it within {roughly(options.until_seconds)}"
    if first_ranking.LABEL in options.labels:
        return f", {MIN_LAUNCHES} launches each"
    clock_s = clock_seconds(chosen, options)
    if clock_s is not None and options.budget_seconds is None:
        return f", measured for about {roughly(clock_s)}"
    by_result = options.ends_on_verdict or options.precision_target is not None
    most_s = options.budget_seconds or (chosen.profile.budget_seconds if by_result else None)
    return f" ({escape(chosen.profile.says)})" if most_s is None else f", measured for {roughly(most_s)} at the most"


def start_run(plan: Plan, options: Options, resources: RunResources, data_sets: Iterable[DataSet] = ()) -> Path:
    """Write the run's folder and the first line of its journal; LevelfieldError: it cannot be made."""
    now = utc_now()
    machine = fingerprint(plan.cpus, identify=options.identify)
    identity = f"{now.replace(':', '').replace('-', '')[:15].replace('T', '-')}-{plan.profile.name}"
    run = Run(
        schema=SCHEMA,
        id=f"{identity}-{secrets.token_hex(2)}",
        started=now,
        tool_version=__version__,
        tool_sha256=tool_sha256(),
        command=options.command,
        settings=made_of(
            Settings,
            plan,
            options,
            profile=plan.profile.name,
            threads=max(plan.threads),
            thread_counts=plan.threads if len(plan.threads) > 1 else (),
            process_counts=plan.processes if max(plan.processes) > 1 else (),
            depths=tuple(dict.fromkeys(block.case.depth for block in plan.blocks if block.case.depth)),
            kv_caches=tuple(dict.fromkeys(block.case.kv_cache for block in plan.blocks if block.case.depth)),
            generations=plan.profile.generations,
            rounds=plan.profile.rounds,
            clock_seconds=clock_seconds(plan, options),
            seed=options.seed if options.seed is not None else secrets.randbits(SEED_BITS),
            launcher=resources.launcher.kind,
            worker_memory_bytes=resources.memory_bytes,
            target=resources.target,
            memory_nodes=_memory_nodes(plan, resources),
        ),
        machine=machine,
        images=tuple(resources.images.values()),
        bases=base.recorded(resources.images.values(), options.base),
        artifacts=(
            *(resources.artifacts.weights_artifact(model) for model in plan.models if not resources.own),
            *map(own_weights.artifact, plan.own_weights),
            *_of_own(resources),
            *(file.artifact for file in resources.files.values()),
            *(resources.artifacts.dataset_artifact(name) for name in _fed(plan)),
            *([resources.artifacts.digits_artifact()] if any(block.case.converges for block in plan.blocks) else ()),
            *(resources.driver.artifacts if resources.driver is not None else ()),
        ),
        blocks=plan.blocks,
        warnings=_known_beforehand(plan, options, resources, machine),
        labels=(
            *options.labels,
            *plan.profile.labels,
            *(["injected"] if plan.injected else []),
            *(["emulated"] if resources.emulated else []),
        ),
        earlier_controls=summaries.controls_before(options.reports, machine),
        work=_work(plan),
        data_sets=tuple(data_sets),
    )
    check_readable(run)
    folder = options.reports / run.id
    with explained(f"The folder {folder} cannot be made", "Choose another one with --reports."):
        folder.mkdir(parents=True)
    with Journal(folder / JOURNAL) as journal:
        journal.write(Started(run))
    return folder


def clock_seconds(plan: Plan, options: Options) -> float | None:
    """Return how long passes are made; None: something else ends the run."""
    if (
        plan.profile.clock_seconds is None
        or not options.by_clock
        or options.precision_target is not None
        or options.ends_on_verdict
    ):
        return None
    return plan.profile.clock_seconds if options.budget_seconds is None else options.budget_seconds


def check_readable(run: Run) -> None:
    """Refuse a run that could not be read again, before anything is measured (LevelfieldError)."""
    with explained("No record could be kept of this run", "Give other values.", LevelfieldError, UnicodeEncodeError):
        known = guarded.decode(msgspec.json.encode(run), "The record")
        with guarded.computing("The record"):
            analysis.analyse(known)


def _of_own(resources: RunResources) -> list[Artifact]:
    """Return the user's own file once, and the reference of each of its sizes."""
    found: list[Artifact] = []
    for each in (artifact for one in resources.own for artifact in one.artifacts):
        found += [] if each in found else [each]
    return found


def _fed(plan: Plan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(block.case.model for block in plan.blocks if block.case.definition.from_dataset))


def _work(plan: Plan) -> tuple[Work, ...]:
    """Count what a call of each model and batch computes and moves; of a user's own file nothing is known."""
    if plan.own is not None:
        return ()
    counted = dict.fromkeys(
        # Of `generate` a call is many steps of another depth each: `decode` says what bounds them.
        (case.model, case.batch, call, case.question if call is not None else "")
        for case in (block.case for block in plan.blocks)
        if (call := call_of(case)) is None or call.steps == 1
    )
    measured = [name for name in dict.fromkeys(name for name, *_ in counted) if models.get(name).operator is not None]
    return tuple(
        msgspec.structs.replace(
            flops.count(models.get(name), batch, call),
            question=question,
            operators=flops.operators_of(name, measured) if call is None else {},
        )
        for name, batch, call, question in counted
    )


def _memory_nodes(plan: Plan, resources: RunResources) -> tuple[int, ...] | Absent:
    """Return the NUMA nodes that memory is bound to, or why it is not."""
    if resources.memory_unbound:
        return Absent(resources.memory_unbound)
    return resources.memory_nodes(plan.cpus) or Absent("no more than one NUMA node of this machine has memory")


def _known_beforehand(
    plan: Plan, options: Options, resources: RunResources, machine: Fingerprint
) -> tuple[Warning_, ...]:
    """Return what a reader must know whatever is measured."""
    found = [*notices.of_machine(machine), *plan.warnings]
    if options.launcher_reason:
        found.append(notices.fell_back_to_venv(options.launcher_reason))
    found += [notices.unlocked(image.name, image.unlocked) for image in resources.images.values() if image.unlocked]
    if resources.memory_unbound:
        found.append(notices.memory_not_bound(resources.memory_unbound))
    if plan.injected:
        found.append(notices.injected(plan.injected))
    if resources.emulated:
        found.append(notices.emulated_processor(resources.emulated))
    if plan.profile.name == "smoke":
        found.append(notices.smoke())
    return tuple(found)


def check_same(before: Fingerprint, now: Fingerprint) -> None:
    """Refuse to resume a run on a machine that has changed since it began (LevelfieldError names what)."""
    differences = changed(before, now)
    if differences:
        raise LevelfieldError(
            f"This machine is not as it was when the run began ({'; '.join(differences[:5])}).",
            fix="Start a new run, and compare the two.",
        )
