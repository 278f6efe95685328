"""Do two outputs say the same? Errors against the reference, the gate, and a fingerprint of the output."""

import math
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from suite.zoo import bits

TOLERANCES = MappingProxyType({"fp32": 1e-5, "bf16": 3e-2})
"""Largest relative error that counts as equal, by precision.

Five frameworks came within 3e-7 … 9e-7 of the float64 reference in fp32, and 4e-3 … 2e-2 in bf16. In fp32 the smallest
real mistake tried was twenty times the gate: tanh-GELU 2.2e-4, LayerNorm epsilon 1e-5 for 1e-12 5.6e-4, BatchNorm
epsilon 1e-3 for 1e-5 5e-3, ResNet v1.0 strides 4.6e-2. The bf16 gate tells only the coarsest of these from rounding.
"""

_CHUNK = 1 << 16


class Errors(msgspec.Struct, frozen=True):
    """How far an output is from the reference; NaN and infinity in the output make every error infinite."""

    relative_l2: float
    """‖out − ref‖₂ / ‖ref‖₂."""
    centred_relative_l2: float | None
    """The same after subtracting each one's mean over the batch: a constant answer would almost pass the first. None
    for fewer than two inputs."""
    max_abs: float
    """Largest absolute difference, in the output's own unit."""
    finite: bool


class Judgement(msgspec.Struct, frozen=True):
    """Whether an output may be timed and ranked, and why not."""

    equal: bool
    tolerance: float
    reason: str
    """One sentence; empty when equal."""
    errors: Errors | None
    """None when the shapes differ."""


def compare(output: npt.NDArray[Any], reference: npt.NDArray[np.float64]) -> Errors:
    """Measure the difference between an output and the reference.

    Parameters
    ----------
    output
        What a backend answered, shape (batch, …).
    reference
        What the reference answered, same shape.

    Raises
    ------
    ValueError
        If the shapes differ, or there is nothing to compare.
    """
    if output.shape != reference.shape:
        raise ValueError(f"The output has shape {output.shape} and the reference {reference.shape}.")
    if output.size == 0:
        raise ValueError("The output is empty, so there is nothing to compare.")
    if not np.isfinite(output).all():
        centred = math.inf if len(reference) > 1 else None
        return Errors(relative_l2=math.inf, centred_relative_l2=centred, max_abs=math.inf, finite=False)
    out = output.astype(np.float64)
    return Errors(
        relative_l2=_relative(out, reference),
        centred_relative_l2=(
            _relative(out - out.mean(axis=0), reference - reference.mean(axis=0)) if len(reference) > 1 else None
        ),
        max_abs=float(np.abs(out - reference).max()),
        finite=True,
    )


def judge(output: npt.NDArray[Any], reference: npt.NDArray[np.float64], precision: str = "fp32") -> Judgement:
    """Decide whether an output equals the reference within the tolerance of its precision.

    Both the relative error and the centred one (where there is one) must be within the tolerance.

    Parameters
    ----------
    output
        What a backend answered, shape (batch, …).
    reference
        What the reference answered.
    precision
        A key of `TOLERANCES`.

    Raises
    ------
    ValueError
        If no tolerance is known for the precision.
    """
    if precision not in TOLERANCES:
        raise ValueError(f"No tolerance is known for precision {precision!r}; there are {', '.join(TOLERANCES)}.")
    tolerance = TOLERANCES[precision]
    if output.shape != reference.shape:
        reason = f"The output has shape {output.shape} where the reference has {reference.shape}."
        return Judgement(equal=False, tolerance=tolerance, reason=reason, errors=None)
    errors = compare(output, reference)
    return Judgement(
        equal=not (reason := _reason(errors, tolerance)), tolerance=tolerance, reason=reason, errors=errors
    )


def project(output: npt.NDArray[Any], count: int = 64, seed: str = "projection") -> tuple[float, ...]:
    """Project an output onto fixed random ±1 directions, scaled by 1/√n.

    A few numbers that keep an output's identity: they show years later whether two runs drifted apart. The squared
    distance of two projections estimates that of the outputs (Achlioptas, "Database-friendly random projections",
    2003).

    Parameters
    ----------
    output
        Any shape, taken in C order.
    count
        Number of directions, 1 to 64.
    seed
        Name of the stream of signs.

    Returns
    -------
    tuple of float
        `count` numbers, summed in float64.
    """
    if not 1 <= count <= 64:
        raise ValueError(f"A projection has 1 to 64 numbers; {count} were asked for.")
    flat = np.ascontiguousarray(output, dtype=np.float64).reshape(-1)
    stream = bits.generator(seed)
    total = np.zeros(count)
    for start in range(0, flat.size, _CHUNK):
        part = flat[start : start + _CHUNK]
        # Bit j of an element's word is its sign in direction j.
        raw = np.asarray(stream.random_raw(part.size), dtype="<u8").view(np.uint8).reshape(-1, 8)
        signs = np.unpackbits(raw, axis=1, count=count, bitorder="little").astype(np.float64) * 2 - 1
        total += part @ signs
    return tuple(float(value) for value in total / math.sqrt(max(flat.size, 1)))


def _relative(out: npt.NDArray[np.float64], ref: npt.NDArray[np.float64]) -> float:
    error, size = float(np.linalg.norm(out - ref)), float(np.linalg.norm(ref))
    if size == 0:
        return 0.0 if error == 0 else math.inf
    return error / size


def _reason(errors: Errors, tolerance: float) -> str:
    if not errors.finite:
        return "The output holds NaN or infinity."
    if errors.relative_l2 > tolerance:
        return f"The relative error is {errors.relative_l2:.1e}, over the tolerance of {tolerance:.0e}."
    if errors.centred_relative_l2 is not None and errors.centred_relative_l2 > tolerance:
        return f"The centred relative error is {errors.centred_relative_l2:.1e}, over the tolerance of {tolerance:.0e}."
    return ""
