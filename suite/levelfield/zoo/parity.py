"""Are two outputs the same? Errors against the reference, the gate, and a fingerprint of the output."""

import math
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.zoo import bits

TOLERANCES = MappingProxyType({"fp32": 1e-5, "tf32": 4e-3, "bf16": 3e-2, "fp16": 4e-3, "int8": 2e-1, "int4": 1e-1})
"""Largest relative error that counts as equal, by precision.

fp32
    Five frameworks came within 3e-7 … 9e-7 of the float64 reference. The smallest real mistake tried was twenty times
    the gate: tanh-GELU 2.2e-4, LayerNorm epsilon 1e-5 for 1e-12 5.6e-4, BatchNorm epsilon 1e-3 for 1e-5 5e-3, ResNet
    v1.0 strides 4.6e-2.
bf16
    8 bits of significand round by u = 2⁻⁸ = 3.9e-3 at the most. Roundings that know nothing of each other add up as the
    root of their number, and are averaged in sums: 4e-3 … 2e-2 (u … 5 u) were measured over all models, and the gate is
    8 u. It tells only the coarsest of the mistakes above from rounding; the same definition in fp32 catches the rest.
fp16, tf32
    11 bits, u = 2⁻¹¹: an eighth of bf16's, where nothing leaves fp16's range. On an H200 torch, torch.compile and JAX
    came within 2e-4 … 1.9e-3 in fp16 and 3.6e-4 … 5.3e-4 in TF32 over the three core models (u is 4.9e-4), and the gate
    is 8 u, as in bf16.
int8
    A range of ± r in 255 steps rounds with a deviation of 2r ÷ 255 ÷ √12; of activations that reach four deviations,
    that is 0.9 % of their size, and of weights with a scale of their own for every channel 0.4 %. 1 % a product, as the
    root of 6, 54 and 96 products (the MLP, ResNet-50, BERT): 2 %, 7 % and 10 %
    (measured: 1.2 %, 2.0 % and 6.5 %). The gate is twice the largest. It bounds the angle as well: the cosine with the
    reference is 0.98 at the least.
int4
    Of a user's own files alone, whose reference has the same weights: what differs is whether a runtime rounds
    activations to 8 bits, in blocks of 32 with a scale each. The largest of 32 is 2.4 deviations on average, so that a
    product is rounded by 2.4 ÷ 127 ÷ √12 = 0.54 % where int8 has 1 %: the gate is half of int8's.
"""

MOST = 0.5
"""Of this tool's own models: what is off by half of its size is wrong in every precision, and a constant answer has a
centred error of 1."""
FLOOR = 1 / 8
"""Of the scale of all numbers, which that of a row counts as at the least."""
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
    element: float = math.inf
    """Largest error of a single number, |out − ref| / (|ref| + the scale of its row): one wrong number among thousands
    hardly shows in the others."""
    cosine: float | None = None
    """Of the angle between the two, over all their numbers; None where one is zero or not finite."""
    top_1: float | None = None
    """Share of inputs whose largest number is the same one as the reference's; None where an output is no vector of
    several numbers (classes)."""


class Judgement(msgspec.Struct, frozen=True):
    """Whether an output may be timed and ranked, and why not."""

    equal: bool
    tolerance: float
    reason: str
    """One sentence; empty when equal."""
    errors: Errors | None
    """None when the shapes differ."""
    centred_tolerance: float = math.inf


def compare(output: npt.NDArray[Any], reference: npt.NDArray[np.float64]) -> Errors:
    """Measure the difference between an output and the reference; raises ValueError where the shapes differ.

    It is not finite where one of the two holds NaN or infinity.
    """
    if output.shape != reference.shape:
        raise ValueError(f"The output has shape {output.shape} and the reference {reference.shape}.")
    if output.size == 0:
        raise ValueError("The output is empty, so there is nothing to compare.")
    if not (np.isfinite(output).all() and np.isfinite(reference).all()):
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
        element=_largest(out, reference),
        cosine=_cosine(out, reference),
        top_1=_top_1(out, reference),
    )


