"""Which models are trained, in steps or to a target, and in which batches; only where an arm can train."""

from collections.abc import Sequence

from suite import scenarios
from suite.backends import registry
from suite.errors import LevelfieldError
from suite.plan.names import asked_by_name, names_of_backends
from suite.plan.profiles import Profile
from suite.plan.sizes import batches
from suite.plan.types import Selection
from suite.record.schema import Arm
from suite.zoo.training import convergence

PRECISION = "fp32"
"""What the recipes are of."""


def in_steps(
    selection: Selection, arms: Sequence[Arm], profile: Profile, chosen: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return the models whose training steps are timed, each with its batches.

    Parameters
    ----------
    selection
        Batches and scenarios that the user named.
    arms
        All arms of the run.
    profile
        Models and batches where the user did not name the scenario.
    chosen
        All models of the run.

    Returns
    -------
    dict of str to tuple of int
        Empty where no arm can train and the user did not name the scenario.

    Raises
    ------
    LevelfieldError
        Training was named, and no arm can train.
    """
    asked = asked_by_name(selection.scenarios, profile.scenarios, lambda each: each.trains)
    if not _can_train(arms, asked=asked):
        return {}
    trained = [model for model in chosen if model in (profile.training_batches if asked else profile.trained)]
    sizes = {model: selection.batches or selection.training_batches_of.get(model, ()) for model in trained}
    return {model: batches(sizes[model], profile.training_batches[model]) for model in trained}


def to_target(
    selection: Selection, arms: Sequence[Arm], profile: Profile, chosen: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return the models that are trained to a target, each with the one batch of its recipe.

    Parameters
    ----------
    selection, arms, profile, chosen
        As in `in_steps`.

    Returns
    -------
    dict of str to tuple of int
        Only models that have a network for it.

    Raises
    ------
    LevelfieldError
        Convergence was named, and no arm can train.
    """
    if not _can_train(arms, asked=asked_by_name(selection.scenarios, profile.scenarios, lambda each: each.to_target)):
        return {}
    return {model: (convergence.of(model).batch,) for model in chosen if convergence.known(model)}


def check_precisions(selection: Selection, precisions: Sequence[str]) -> None:
    """Refuse trainings that were named without the precision in which they are measured.

    Parameters
    ----------
    selection
        Scenarios that the user named.
    precisions
        All precisions of the run.

    Raises
    ------
    LevelfieldError
        A training was named, and fp32 is not among the precisions.
    """
    asked = [scenarios.get(name) for name in selection.scenarios]
    if PRECISION not in precisions and any(each.trains or each.to_target for each in asked):
        raise LevelfieldError(
            "Training is measured in fp32 alone.", fix="Add fp32 to --precision, or ask for other scenarios."
        )


def _can_train(arms: Sequence[Arm], *, asked: bool) -> bool:
    """Say whether any arm can train.

    Raises
    ------
    LevelfieldError
        None can, and it was asked for.
    """
    if any(registry.get(arm.backend).trains for arm in arms):
        return True
    if asked:
        names = ", ".join(dict.fromkeys(arm.backend for arm in arms))
        raise LevelfieldError(
            f"{names} cannot train: a finished model is read there.",
            fix=f"Ask for {', '.join(name for name in names_of_backends() if registry.get(name).trains)}.",
        )
    return False
