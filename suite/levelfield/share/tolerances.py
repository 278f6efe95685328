"""What an answer may be off by, by the rules of this version: the tolerances that a record has are held against it."""

import functools
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec

from levelfield.record.schema import Block, Case, OwnFile, Parity
from levelfield.zoo import models, parity, sensitivity
from levelfield.zoo.training import convergence, update
from levelfield.zoo.training import parity as training

_OWN: Mapping[str, float] = MappingProxyType({"relative error": sensitivity.MOST_L2})
_AGREE = 1e-6
"""What is computed again, from the same numbers, by another library of matrices."""


def of(found: Parity, case: Case, *, own: bool) -> Iterator[str]:
    """Yield which of an answer's tolerances no rule gives.

    `own`: whether it is of a user's own file, whose tolerances follow from how far its reference moves.
    """
    known = _OWN if own else _of_zoo(case.precision)
    if case.learns:
        known = _of_training(case.model, case.precision, to_target=case.converges)
    for what, said in _said(found).items():
        most = known.get(what, math.inf)
        if not 0 <= said <= most * (1 + _AGREE) and said < math.inf:
            yield f"{said:.1e} allowed for its {what}, where the rules allow {most:.1e} at the most"


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
    first, *others = [_said(each) for each in judged] or [{}]
    pairs = ((said, each.get(what, math.inf)) for each in others for what, said in first.items())
    return not all(math.isclose(*pair, rel_tol=_AGREE) for pair in pairs)


def _said(found: Parity) -> Mapping[str, float]:
    """Return the tolerances of each error; infinite, as no record has one, where there is none."""
    said = {
        "relative error": found.tolerance,
        "centred error": found.centred_tolerance,
        "largest error of a number": found.element_tolerance,
    }
    if found.training is not None:
        of_training = msgspec.structs.asdict(found.training.tolerances)
        said |= {f"training error of the {kind}": each for kind, each in of_training.items()}
    return {what: each if isinstance(each, float) else math.inf for what, each in said.items()}


def _of_zoo(precision: str) -> Mapping[str, float]:
    plain = parity.TOLERANCES.get(precision, max(parity.TOLERANCES.values()))
    centred = plain if precision == training.FP32 else max(plain, parity.MOST)
    return {"relative error": plain, "centred error": centred, "largest error of a number": parity.MOST}


@functools.lru_cache(maxsize=64)
def _of_training(model: str, precision: str, *, to_target: bool) -> Mapping[str, float]:
    known: dict[str, float | None]
    try:
        if to_target:
            goal = convergence.goal(model)
            network, rule = goal.network, goal.optimizer
            known = {"losses": training.allowed(convergence.sensitivities(goal)[precision], precision)}
        else:
            network, rule = model, models.recipe(model).optimizer
            known = msgspec.structs.asdict(training.tolerances(model, precision))
    except (LookupError, ValueError):  # a model or a precision that this version does not train
        return {}
    known["update"] = update.tolerance(models.get(network), rule)
    named = {f"training error of the {kind}": most for kind, most in known.items() if most is not None}
    return {"relative error": named["training error of the losses"], **named}
