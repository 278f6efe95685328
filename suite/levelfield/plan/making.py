"""Plans: of a user's selection, of two arms against each other, and of a record; what cannot be planned is refused."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import msgspec

from levelfield import scenarios as registered
from levelfield.backends import registry
from levelfield.compatibility import gate as compatibility
from levelfield.compatibility import libraries
from levelfield.compatibility.gate import Nvidia
from levelfield.errors import LevelfieldError
from levelfield.images import catalogue
from levelfield.machine import control_groups, topology
from levelfield.machine.gpu import index_of, nvidia
from levelfield.machine.topology import Topology
from levelfield.names import made_of
from levelfield.plan import arms as arm_names
from levelfield.plan import batches, cpu_pinning, decoding, names, processes
from levelfield.plan.arms import fitting_pythons, only_installed
from levelfield.plan.blocks import beside, blocks, cases
from levelfield.plan.names import default_models, known, names_of_backends, names_of_models
from levelfield.plan.placement import DeviceRequest, Placement, on_cpu, place
from levelfield.plan.profiles import PROFILES
from levelfield.plan.types import Plan, Selection, why_absent
from levelfield.prepare.own_model import store, support
from levelfield.prepare.own_weights import store as own_weights
from levelfield.record import warnings as notices
from levelfield.record.references import is_cuda_build
from levelfield.record.schema import Arm, Run, Warning_
from levelfield.scenarios import Scenario
from levelfield.zoo import models as zoo

Available: TypeAlias = Sequence[int] | Topology | None
"""CPUs that this process may use, or how they are arranged; None: the kernel is asked."""


def make(selection: Selection, *, available: Available = None, here: Nvidia | None = None) -> Plan:
    """Turn a selection into a plan.

    `here`: NVIDIA's driver and GPUs; asked where None, and only where a GPU may be used. Raises LevelfieldError:
    unknown names (with the close matches), and selections that cannot be.
    """
    all_names = (*names_of_backends(), *registry.names_on_gpus_only())
    missing: tuple[Warning_, ...] = ()
    if selection.own is not None:
        missing = support.left_out(selection.own, () if selection.backends else names_of_backends())
        all_names = support.readers(all_names, selection.own)
    twice = next((name for name, count in Counter(selection.backends).items() if count > 1), None)
    if twice is not None:
        raise LevelfieldError(
            f"{twice} is named twice.", fix=f"Name it once; --control {twice} measures it a second time."
        )
    backends = selection.backends or all_names
    requested = arm_names.of_one_launcher(tuple(map(arm_names.parse, backends)))
    if not selection.locked and not selection.backends:
        requested, missing = only_installed(requested, exported=selection.own is None)
    placement = _place(selection, requested, here, named=bool(selection.backends))
    arms = tuple({arm.id: arm for arm in placement.arms}.values())
    if selection.pythons and not selection.backends:
        arms, missing = fitting_pythons(arms, selection.pythons)
    placement = msgspec.structs.replace(placement, arms=arms, warnings=(*missing, *placement.warnings))
    return _assemble(selection, placement, available)


def pair(
    selection: Selection, first: str, second: str, *, available: Available = None, here: Nvidia | None = None
) -> Plan:
    """Plan blocks of exactly two arms, which may be the same thing twice.

    Scenarios in which the launch is the turn get as many launches as the others, so that they too can be decided.

    Raises LevelfieldError: as in `make`.
    """
    read = (arm_names.parse(first), arm_names.parse(second))
    return several(selection, read, available=available, here=here)


def several(
    selection: Selection, arms: Sequence[Arm], *, available: Available = None, here: Nvidia | None = None
) -> Plan:
    """Plan blocks of exactly these arms, which may be the same thing more than once; raises as `make` does."""
    named = arms
    placement = _place(selection, tuple(arms), here, named=True)
    arms = arm_names.numbered(placement.arms)
    placement = msgspec.structs.replace(placement, arms=arms)
    made = _assemble(msgspec.structs.replace(selection, control="none"), placement, available)
    # Of a framework and a runtime that reads finished models, one can train: no pair.
    blocks = tuple(block for block in made.blocks if len(block.arms) == len(arms))
    if not blocks:
        raise LevelfieldError(
            f"Of {' and '.join(arm.id for arm in named)} only one can do that.", fix="Ask for another scenario."
        )
    reasons = [[why for arm in block.arms if (why := why_absent(block.case, arm))] for block in blocks]
    if all(reasons):
        raise LevelfieldError(
            f"There is nothing that {' and '.join(arm.id for arm in named)} both do. {reasons[0][0]}",
            fix="Ask for what both do, or compare other backends.",
        )
    made = msgspec.structs.replace(
        made,
        blocks=blocks,
        scenarios=tuple(dict.fromkeys(block.case.scenario for block in blocks)),
        training_batches=made.training_batches if any(block.case.trains for block in blocks) else {},
    )
    return with_launches(made, max(made.profile.generations, made.profile.launches_alone))


def of_record(run: Run) -> Plan:
    """Return the plan that a record began with; LevelfieldError: its profile, or a file of the user's, is not here."""
    settings = run.settings
    return made_of(
        Plan,
        settings,
        profile=PROFILES[known("profile", [settings.profile], PROFILES)[0]],
        blocks=tuple(msgspec.structs.replace(block, generations=()) for block in run.blocks),
        scenarios=tuple(dict.fromkeys(block.case.scenario for block in run.blocks)),
        threads=settings.thread_counts or (settings.threads,),
        processes=settings.process_counts or (1,),
        own=store.find_recorded(settings.own) if settings.own is not None else None,
        own_weights=tuple(map(own_weights.find_recorded, settings.own_weights)),
    )


