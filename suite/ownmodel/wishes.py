"""What can be asked of a user's own file: which backends, scenarios, precisions and batches."""

from collections.abc import Sequence

from suite import arms
from suite.backends import registry
from suite.errors import LevelfieldError
from suite.profiles import Profile
from suite.records.schema import OwnFile

REFERENCE = "onnxruntime"
"""Image of what its answers are held against."""
SIZED_AS = "resnet50"
"""Model whose batches a profile asks of a file, of which nobody knows how large it is."""
_WHY_NOT = {
    "training": "a file says how to answer, not how to train",
    "convergence": "a file says how to answer, not how to train",
    "data-pipeline": "there is no dataset for it",
}


def check(
    own: OwnFile, models: Sequence[str], backends: Sequence[str], scenarios: Sequence[str], everybody: Sequence[str]
) -> tuple[str, ...]:
    """Return the backends that read ONNX files.

    Raises
    ------
    LevelfieldError
        Models were named too, or backends or scenarios that a file is not for.
    """
    if models:
        raise LevelfieldError(
            "--model measures a file of your own, and --models names those of this tool.",
            fix="Ask for one of the two: they are two runs.",
        )
    readers = tuple(name for name in everybody if registry.get(name).reads == "onnx")
    others = [name for name in backends if registry.get(arms.parse(name).backend).reads != "onnx"]
    if others:
        raise LevelfieldError(
            f"{', '.join(others)} read{'s' if len(others) == 1 else ''} no ONNX file, and {own.file} is one.",
            fix=f"Ask for {', '.join(readers)}, or leave --backends out.",
        )
    for scenario in scenarios:
        if scenario in _WHY_NOT:
            raise LevelfieldError(
                f"{own.file} cannot be measured in {scenario}: {_WHY_NOT[scenario]}.",
                fix="Ask for latency, throughput, memory or cold-start.",
            )
    return readers


def precisions(own: OwnFile, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the one precision that a file is run in: its own.

    Raises
    ------
    LevelfieldError
        Another was asked for.
    """
    if any(name != own.precision for name in asked):
        raise LevelfieldError(
            f"{own.file} is in {own.precision}, and is measured as it is.",
            fix=f"Leave out --precision; to measure it in another, give a file in {' or '.join(asked)}.",
        )
    return (own.precision,)


def batches(own: OwnFile, asked: Sequence[int], profile: Profile) -> tuple[int, ...]:
    """Return the batches of throughput where nobody asked for others.

    Raises
    ------
    LevelfieldError
        The file's shapes are fixed, and others than they say were asked for.
    """
    if own.batched:
        return profile.batches[SIZED_AS]
    if any(batch != 1 for batch in asked):
        raise LevelfieldError(
            f"The shapes of {own.file} are fixed, so that a call is a call: it counts as one item.",
            fix="Leave out --batch, or export it with a first dimension that has no size.",
        )
    return (1,)
