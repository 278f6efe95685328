"""How far may a correct program stray? As far as the reference itself moves when what it is given is rounded.

The reference is computed again from weights and inputs that are each moved up or down, by seeded signs, by `FACTOR`
times half a unit in the last place of the precision. The largest error that this makes over `DRAWS` draws is what an
answer may be off by. No framework is involved, and no answer is looked at. The factor multiplies the move and not the
error, so that an answer in steps (of a quantised file, or of a choice) counts as well.

Whole numbers (exponents, masks, sizes, weights of one) are the same in every precision, and stay.

References
----------
Higham, *Accuracy and Stability of Numerical Algorithms*, 2002: backward errors (chapter 1), sums (chapter 4).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.zoo import bits, parity
from levelfield.zoo.rounding import INT8_STEPS, SIGNIFICANDS
from levelfield.zoo.spec import Sensitivity, is_table
from levelfield.zoo.weights import SEED, Arrays

FACTOR = 32.0
"""In fp32. A product of *n* terms rounds each of its partial sums, where the moves round each term once: in a chain of
additions the error is √(n ÷ 12) times that of the moves, 32 times for n = 12,288, four times the longest sum of the
zoo's models (3072). Kernels add in many lanes, so that their chains are shorter; what is left is for functions that are
approximated to a few units, and for four draws, which do not find the largest."""
FACTOR_LOWERED = 8.0
"""In lower precisions products are summed in float32, so that the length of a sum does not count: the eight unit
roundoffs that `zoo.parity` allows them."""
DRAWS = 4
INPUTS = 2
"""Items that a model of the zoo answers in each draw, at the most."""
ROUNDED = 2.0
"""A reference that rounds itself, as an ONNX file's, is as far from what is meant as the answer is: they may be so far
from one another twice."""
MOST_L2 = 0.2
"""Widest tolerance of all numbers together, as that of int8."""
_UNITS: Mapping[str, float] = MappingProxyType(
    {"fp32": 2.0**-24 * FACTOR, **dict.fromkeys(("int8", "int4"), FACTOR_LOWERED / INT8_STEPS / 2)}
    | {name: 2.0**-kept * FACTOR_LOWERED for name, kept in SIGNIFICANDS.items()}
)
"""Moves, relative to a number, or in int8 to the largest one that has its scale; where weights have four bits, what
they are multiplied with may be rounded to eight."""
_BY_TYPE: Mapping[str, str] = MappingProxyType({"float16": "fp16", "bfloat16": "bf16"})


def allowed(moves: Sensitivity, precision: str) -> float:
    """Return the largest error of a single number that counts as equal.

    An answer is that to what was rounded, and is rounded itself: the two add up (a mixed forward and backward error,
    Higham, 1.5).
    """
    return moves.element + _UNITS[precision]


def moved(
    name: str, array: npt.NDArray[Any], draw: int, precision: str = "", *, whole: bool = False
) -> npt.NDArray[Any]:
    """Return an array with every number moved, in float64; an array of integers stays.

    `name`: of the stream of signs. `precision`: whose units; empty: those of the array's own type. `whole`: whether
    whole numbers move too.
    """
    if array.dtype.kind not in "fV" and array.dtype.name != "bfloat16":
        return array
    values = array.astype(np.float64)
    up = bits.integers(f"{SEED}/sensitivity/{draw}/{name}", array.size, bits=1).reshape(array.shape) * 2 - 1
    if precision in {"int8", "int4"}:
        most = np.abs(values).max(axis=tuple(range(1, values.ndim)), keepdims=True, initial=0)
        return np.asarray(values + up * most * _UNITS[precision])
    unit = _UNITS[precision or _BY_TYPE.get(array.dtype.name, "fp32")]
    # What is not finite stays as it is: a mask may be of infinities.
    moves = np.isfinite(values) & ((values != np.rint(values)) | whole)
    return np.where(moves, values * (1 + unit * up), values)


def moved_inputs(arrays: Arrays, draw: int) -> Arrays:
    """Return the inputs of one call moved, in their own types, for a network whose weights nobody can move."""
    return {name: moved(name, array, draw, whole=True).astype(array.dtype) for name, array in arrays.items()}


def moved_weights(arrays: Arrays, draw: int, precision: str) -> Arrays:
    """Return a model's weights moved; in int8 vectors and embeddings, which are not rounded, by units of fp32."""

    def of(name: str, array: npt.NDArray[Any]) -> str:
        return "fp32" if precision in {"int8", "int4"} and (array.ndim < 2 or is_table(name)) else precision

    return {name: moved(name, array, draw, of(name, array)) for name, array in arrays.items()}


def largest(
    exact: Sequence[npt.NDArray[Any]],
    draw: Callable[[int], Iterable[npt.NDArray[Any]]],
    steps: Sequence[float] = (),
) -> tuple[Sensitivity, ...]:
    """Return the sensitivity of each output.

    `draw`: computes all outputs from what is moved by this draw. `steps`: by output, the distance of its possible
    values; 0: there is none. Where such an answer moves at all, any of its numbers may be another by a step.
    """
    found = [Sensitivity(0.0, 0.0)] * len(exact)
    for number in range(DRAWS):
        outputs = list(draw(number))
        if len(outputs) == len(exact):
            found = [_larger(*each) for each in zip(found, _each(exact, outputs), strict=True)]
    return tuple(
        _by_a_step(each, expected, step) if each.element and step else each
        for each, expected, step in zip(found, exact, [*steps, *[0.0] * (len(exact) - len(steps))], strict=True)
    )


def _each(exact: Sequence[npt.NDArray[Any]], outputs: Iterable[npt.NDArray[Any]]) -> Iterator[Sensitivity]:
    for expected, output in zip(exact, outputs, strict=True):
        if output.size == 0 or output.shape != expected.shape:  # how many boxes are found may hang on a rounding
            yield Sensitivity(0.0, 0.0)
            continue
        errors = parity.compare(*parity.settled(output.astype(np.float64), expected.astype(np.float64)))
        # A draw that leaves the range of the type says nothing.
        centred = errors.centred_relative_l2 or 0.0
        yield Sensitivity(errors.relative_l2, errors.element, centred) if errors.finite else Sensitivity(0.0, 0.0)


def _larger(one: Sensitivity, other: Sensitivity) -> Sensitivity:
    return Sensitivity(*map(max, msgspec.structs.astuple(one), msgspec.structs.astuple(other)))


def _by_a_step(found: Sensitivity, expected: npt.NDArray[Any], step: float) -> Sensitivity:
    sizes = parity.sizes(expected.astype(np.float64))
    return msgspec.structs.replace(found, element=max(found.element, step / max(float(sizes.min()), step)))
