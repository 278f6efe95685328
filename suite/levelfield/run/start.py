"""A run's folder and the first line of its journal; and the check that a run is resumed where it began."""

import secrets
from collections.abc import Iterable
from pathlib import Path

import msgspec

from levelfield import analysis
from levelfield.analysis import guarded, summaries
from levelfield.errors import LevelfieldError, explained
from levelfield.images import base
from levelfield.machine.fingerprint import changed, fingerprint
from levelfield.names import made_of
from levelfield.paths import tool_sha256
from levelfield.plan import Plan
from levelfield.plan.decoding import call_of
from levelfield.prepare.own_weights import store as own_weights
from levelfield.record import warnings as notices
from levelfield.record.bounds import SEED_BITS
from levelfield.record.files import JOURNAL
from levelfield.record.journal import Journal, Started
from levelfield.record.schema import SCHEMA, Absent, Artifact, DataSet, Fingerprint, Run, Settings, Warning_, Work
from levelfield.run.options import Options
from levelfield.schedule.outcomes import utc_now
from levelfield.schedule.resources import RunResources
from levelfield.version import __version__
from levelfield.zoo import flops, models


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
