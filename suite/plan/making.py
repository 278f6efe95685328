"""From what was typed to a plan: who computes where, on which CPUs, and what is measured."""

import os
from collections import Counter
from collections.abc import Sequence

import msgspec

from suite import arms as arm_names
from suite import cores, installed, placing
from suite.backends import registry
from suite.compatibility.devices import Nvidia
from suite.errors import LevelfieldError
from suite.machine import devices, driver
from suite.own_file import wishes
from suite.placing import Placement, Wish
from suite.plan import precision, processes, serving, trainings
from suite.plan.blocks import blocks
from suite.plan.cases import cases
from suite.plan.names import known, names_of_backends, names_of_models
from suite.plan.scenarios import BATCHED, ON_DEVICE, SCENARIOS, TO_TARGET, TRAINED
from suite.plan.types import Plan, Selection
from suite.profiles import PROFILES
from suite.records.schema import Arm, Warning_


def make(selection: Selection, *, available: Sequence[int] | None = None, here: Nvidia | None = None) -> Plan:
    """Turn a selection into a plan.

    Parameters
    ----------
    selection
        What the user typed.
    available
        CPUs this process may use; asked from the kernel where None.
    here
        NVIDIA's driver and GPUs; asked where None, and only where a GPU may be used.

    Raises
    ------
    LevelfieldError
        Unknown names (with the close matches), and selections that cannot be.
    """
    everybody = (*names_of_backends(), *registry.names_on_gpus_only())
    if selection.own is not None:
        everybody = wishes.readers(everybody)
    twice = next((name for name, count in Counter(selection.backends).items() if count > 1), None)
    if twice is not None:
        raise LevelfieldError(
            f"{twice} is named twice.", fix=f"Name it once; --control {twice} measures it a second time."
        )
    backends = selection.backends or everybody
    wanted = arm_names.of_one_launcher(tuple(map(arm_names.parse, backends)))
    missing: tuple[Warning_, ...] = ()
    if not selection.locked and not selection.backends:
        wanted, missing = installed.only(wanted, exported=selection.own is None)
    placement = placed(selection, wanted, here, named=bool(selection.backends))
    arms = tuple({arm.id: arm for arm in placement.arms}.values())
    placement = msgspec.structs.replace(placement, arms=arms, warnings=(*missing, *placement.warnings))
    return assemble(selection, placement, available)


def placed(selection: Selection, arms: tuple[Arm, ...], here: Nvidia | None, *, named: bool) -> Placement:
    """Decide which arms compute on a GPU; where nobody asked for one, and none is there, nothing is looked for.

    Raises
    ------
    LevelfieldError
        The GPU or the variant asked for cannot be used.
    """
    gpu = devices.index_of(selection.gpu) if selection.gpu is not None else None
    wish = Wish(selection.variant, gpu, named=named, locked=selection.locked)
    if selection.variant == "cpu" and gpu is None and all(arm.variant == "cpu" for arm in arms):
        return placing.on_cpu(arms, wish)
    return placing.place(arms, wish, here or driver.nvidia())


def assemble(selection: Selection, placement: Placement, available: Sequence[int] | None) -> Plan:
    """Make the plan of arms whose places are known.

    Raises
    ------
    LevelfieldError
        As in `make`.
    """
    arms = placement.arms
    profile = PROFILES[known("profile", [selection.profile], PROFILES)[0]]
    models = known("model", selection.models, names_of_models()) or names_of_models()
    scenarios = known("scenario", selection.scenarios, SCENARIOS) or profile.scenarios
    wanted = selection.precisions
    if (own := selection.own) is not None:
        wishes.check(own, selection.models, arms)
        models, scenarios = (own.model,), wishes.scenarios(own, selection.scenarios, profile.scenarios)
        wanted = wishes.precisions(own, selection.precisions)
    _check_device(scenarios, placement)
    precisions = precision.chosen(wanted, arms, placement.device)
    there = tuple(available if available is not None else sorted(os.sched_getaffinity(0)))
    numbers = processes.counts(selection, scenarios, placement.device)
    threads = processes.threads(selection, numbers, there)
    served = serving.in_batches(selection, profile, models, scenarios)
    trainings.check_precisions(selection, precisions)
    trainable = trainings.PRECISION in precisions
    to_target = trainings.to_target(selection, arms, profile, models) if TO_TARGET in scenarios and trainable else {}
    in_steps = trainings.in_steps(selection, arms, profile, models) if TRAINED in scenarios and trainable else {}
    in_steps, left_out = processes.divisible(selection, in_steps, numbers)
    sizes = dict.fromkeys(BATCHED, served) | {TRAINED: in_steps, TO_TARGET: to_target}
    measured = processes.spread(cases(scenarios, models, precisions, threads, sizes, placement.device), numbers)
    return Plan(
        profile=profile,
        blocks=blocks(measured, arms, selection, profile),
        models=models,
        backends=tuple(dict.fromkeys(msgspec.structs.replace(arm, ordinal=1).id for arm in arms)),
        scenarios=tuple(dict.fromkeys(case.scenario for case in measured)),
        precisions=precisions,
        batches=served if any(scenario in BATCHED for scenario in scenarios) else {},
        threads=threads,
        processes=numbers,
        cpus=cores.pinned(max(threads) * max(numbers), there),
        training_batches=in_steps,
        gpu=placement.gpu,
        warnings=(*placement.warnings, *left_out),
        own=own,
    )


def _check_device(scenarios: Sequence[str], placement: Placement) -> None:
    on_device = next((scenario for scenario in scenarios if scenario in ON_DEVICE), None)
    if placement.gpu is None and on_device is not None:
        raise LevelfieldError(
            f"{on_device} keeps inputs and outputs on a GPU, and none is used.",
            fix="Ask for latency or throughput, or for a GPU with --gpu 0.",
        )