def settled(
    output: npt.NDArray[np.float64], reference: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return both with 0 where they hold the same infinity, or NaN: there they are equal.

    Examples
    --------
    >>> settled(np.array([np.nan, -np.inf, 1.0]), np.array([np.nan, np.inf, 1.0]))[0].tolist()
    [0.0, -inf, 1.0]
    """
    same = ~np.isfinite(reference) & ((output == reference) | (np.isnan(output) & np.isnan(reference)))
    return np.where(same, 0.0, output), np.where(same, 0.0, reference)


def judge(
    output: npt.NDArray[Any],
    reference: npt.NDArray[np.float64],
    precision: str = "fp32",
    element: float = math.inf,
    centred: float = MOST,
) -> Judgement:
    """Decide whether an output equals the reference within the tolerance of its precision.

    `output`: what a backend answered, shape (batch, …). `element`, `centred`: how far the reference's single numbers
    and its centred self move (`zoo.sensitivity`); the centred error may be `MOST` at the most, and in fp32 no larger
    than the plain one. Raises ValueError: if no tolerance is known for the precision.
    """
    if precision not in TOLERANCES:
        raise ValueError(f"No tolerance is known for precision {precision!r}; there are {', '.join(TOLERANCES)}.")
    tolerance = TOLERANCES[precision]
    if output.shape != reference.shape:
        reason = f"The output has shape {output.shape} where the reference has {reference.shape}."
        return Judgement(equal=False, tolerance=tolerance, reason=reason, errors=None)
    errors = compare(output, reference)
    limit = tolerance if precision == "fp32" else max(tolerance, min(MOST, centred))
    return Judgement(
        equal=not (reason := _reason(errors, tolerance, limit, element)),
        tolerance=tolerance,
        reason=reason,
        errors=errors,
        centred_tolerance=limit,
    )


def sizes(reference: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return what an error of each number is relative to: its size and the scale of its row.

    The scale is the root of the mean square over the last axis, and an eighth of that over all numbers at the least:
    a row of nothing but small differences of large numbers has their rounding. Ones where all numbers are zero.
    """
    squares = np.square(reference)
    rows = np.sqrt(squares.mean(axis=-1, keepdims=True)) if reference.ndim else np.abs(reference)
    whole = float(np.sqrt(squares.mean()))
    return np.abs(reference) + np.maximum(rows, whole * FLOOR) if whole else np.ones_like(reference)


def why_wrong(element: float, allowed: float, name: str = "") -> str:
    """Say that a single number is wrong; empty where none is."""
    if element <= allowed:
        return ""
    of = f" of the output {name}" if name else ""
    return (
        f"A number{of} is off by {element:.1e} of its size and its row's; rounding allows {allowed:.1e}, however small "
        "the error of all numbers together."
    )


def project(output: npt.NDArray[Any], count: int = 64, seed: str = "projection") -> tuple[float, ...]:
    """Project an output onto fixed random ±1 directions, scaled by 1/√n.

    A few numbers that keep an output's identity: they show years later whether two runs drifted apart. The squared
    distance of two projections estimates that of the outputs (Achlioptas, "Database-friendly random projections",
    2003).
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


def _largest(out: npt.NDArray[np.float64], ref: npt.NDArray[np.float64]) -> float:
    return float((np.abs(out - ref) / sizes(ref)).max())


def _relative(out: npt.NDArray[np.float64], ref: npt.NDArray[np.float64]) -> float:
    error, size = float(np.linalg.norm(out - ref)), float(np.linalg.norm(ref))
    if size == 0:
        return 0.0 if error == 0 else math.inf
    return error / size


def _cosine(out: npt.NDArray[np.float64], ref: npt.NDArray[np.float64]) -> float | None:
    sizes = float(np.linalg.norm(out)) * float(np.linalg.norm(ref))
    return float(np.vdot(out, ref)) / sizes if sizes else None


def _top_1(out: npt.NDArray[np.float64], ref: npt.NDArray[np.float64]) -> float | None:
    if ref.ndim != 2 or ref.shape[1] < 2:
        return None
    return float((out.argmax(axis=1) == ref.argmax(axis=1)).mean())


def _reason(errors: Errors, tolerance: float, centred: float, element: float) -> str:
    if not errors.finite:
        return "The output holds NaN or infinity."
    if errors.relative_l2 > tolerance:
        return f"The relative error is {errors.relative_l2:.1e}, over the tolerance of {tolerance:.0e}."
    if errors.centred_relative_l2 is not None and errors.centred_relative_l2 > centred:
        return f"The centred relative error is {errors.centred_relative_l2:.1e}, over the tolerance of {centred:.0e}."
    return why_wrong(errors.element, element)
