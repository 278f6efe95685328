"""Does a framework train as the reference does? Errors of its trajectory, and tolerances that were derived beforehand.

How far may a correct float32 program stray? Not more than some multiple of what the rounding of its very inputs does:
the reference itself is run from weights that are perturbed by 2⁻²⁴ relative (half a unit in the last place of a
float32, random signs, `DRAWS` seeded draws), and the largest error that this makes is the model's *sensitivity*. A
float32 program rounds not once but in every layer, forward and back, and sums thousands of terms, so it may stray
`FACTOR` times as far. No framework is involved; the factor was doubled once, after errors of frameworks had been
seen: `docs/method.md` says why. Each model's recipe holds its sensitivity;
`python -m levelfield.zoo.training.parity mlp`
computes it again, in some seconds for the MLP and some minutes for the larger models.

In bf16 and fp16 the same is asked of the unit roundoff u of that type, 2⁻⁸ and 2⁻¹¹, and a multiple of 32 would let
almost everything through. So the reference makes the roundings themselves: its weights are perturbed by u, and every
product, forward and back, is rounded as a mixed-precision program rounds it (`zoo.rounding`). The largest
error over `DRAWS_LOWERED` draws is the model's sensitivity in that precision, and a program may stray `FACTOR_LOWERED`
times as far. The optimizer stays in float32 and is checked as ever (`zoo.training.update`).
"""

import math
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.zoo import bits, models, rounding, weights
from levelfield.zoo.spec import Model
from levelfield.zoo.training import recipe, trajectory
from levelfield.zoo.training.recipe import Errors
from levelfield.zoo.training.trajectory import Trajectory
from levelfield.zoo.weights import SEED, Arrays

PERTURBATION = 2.0**-24
DRAWS = 2
FACTOR = 32.0
"""A network of fifty layers rounds some two hundred times on its way forward and back, one value after the other;
errors of random sign add like the root of their number, to some fifteen. As much again is for the weights, which are
rounded anew each time they are stored, where the reference's are not."""
DRAWS_LOWERED = 4
FACTOR_LOWERED = 2.0
"""What is computed between two products (a bias, an activation, a residual sum) may be rounded too, once for each
product at the most: as many roundings again, which of random sign make √2 of the error. The rest is for the draws: four
do not find the largest."""
FP32 = "fp32"


class Judgement(msgspec.Struct, frozen=True):
    """Whether a framework trains as the reference does, and why not."""

    equal: bool
    errors: Errors
    tolerances: Errors
    reason: str
    """One sentence; empty when equal."""


def roundoff(precision: str) -> float:
    """Return the unit roundoff of a precision: the largest relative error of rounding to nearest, 2⁻²⁴ in fp32."""
    return PERTURBATION if precision == FP32 else 2.0 ** -rounding.SIGNIFICANDS[precision]


def perturbed(model: Model, weights: Arrays, draw: int, precision: str = FP32) -> Arrays:
    """Return the weights, each moved up or down by one unit roundoff of itself, in float64.

    `precision`: whose unit roundoff it is.
    """
    moved: Arrays = {}
    for name, array in weights.items():
        up = bits.integers(f"{SEED}/{model.name}/perturbation/{draw}/{name}", array.size, bits=1).reshape(array.shape)
        moved[name] = array.astype(np.float64) * (1 + roundoff(precision) * (2 * up - 1))
    return moved


def sensitivity(model: Model, *, precision: str = FP32, batch: int | None = None, steps: int = recipe.STEPS) -> Errors:
    """Return the largest error that rounding, in fp32 of the weights alone, makes in a model's trajectory."""
    made, lowered = weights.make(model), rounding.SIGNIFICANDS.get(precision)
    exact = trajectory.run(model, made, batch=batch, steps=steps)
    moved = (perturbed(model, made, draw, precision) for draw in range(draws(precision)))
    found = [
        compare(trajectory.run(model, each, batch=batch, steps=steps, significand=lowered), exact) for each in moved
    ]
    return _by_kind(max, *found)


def draws(precision: str) -> int:
    """Return how many perturbations a sensitivity in this precision is the largest of."""
    return DRAWS if precision == FP32 else DRAWS_LOWERED


def tolerances(model: str, precision: str = FP32) -> Errors:
    """Return what a program may stray: the sensitivity times the precision's factor (`allowed`).

    Raises ValueError: no sensitivity is known in that precision.
    """
    return _by_kind(lambda found: allowed(found, precision), sensitivity_of(model, precision))


