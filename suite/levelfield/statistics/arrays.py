"""Arrays with missing values, and the checks that every function here makes of what it is given."""

import warnings
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray


class InsufficientData(ValueError):  # noqa: N818 (it is a refusal and reads as one where it is caught)
    """Too few launches, rounds or samples for the requested result."""


class UnusableData(ValueError):  # noqa: N818 (the same)
    """Values that no measurement can give: infinite, not a number, zero or negative times, the wrong shape."""


Floats: TypeAlias = NDArray[np.float64]


def positive_times(times: ArrayLike, *, what: str) -> Floats:
    """Return `times` as a float array of one dimension, all finite and above zero.

    `times`, shape (n,): measured times. `what`: what the values are called in a refusal. Raises UnusableData: not
    one-dimensional, or a value is NaN, infinite, zero or negative. Raises InsufficientData: no values.
    """
    values = np.asarray(times, dtype=np.float64)
    if values.ndim != 1:
        raise UnusableData(f"The {what} must be one row of numbers, not an array of shape {values.shape}.")
    if not values.size:
        raise InsufficientData(f"0 {what}: at least 1 is needed.")
    bad = ~(np.isfinite(values) & (values > 0))
    if bad.any():
        first = int(bad.argmax())
        raise UnusableData(
            f"{int(bad.sum())} of {values.size} {what} are not times (number {first} is {values[first]}): "
            "every time must be finite and above zero."
        )
    return values


def finite_or_missing(values: ArrayLike, *, dimensions: int, what: str) -> Floats:
    """Return `values` as a float array in which NaN means *missing* and nothing is infinite.

    `values`: numbers, in any unit. `dimensions`: how many the array must have. `what`: what the values are called in a
    refusal. Raises UnusableData: the wrong number of dimensions, or an infinite value (the log of a zero time, or an
    overflow).
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != dimensions:
        raise UnusableData(f"The {what} must have {dimensions} dimensions, not {array.ndim}.")
    if np.isinf(array).any():
        raise UnusableData(
            f"The {what} hold an infinite value: a time was zero or overflowed. Mark it missing (NaN), with its reason."
        )
    return array


def without_missing(values: Floats) -> Floats:
    """Return the values that are not NaN, in one dimension."""
    return values[~np.isnan(values)]


def logs_of(costs: ArrayLike, what: str) -> Floats:
    """Return the logarithms of the costs that are not missing, in one dimension.

    `costs`, shape (n,): above zero; NaN where one is missing. `what`: what the costs are called in a refusal. Raises
    UnusableData: not one dimension, or a cost is zero, below zero or infinite.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(np.asarray(costs, dtype=np.float64), 0.0))
    return without_missing(finite_or_missing(logs, dimensions=1, what=what))


def median_of_present(values: Floats, *, axis: int, keepdims: bool = False) -> Floats:
    """Return medians along an axis over what is not missing.

    `values`: NaN where a value is missing. `axis`: along which the median is taken. `keepdims`: whether that axis
    stays, with one element. Returns: NaN where nothing is present: a launch without any window, or a round of which no
    window counts.
    """
    if values.size and not np.isnan(values).any():  # the same medians, in a third of the time
        return np.asarray(np.median(values, axis=axis, keepdims=keepdims))
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="All-NaN slice encountered|Mean of empty slice", category=RuntimeWarning
        )
        medians: Floats = np.nanmedian(values, axis=axis, keepdims=keepdims)
    return medians


def checked_confidence(confidence: float) -> float:
    """Return `confidence`. Raises ValueError: not strictly between 0 and 1, such as 95 instead of 0.95."""
    if not 0 < confidence < 1:
        raise ValueError(f"A confidence lies between 0 and 1, such as 0.95; {confidence} does not.")
    return float(confidence)
