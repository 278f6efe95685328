"""What can be asked of a user's own file: which backends, scenarios, precisions and batches."""

from collections.abc import Sequence

from suite.backends import registry
from suite.errors import LevelfieldError
from suite.records.schema import Arm, OwnFile

REFERENCE = "onnxruntime"
"""Image of what its answers are held against."""
SIZED_AS = "resnet50"
"""Model whose batches a profile asks of a file, of which nobody knows how large it is."""
_WHY_NOT: dict[str, str] = {
    "training": "a file says how to answer, not how to train",
    "convergence": "a file says how to answer, not how to train",
    "data-pipeline": "there is no dataset for it",
}


def readers(backends: Sequence[str]) -> tuple[str, ...]:
    """Return the backends that read ONNX files."""
    return tuple(name for name in backends if registry.get(name).reads == "onnx")


def check(own: OwnFile, models: Sequence[str], arms: Sequence[Arm]) -> None:
    """Refuse what a file cannot be measured with.

    Raises
    ------
    LevelfieldError
        Models were named too, or backends that read no ONNX file.
    """
    if models:
        raise LevelfieldError(
            "--model measures a file of your own, and --models names those of this tool.",
            fix="Ask for one of the two: they are two runs.",
        )
    others = list(dict.fromkeys(arm.backend for arm in arms if not readers([arm.backend])))
    if others:
        raise LevelfieldError(
            f"{', '.join(others)} read{'s' if len(others) == 1 else ''} no ONNX file, and {own.file} is one.",
            fix=f"Ask for {', '.join(readers((*registry.names(), *registry.names_on_gpus_only())))}.",
        )


def scenarios(own: OwnFile, asked: Sequence[str], otherwise: Sequence[str]) -> tuple[str, ...]:
    """Return the scenarios that were asked for; of those that a profile has, those that a file is for.

    Raises
    ------
    LevelfieldError
        One was asked for that a file is not for.
    """
    for scenario in asked:
        if scenario in _WHY_NOT:
            raise LevelfieldError(
                f"{own.file} cannot be measured in {scenario}: {_WHY_NOT[scenario]}.",
                fix="Ask for latency, throughput, memory or cold-start.",
            )
    return tuple(asked) or tuple(scenario for scenario in otherwise if scenario not in _WHY_NOT)


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


def check_batches(own: OwnFile, asked: Sequence[int], *, named: bool) -> None:
    """Refuse batches, and throughput where it was asked for by name (`named`), of a file whose shapes are fixed.

    Raises
    ------
    LevelfieldError
        A call is one item, whatever the file's shapes say, so that there are no batches and no throughput.
    """
    if own.batched:
        return
    if any(batch != 1 for batch in asked):
        raise LevelfieldError(
            f"The shapes of {own.file} are fixed, so that a call is a call: it counts as one item.",
            fix="Leave out --batch, or export it with a first dimension that has no size.",
        )
    if named:
        raise LevelfieldError(
            f"The shapes of {own.file} are fixed, so that a call counts as one item: its throughput is 1 ÷ latency.",
            fix="Ask for --scenarios latency, or export it with a first dimension that has no size.",
        )