def sensitivity_of(model: str, precision: str = FP32) -> Errors:
    """Return a model's sensitivity as its recipe holds it. Raises ValueError: none is known in that precision."""
    if reason := why_not(model, precision):
        raise ValueError(reason)
    return sensitivities(model)[precision]


def why_not(model: str, precision: str) -> str:
    """Say why a model's training in a precision cannot be compared; empty where it can."""
    known = sensitivities(model)
    if precision in known:
        return ""
    return f"No tolerance is known for training {model} in {precision}; there are {', '.join(known)}."


def sensitivities(model: str) -> dict[str, Errors]:
    """Return a model's sensitivities as its recipe holds them, by precision."""
    rule = models.recipe(model)
    return {FP32: rule.sensitivity, **rule.lowered}


def _by_kind(function: Callable[..., float], *errors: Errors) -> Errors:
    """Apply a function to the errors of each kind; a kind that a model does not have stays None."""
    kinds = zip(Errors.__struct_fields__, *map(msgspec.structs.astuple, errors), strict=True)
    return msgspec.convert({name: None if None in found else function(*found) for name, *found in kinds}, Errors)


def allowed(sensitivity: float, precision: str = FP32) -> float:
    """Return how far a program may stray where the reference itself is as sensitive as that.

    In fp32 a sensitivity counts as one rounding at the least, since the reference does not round its products. In lower
    precisions it does.
    """
    return FACTOR * max(sensitivity, PERTURBATION) if precision == FP32 else FACTOR_LOWERED * sensitivity


def compare(found: Trajectory, reference: Trajectory) -> Errors:
    """Measure how far a trajectory is from the reference's."""
    return Errors(
        losses=largest(found.losses, reference.losses),
        gradients=_relative(found.gradients, reference.gradients),
        weights=_relative(found.weights, reference.weights),
        statistics=_relative(found.statistics, reference.statistics) if reference.statistics else None,
    )


def judge(found: Trajectory, reference: Trajectory, model: str, precision: str = FP32) -> Judgement:
    """Decide whether a trajectory is the reference's within the model's tolerances in a precision.

    What a worker says is not trusted: too few or too many numbers, NaN and infinity are errors without end.
    """
    errors, limits = compare(found, reference), tolerances(model, precision)
    return Judgement(not (reason := _reason(found, errors, limits)), errors, limits, reason)


def _reason(found: Trajectory, errors: Errors, allowed: Errors) -> str:
    bad = next((step for step, loss in enumerate(found.losses, start=1) if not math.isfinite(loss)), None)
    if bad is not None:
        return f"Training diverged: the loss of step {bad} is not a finite number."
    compared = (
        ("losses of the first ten steps", errors.losses, allowed.losses),
        ("gradient norms of the first step", errors.gradients, allowed.gradients),
        ("weights after ten steps", errors.weights, allowed.weights),
        ("running statistics after ten steps", errors.statistics, allowed.statistics),
    )
    wrong = [
        f"the {what} are off by {error:.1e} ({limit:.0e} allowed)"
        for what, error, limit in compared
        if error is not None and limit is not None and not error <= limit
    ]
    return f"It does not train as the reference does: {'; '.join(wrong)}." if wrong else ""


def largest(found: tuple[float, ...], reference: tuple[float, ...]) -> float:
    """Return the largest relative error; infinite where there are too few, too many, or not finite ones."""
    pair = _pair(found, reference)
    if pair is None:
        return math.inf
    with np.errstate(over="ignore"):  # a stranger's numbers may be of any size
        return float(np.max(np.abs(pair[0] - pair[1]) / np.abs(pair[1])))


def _relative(found: tuple[float, ...], reference: tuple[float, ...]) -> float:
    pair = _pair(found, reference)
    if pair is None:
        return math.inf
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(pair[0] - pair[1]) / np.linalg.norm(pair[1]))


def _pair(found: tuple[float, ...], reference: tuple[float, ...]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
    first, second = np.asarray(found, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    return (first, second) if first.shape == second.shape and np.isfinite(first).all() else None


if __name__ == "__main__":
    for each in sys.argv[1:]:
        for name in (FP32, "bf16", "fp16"):
            print(each, name, sensitivity(models.get(each), precision=name), flush=True)
