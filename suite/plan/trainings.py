"""Which models are trained, in steps or to a target, and in which batches; only where somebody there can train."""

from collections.abc import Sequence

from suite.backends import registry
from suite.errors import LevelfieldError
from suite.plan.names import names_of_backends
from suite.plan.scenarios import TO_TARGET, TRAINED, by_name
from suite.plan.sizes import batches
from suite.plan.types import Selection
from suite.profiles import Profile
from suite.records.schema import Arm
from suite.zoo.training import convergence

PRECISION = "fp32"
"""What the recipes are of."""


def in_steps(
    selection: Selection, arms: Sequence[Arm], profile: Profile, chosen: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return which models are trained, and in which batches; none where no arm can train and nobody asked for it.

    Raises
    ------
    LevelfieldError
        Training was asked for, and no arm can train.
    """
    asked = by_name(TRAINED, selection.scenarios, profile.scenarios)
    if not _can_train(arms, asked=asked):
        return {}
    trained = chosen if asked else [model for model in chosen if model in profile.trained]
    sizes = {model: selection.batches or selection.training_batches_of.get(model, ()) for model in trained}
    return {model: batches(sizes[model], profile.training_batches[model]) for model in trained}


def to_target(
    selection: Selection, arms: Sequence[Arm], profile: Profile, chosen: Sequence[str]
) -> dict[str, tuple[int, ...]]:
    """Return which models have a network that is trained to a target, each with the one batch of its recipe.

    Raises
    ------
    LevelfieldError
        Convergence was asked for, and no arm can train.
    """
    if not _can_train(arms, asked=by_name(TO_TARGET, selection.scenarios, profile.scenarios)):
        return {}
    return {model: (convergence.of(model).batch,) for model in chosen if convergence.known(model)}


def check_precisions(selection: Selection, precisions: Sequence[str]) -> None:
    """Refuse trainings that were asked for without the precision they are measured in.

    Raises
    ------
    LevelfieldError
        A training was asked for by name, and fp32 was not.
    """
    if PRECISION not in precisions and {TRAINED, TO_TARGET} & set(selection.scenarios):
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