def with_launches(plan: Plan, launches: int | None) -> Plan:
    """Return a plan in which every block has a least number of generations; None: as it is."""
    if launches is None:
        return plan
    return msgspec.structs.replace(
        plan,
        blocks=tuple(
            msgspec.structs.replace(block, planned_generations=max(block.planned_generations, launches))
            for block in plan.blocks
        ),
    )


def with_timed_launches(plan: Plan, launches: int) -> Plan:
    """Return a plan in which every block of timed windows has exactly so many generations."""
    blocks = tuple(
        msgspec.structs.replace(block, planned_generations=launches) if block.case.timed else block
        for block in plan.blocks
    )
    return msgspec.structs.replace(plan, blocks=blocks)


def _place(selection: Selection, arms: tuple[Arm, ...], here: Nvidia | None, *, named: bool) -> Placement:
    """Decide which arms compute on a GPU; the driver is asked only where one may be used, and `here` does not say."""
    gpu = index_of(selection.gpu) if selection.gpu is not None else None
    request = DeviceRequest(selection.variant, gpu, named=named, locked=selection.locked)
    if selection.variant == "cpu" and gpu is None and all(arm.variant == "cpu" for arm in arms):
        return on_cpu(arms, request)
    return place(arms, request, here or nvidia())


def _assemble(selection: Selection, placement: Placement, available: Available) -> Plan:
    """Make the plan of arms that have been placed; what the user did not name comes from the profile."""
    arms = placement.arms
    profile = PROFILES[known("profile", [selection.profile], PROFILES)[0]]
    scenarios = known("scenario", selection.scenarios, registered.NAMES) or profile.scenarios
    given = {each.model for each in selection.own_weights}
    others = {*zoo.operators(), *zoo.answering(), *given}
    named = [name for name in selection.models if name not in others]
    if paths := [name for name in named if "." in name or "/" in name]:
        raise LevelfieldError(f"--models takes names, and {paths[0]!r} is a path.", fix="Give that to --model.")
    known("model", named, names_of_models())
    models = tuple(dict.fromkeys(selection.models)) or _models_of(scenarios)
    if not selection.scenarios and all(zoo.get(name).operator is not None for name in models):
        scenarios = ("operators",)
    models = beside(models, scenarios)
    precisions = selection.precisions
    if (own := selection.own) is not None:
        support.check(own, selection.models, arms)
        models = tuple(each.model for each in own.sized)
        scenarios = support.scenarios(own, selection.scenarios, profile.scenarios)
        precisions = support.precisions(own, selection.precisions)
    requested = [registered.get(name) for name in scenarios]
    _check_device(requested, placement)
    precisions = names.chosen_precisions(precisions, arms, placement.device, own=own is not None)
    names.check_fp32(requested, precisions)
    if own is None:
        names.check_quantized(models, precisions)
        names.check(models, arms)
    arranged = _arranged(available)
    pool = cpu_pinning.pool(selection.cpus, arranged)
    together = processes.counts(selection, scenarios, placement.device)
    threads = processes.threads(selection, together, pool)
    sizes = batches.by_scenario(selection, profile, models, requested, arms, precisions, placement.device)
    left_out: tuple[Warning_, ...] = ()
    if "training" in sizes:
        sizes["training"], left_out = processes.divisible(selection, sizes["training"], together)
    depths = decoding.models_of(selection, profile.name, models, requested, arms, placement.device)
    cached = next((sizes[each.name] for each in requested if each.decodes), {})
    if selection.own is None:
        for each in sizes.values():
            batches.check_room(each, control_groups.limit_bytes())
    decoding.check_room({name: cached[name] for name in depths}, control_groups.limit_bytes())
    measured = cases(
        scenarios,
        models,
        precisions,
        threads,
        sizes,
        placement.device,
        together,
        depths,
        decoding.kv_caches_of(selection, requested, arms),
        trained=names.trained_precisions(arms, precisions, placement.device),
    )
    return Plan(
        profile=profile,
        blocks=blocks(measured, arms, selection, profile),
        models=models,
        backends=tuple(dict.fromkeys(msgspec.structs.replace(arm, ordinal=1).id for arm in arms)),
        scenarios=tuple(dict.fromkeys(case.scenario for case in measured)),
        precisions=precisions,
        batches=next((sizes[each.name] for each in requested if each.batched), {}),
        threads=threads,
        processes=together,
        cpus=tuple(sorted(pool.cpus[: max(threads) * max(together)])),
        cpus_requested=selection.cpus,
        training_batches=sizes.get("training", {}),
        decoding_batches={name: cached[name] for name in depths},
        gpu=placement.gpu,
        warnings=(
            *placement.warnings,
            *left_out,
            *(notices.cuda_build(arm.id) for arm in arms if is_cuda_build(arm.variant, arm.version)),
            *_known_wrong(arms, selection, placement.device),
            *notices.of_cpus(len(arranged.allowed), arranged.quota),
        ),
        own=own,
        own_weights=selection.own_weights,
    )


