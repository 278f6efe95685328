"""Which models each scenario measures, and in which batches. Throughput is of two items or more, never of one."""

import math
from collections.abc import Sequence

from levelfield.backends import registry
from levelfield.errors import LevelfieldError
from levelfield.machine.findings import gibibytes
from levelfield.plan import names
from levelfield.plan.decoding import FLOAT_BYTES
from levelfield.plan.names import named_explicitly, names_of_backends
from levelfield.plan.profiles import Profile
from levelfield.plan.types import Selection
from levelfield.prepare.own_model import support
from levelfield.record.schema import Arm
from levelfield.scenarios import Scenario, ScenarioName
from levelfield.zoo import models as zoo
from levelfield.zoo.training import convergence

MAX_BATCH = 65536
FP32 = "fp32"
"""What is measured token by token."""

Batches = dict[str, tuple[int, ...]]
"""Model to its batches."""


def by_scenario(
    selection: Selection,
    profile: Profile,
    models: Sequence[str],
    scenarios: Sequence[Scenario],
    arms: Sequence[Arm],
    precisions: Sequence[str],
    device: str = "cpu",
) -> dict[ScenarioName, Batches]:
    """Return the models of every scenario whose calls have a batch, and of every training, each with its batches."""
    if selection.own is None:
        models = [name for name in models if zoo.get(name).operator is None]
    batched = _in_batches(selection, profile, models, scenarios)
    named = [each for each in scenarios if each.name in selection.scenarios]
    trains = _trains(arms, precisions, device, scenarios, named=any(each.learns for each in named))
    found: dict[ScenarioName, Batches] = {}
    for each in scenarios:
        if each.to_target:
            found[each.name] = _to_target(selection, arms, profile, models) if trains else {}
        elif each.trains:
            found[each.name] = _in_steps(selection, arms, profile, models) if trains else {}
        elif each.batched:
            found[each.name] = batched
        elif each.batch > 1:
            found[each.name] = dict.fromkeys(models, (each.batch,))
        elif each.decodes:
            sizes = {
                model: checked(selection.batches or selection.decoding_batches_of.get(model, ())) for model in models
            }
            found[each.name] = {model: sizes[model] or (1,) for model in models}
    return found


def _trains(
    arms: Sequence[Arm], precisions: Sequence[str], device: str, scenarios: Sequence[Scenario], *, named: bool
) -> bool:
    """Return whether there is a precision to train in; LevelfieldError: a training was named, and there is none."""
    if not any(registry.get(arm.backend).trains for arm in arms):
        return True
    trained = names.trained_precisions(arms, precisions, device)
    left = [name for name in precisions if name not in trained]
    if named and left and (not trained or all(each.learns for each in scenarios)):
        names.refuse_training(arms, left[0], device)
    return bool(trained)


def check_room(found: Batches, most_bytes: int) -> None:
    """Refuse batches whose inputs take more than a quarter of a memory: the reference computes copies of them."""
    for name, sizes in found.items():
        item_bytes = sum(math.prod(tensor.shape) for tensor in zoo.get(name).inputs) * FLOAT_BYTES
        if max(sizes, default=0) * item_bytes > most_bytes // 4:
            raise LevelfieldError(
                f"The inputs of {name} in a batch of {max(sizes)} take {gibibytes(max(sizes) * item_bytes)}, and there "
                f"are {gibibytes(most_bytes)} of memory.",
                fix=f"Choose --batch {max(1, most_bytes // 4 // item_bytes)} or less.",
            )


def checked(batches: Sequence[int]) -> tuple[int, ...]:
    """Return batches that a user named, each once; LevelfieldError: one is empty, or larger than `MAX_BATCH`."""
    for batch in batches:
        if not 1 <= batch <= MAX_BATCH:
            raise LevelfieldError(
                f"A batch of {batch} cannot be measured.", fix=f"Choose a number from 1 to {MAX_BATCH}."
            )
    return tuple(dict.fromkeys(batches))


def _in_batches(
    selection: Selection, profile: Profile, models: Sequence[str], scenarios: Sequence[Scenario]
) -> Batches:
    """Return the models of the batched scenarios: a record's own batches as they are, else those of the profile."""
    if selection.batches_of and not selection.batches:
        recorded = selection.batches_of
        return {model: checked(recorded[model]) for model in models if model in recorded}
    typed = checked(selection.batches)
    named = named_explicitly(selection.scenarios, profile.scenarios, lambda each: each.batched)
    own = selection.own
    if own is not None:
        support.check_batches(own, typed, named=named)
        if own.batched and len(typed) > 1 and any(each.name == "latency" for each in scenarios):
            typed = tuple(batch for batch in typed if batch > 1)  # latency is of one item
    if 1 in typed and any(each.batched and not (each.from_dataset or each.driven) for each in scenarios):
        raise LevelfieldError(
            "A batch of 1 has no throughput: one item at a time is latency.",
            fix="Ask for batches of 2 or more, or for latency alone (--scenarios latency).",
        )
    if own is not None and not own.batched:
        return {}
    profiles_name = {model: zoo.get(model).package if own is None else support.SIZED_AS for model in models}
    return {
        model: typed or profile.batches.get(name) or _of_plugin(model, selection.profile)
        for model, name in profiles_name.items()
        if typed or named or name in profile.batched
    }


def _of_plugin(model: str, profile: str) -> tuple[int, ...]:
    """Return the batches of a model that a plug-in brings: profiles list those of built-in ones."""
    found = zoo.get(model).batches.get(profile, ())
    if not found:
        raise LevelfieldError(f"{model} names no batches for the profile {profile}.", fix="Name them with --batch.")
    return checked(found)


def _in_steps(selection: Selection, arms: Sequence[Arm], profile: Profile, models: Sequence[str]) -> Batches:
    """Return the models whose training steps are timed."""
    named = named_explicitly(selection.scenarios, profile.scenarios, lambda each: each.trains)
    if not _can_train(arms, named=named):
        return {}
    untrained = [model for model in selection.models if zoo.get(model).recipe is None] if named else []
    if untrained:
        raise LevelfieldError(
            f"{', '.join(untrained)} cannot be trained: there is no recipe.",
            fix=f"Leave training out, or ask for {', '.join(zoo.trained())}.",
        )
    trained = [model for model in models if model in (profile.training_batches if named else profile.trained)]
    sizes = {model: selection.batches or selection.training_batches_of.get(model, ()) for model in trained}
    return {model: checked(sizes[model]) or profile.training_batches[model] for model in trained}


def _to_target(selection: Selection, arms: Sequence[Arm], profile: Profile, models: Sequence[str]) -> Batches:
    """Return the models that are trained to a target, each with the one batch of its recipe."""
    if not _can_train(
        arms, named=named_explicitly(selection.scenarios, profile.scenarios, lambda each: each.to_target)
    ):
        return {}
    return {model: (convergence.goal(model).batch,) for model in models if model in convergence.GOALS}


def _can_train(arms: Sequence[Arm], *, named: bool) -> bool:
    """Return whether any arm can train; raises LevelfieldError where none can, and the user named the scenario."""
    if any(registry.get(arm.backend).trains for arm in arms):
        return True
    if named:
        names = ", ".join(dict.fromkeys(arm.backend for arm in arms))
        raise LevelfieldError(
            f"{names} cannot train: a finished model is read there.",
            fix=f"Ask for {', '.join(name for name in names_of_backends() if registry.get(name).trains)}.",
        )
    return False
