"""What an answer may be off by, by the rules of this version: the tolerances that a record has are held against it."""

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from levelfield.record.schema import Block, Case, OwnFile, Parity
from levelfield.zoo import models, parity, sensitivity
from levelfield.zoo.training import convergence, update
from levelfield.zoo.training import parity as training

FP32 = "fp32"
_AGREE = 1 + 1e-6
"""What is computed again, from the same numbers, by another library of matrices."""


def of(found: Parity, case: Case, *, own: bool) -> Iterator[str]:
    """Yield which of an answer's tolerances no rule gives.

    `own`: whether it is of a user's own file, whose tolerances follow from how far its reference moves.
    """
    most = _of_training(case) if case.learns else _of_own() if own else _of_zoo(case.precision)
    for what, said in _said(found):
        if isinstance(said, float) and not 0 <= said <= most.get(what, math.inf) * _AGREE:
            yield f"{said:.1e} allowed for its {what}, where the rules allow {most.get(what, math.inf):.1e} at the most"


def differ(block: Block, own: OwnFile | None) -> bool:
    """Whether arms that answer the same are judged by different tolerances.

    Of a user's own file with several outputs, the worst output's are recorded.
    """
    if own is not None and len(own.outputs) != 1:
        return False
    judged = (
        each
        for generation in block.generations
        for launch in generation.launches
        for each in (launch.parity, launch.parity_after)
        if each is not None and each.equal and launch.arm != block.canary
    )
    first, *others = [dict(_said(each)) for each in judged] or [{}]
    return not all(_agree(first[what], each.get(what)) for each in others for what in first)


def _agree(one: Any, other: Any) -> bool:  # noqa: ANN401  (a tolerance, or why there is none)
    if isinstance(one, float) and isinstance(other, float):
        return max(one, other) <= min(one, other) * _AGREE
    return isinstance(one, float) == isinstance(other, float)


def _said(found: Parity) -> Iterator[tuple[str, Any]]:
    yield "relative error", found.tolerance
    yield "centred error", found.centred_tolerance
    yield "largest error of a number", found.element_tolerance
    if found.training is not None:
        of_training = msgspec.structs.asdict(found.training.tolerances)
        yield from ((f"training error of the {kind}", said) for kind, said in of_training.items())


def _of_zoo(precision: str) -> Mapping[str, float]:
    plain = parity.TOLERANCES.get(precision, max(parity.TOLERANCES.values()))
    centred = plain if precision == FP32 else max(plain, parity.MOST)
    return {"relative error": plain, "centred error": centred, "largest error of a number": parity.MOST}


def _of_own() -> Mapping[str, float]:
    return {"relative error": sensitivity.MOST_L2}


def _of_training(case: Case) -> Mapping[str, float]:
    try:
        known = _of_recipe(case.model, case.precision, to_target=case.converges)
    except ValueError:  # a model or a precision that this version does not train
        return {}
    named = {f"training error of the {kind}": most for kind, most in known.items() if most is not None}
    return {"relative error": named["training error of the losses"], **named}


@functools.lru_cache(maxsize=64)
def _of_recipe(model: str, precision: str, *, to_target: bool) -> dict[str, float | None]:
    if to_target:
        goal = convergence.goal(model)
        if reason := convergence.why_not(goal, precision):
            raise ValueError(reason)
        losses = training.allowed(convergence.sensitivities(goal)[precision], precision)
        return {"losses": losses, "update": update.tolerance(models.get(goal.network), goal.optimizer)}
    allowed: dict[str, float | None] = msgspec.structs.asdict(training.tolerances(model, precision))
    return {**allowed, "update": update.tolerance(models.get(model), models.recipe(model).optimizer)}