def _models_of(scenarios: Sequence[str]) -> tuple[str, ...]:
    """Return the models of a run that names none: decoders and operators only where their scenarios are named."""
    decodes = [bool(registered.get(name).decodes) for name in scenarios]
    single = [registered.get(name).operators for name in scenarios]
    some = () if all(one or other for one, other in zip(decodes, single, strict=True)) else default_models()
    return some + (decoding.decoders() if any(decodes) else ()) + (zoo.operators() if any(single) else ())


def _known_wrong(arms: Sequence[Arm], selection: Selection, device: str) -> Iterator[Warning_]:
    """Warn of frameworks that are known to answer wrongly; what the current interpreter has, no lock says."""
    table = compatibility.read()
    for arm in arms if device == "cpu" and selection.locked else ():
        if arm.ordinal == 1 and arm.launcher != "host":
            versions = catalogue.lock(arm.image, arm.variant, arm.version).versions
            for known in libraries.known_wrong(table, versions, arm.backend):
                if known.row.own and selection.own is None:
                    continue
                yield notices.known_wrong(arm.id, known.sentence, known.row.remedy)


def _arranged(available: Available) -> Topology:
    if available is None:
        return topology.read()
    return available if isinstance(available, Topology) else topology.unknown(available)


def _check_device(requested: Sequence[Scenario], placement: Placement) -> None:
    on_device = next((each.name for each in requested if each.on_device), None)
    if placement.gpu is None and on_device is not None:
        raise LevelfieldError(
            f"{on_device} keeps inputs and outputs on a GPU, and none is used.",
            fix="Ask for latency or throughput, or for a GPU with --gpu 0.",
        )
