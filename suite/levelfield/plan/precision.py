"""Which precisions are measured: those asked for, and each must have at least one arm that computes in it."""

from collections.abc import Sequence

from levelfield.backends import precisions
from levelfield.backends.info import PRECISIONS
from levelfield.errors import LevelfieldError
from levelfield.plan.names import known
from levelfield.record.schema import Arm
from levelfield.scenarios import Scenario
from levelfield.zoo import models as zoo

DEFAULT = "fp32"
QUANTIZED = "int8"


def chosen(requested: Sequence[str], arms: Sequence[Arm], device: str, *, own: bool = False) -> tuple[str, ...]:
    """Return the precisions to measure.

    `requested`: precisions that the user named; empty: `DEFAULT`. `own`: it is that of the user's own file. Raises
    LevelfieldError: there is no such precision, or none of the arms computes in it; the message gives the reasons.
    """
    requested = known("precision", requested, PRECISIONS) or (DEFAULT,)
    for precision in requested:
        reasons = [precisions.why_not(arm.backend, precision, device, own=own) for arm in arms]
        if all(reasons):
            there = [name for name in PRECISIONS if name != precision]
            others = [name for name in there if any(name in precisions.supported(arm.backend, device) for arm in arms)]
            raise LevelfieldError(
                f"Nobody here computes in {precision} on the {device.upper() if device == 'cpu' else 'GPU'}. "
                + " ".join(dict.fromkeys(reasons)),
                fix=f"Choose --precision {','.join(others)}."
                if not own
                else f"Name a backend that does, or give a file in {' or '.join(others)}.",
            )
    return requested


def trained(arms: Sequence[Arm], requested: Sequence[str], device: str) -> tuple[str, ...]:
    """Return those of the precisions in which at least one arm trains."""
    able = {name for arm in arms for name in precisions.supported(arm.backend, device, training=True)}
    return tuple(name for name in requested if name in able)


def refuse_training(arms: Sequence[Arm], precision: str, device: str) -> None:
    """Refuse to train in a precision in which no arm does.

    Raises LevelfieldError: with each arm's reason.
    """
    reasons = [precisions.why_not(arm.backend, precision, device, training=True) for arm in arms]
    raise LevelfieldError(
        f"No backend here trains in {precision}. {' '.join(filter(None, dict.fromkeys(reasons)))}",
        fix=f"Choose --precision {','.join(trained(arms, PRECISIONS, device))}, or other scenarios.",
    )


def check_fp32(scenarios: Sequence[Scenario], precisions: Sequence[str]) -> None:
    """Refuse decoding and single operators where fp32 is not among the precisions.

    Raises LevelfieldError: nothing of such a scenario would be measured.
    """
    single = [each for each in scenarios if each.decodes or each.operators]
    if DEFAULT not in precisions and single:
        raise LevelfieldError(
            f"{single[0].name} is measured in fp32 alone.",
            fix="Add fp32 to --precision, or ask for other scenarios.",
        )


def check_quantized(models: Sequence[str], precisions: Sequence[str]) -> None:
    """Refuse 8 bits of a model that is not quantised.

    Raises LevelfieldError: a model says nothing of what is quantised in it.
    """
    left = [name for name in models if not zoo.get(name).quantized] if QUANTIZED in precisions else []
    if left:
        there = [name for name in zoo.names() if zoo.get(name).quantized]
        raise LevelfieldError(
            f"{', '.join(left)} cannot be measured in {QUANTIZED}: what would be quantised is not defined.",
            fix=f"Leave {QUANTIZED} out, or ask for {', '.join(there)}.",
        )
