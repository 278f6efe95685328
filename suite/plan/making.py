"""From a user's selection to a plan: which arm computes where, on which CPUs, and what is measured."""

import os
from collections import Counter
from collections.abc import Sequence

import msgspec

from suite import scenarios as registered
from suite.backends import registry
from suite.compatibility.devices import Nvidia
from suite.errors import LevelfieldError
from suite.machine import devices, driver
from suite.plan import arms as arm_names
from suite.plan import cpu_pinning, installed, precision, processes, serving, trainings
from suite.plan.blocks import blocks
from suite.plan.cases import cases
from suite.plan.names import known, names_of_backends, names_of_models
from suite.plan.placement import DeviceRequest, Placement, on_cpu, place
from suite.plan.profiles import PROFILES
from suite.plan.types import Plan, Selection
from suite.prepare.own_model import support
from suite.record.schema import Arm, Warning_
from suite.scenarios import Scenario


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
        everybody = support.readers(everybody)
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
    """Decide which arms compute on a GPU. Nothing is looked for where all compute on the CPU.

    Parameters
    ----------
    selection
        GPU and variant that the user named.
    arms
        As they were typed.
    here
        Driver and GPUs of this machine; None: the driver is asked, if it matters.
    named
        Whether the user named the arms, so that none may be left out.

    Raises
    ------
    LevelfieldError
        The GPU or the variant that was named cannot be used.
    """
    gpu = devices.index_of(selection.gpu) if selection.gpu is not None else None
    wish = DeviceRequest(selection.variant, gpu, named=named, locked=selection.locked)
    if selection.variant == "cpu" and gpu is None and all(arm.variant == "cpu" for arm in arms):
        return on_cpu(arms, wish)
    return place(arms, wish, here or driver.nvidia())


def assemble(selection: Selection, placement: Placement, available: Sequence[int] | None) -> Plan:
    """Make the plan of arms that have been placed.

    Parameters
    ----------
    selection
        What the user named; the rest comes from the profile.
    placement
        Arms with their variants, and the GPU.
    available
        Numbers of the CPUs to use; None: those that this process may use.

    Raises
    ------
    LevelfieldError
        As in `make`.
    """
    arms = placement.arms
    profile = PROFILES[known("profile", [selection.profile], PROFILES)[0]]
    models = known("model", selection.models, names_of_models()) or names_of_models()
    scenarios = known("scenario", selection.scenarios, registered.NAMES) or profile.scenarios
    wanted = selection.precisions
    if (own := selection.own) is not None:
        support.check(own, selection.models, arms)
        models, scenarios = (own.model,), support.scenarios(own, selection.scenarios, profile.scenarios)
        wanted = support.precisions(own, selection.precisions)
    asked = [registered.get(name) for name in scenarios]
    _check_device(asked, placement)
    precisions = precision.chosen(wanted, arms, placement.device)
    there = tuple(available if available is not None else sorted(os.sched_getaffinity(0)))
    numbers = processes.counts(selection, scenarios, placement.device)
    threads = processes.threads(selection, numbers, there)
    served = serving.in_batches(selection, profile, models, scenarios)
    trainings.check_precisions(selection, precisions)
    trainable = trainings.PRECISION in precisions
    to_target = (
        trainings.to_target(selection, arms, profile, models)
        if trainable and any(each.to_target for each in asked)
        else {}
    )
    in_steps = (
        trainings.in_steps(selection, arms, profile, models) if trainable and any(each.trains for each in asked) else {}
    )
    in_steps, left_out = processes.divisible(selection, in_steps, numbers)
    sizes = {each.name: served for each in asked if each.batched}
    sizes |= {each.name: in_steps for each in asked if each.trains}
    sizes |= {each.name: to_target for each in asked if each.to_target}
    measured = processes.spread(cases(scenarios, models, precisions, threads, sizes, placement.device), numbers)
    return Plan(
        profile=profile,
        blocks=blocks(measured, arms, selection, profile),
        models=models,
        backends=tuple(dict.fromkeys(msgspec.structs.replace(arm, ordinal=1).id for arm in arms)),
        scenarios=tuple(dict.fromkeys(case.scenario for case in measured)),
        precisions=precisions,
        batches=served if any(each.batched for each in asked) else {},
        threads=threads,
        processes=numbers,
        cpus=cpu_pinning.pinned(max(threads) * max(numbers), there),
        training_batches=in_steps,
        gpu=placement.gpu,
        warnings=(*placement.warnings, *left_out),
        own=own,
    )


def _check_device(asked: Sequence[Scenario], placement: Placement) -> None:
    on_device = next((each.name for each in asked if each.on_device), None)
    if placement.gpu is None and on_device is not None:
        raise LevelfieldError(
            f"{on_device} keeps inputs and outputs on a GPU, and none is used.",
            fix="Ask for latency or throughput, or for a GPU with --gpu 0.",
        )
