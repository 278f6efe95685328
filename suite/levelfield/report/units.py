"""Numbers for people: a value, its unit and as many digits as it deserves.

All values of one table column or one interval share a unit (`scale_ns`), so that they can be compared by eye.
"""

import math
from collections.abc import Callable

import msgspec

from levelfield import names
from levelfield.analysis.types import Estimate
from levelfield.record.schema import Price

NO_VALUE = "–"
"""Shown where there is no number; the reason is shown beside it."""
NBSP = "\u00a0"
"""Between a number and its unit, where no line break is allowed (U+00A0, no-break space)."""
MINUS = "\u2212"
GROUP_SPACE, count, plural = names.GROUP_SPACE, names.count, names.plural
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

MULTIPLE_FROM = 3.0
"""Ratio from which a cost is written as a multiple of the best one: `3.40×`, not `+240 %`."""


class Scale(msgspec.Struct, frozen=True):
    """A unit, and how many of the base unit it holds."""

    unit: str
    factor: float


_TIMES = (Scale("ns", 1.0), Scale("µs", 1e3), Scale("ms", 1e6), Scale("s", 1e9))
_BYTES = (Scale("B", 1.0), Scale("KiB", 2.0**10), Scale("MiB", 2.0**20), Scale("GiB", 2.0**30), Scale("TiB", 2.0**40))
_COUNTS = (Scale("", 1.0), Scale("k", 1e3), Scale("M", 1e6), Scale("G", 1e9))


def scale_ns(value_ns: float) -> Scale:
    """Return the largest unit of time in which the value is at least one: ns, µs, ms, s."""
    return _largest(_TIMES, value_ns)


def scale_bytes(value_bytes: float) -> Scale:
    """Return the largest binary unit in which the value is at least one."""
    return _largest(_BYTES, value_bytes)


def scale_count(value: float) -> Scale:
    """Return the largest of M and G in which the value is at least one, k from ten thousand on, else no unit."""
    if 1e3 <= abs(value) < 1e4:
        return _COUNTS[0]
    return _largest(_COUNTS, value)


def _largest(scales: tuple[Scale, ...], value: float) -> Scale:
    return next((scale for scale in reversed(scales) if abs(value) >= scale.factor), scales[0])


def digits(value: float, significant: int = 3) -> str:
    """Write a number with so many significant digits, never in scientific notation, with thin spaces in thousands.

    `value`: an infinite value or NaN gives the sign of a missing value.

    >>> digits(21.345), digits(0.20449), digits(512.4)
    ('21.3', '0.204', '512')
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return NO_VALUE
    return fixed(value, decimals_of(value, significant))


def decimals_of(value: float, significant: int = 3) -> int:
    """Return how many decimals a number of so many significant digits has: 1 for 21.3, 0 for 512 and for 5120."""
    if value == 0:
        return 0
    exponent = math.floor(math.log10(abs(value)))
    rounded = round(value, significant - 1 - exponent)  # 9.996 is 10.0
    exponent = math.floor(math.log10(abs(rounded)))
    return max(0, significant - 1 - exponent)


def fixed(value: float, decimals: int) -> str:
    """Write a number with a fixed number of decimals, with thin spaces in thousands."""
    return f"{value:,.{decimals}f}".replace(",", GROUP_SPACE).replace("-", MINUS)


def time(value_ns: float | None) -> str:
    """Write nanoseconds with their unit, `21.3 ms`; None gives the sign of a missing value."""
    return NO_VALUE if value_ns is None else _with_unit(value_ns, scale_ns(value_ns))


def size(value_bytes: float | None) -> str:
    """Write bytes with their unit, `1.21 GiB`; None gives the sign of a missing value."""
    return NO_VALUE if value_bytes is None else _with_unit(value_bytes, scale_bytes(value_bytes))


def _with_unit(value: float, scale: Scale) -> str:
    return f"{digits(value / scale.factor)}{NBSP}{scale.unit}"


def rate(value: float | None) -> str:
    """`46.5`, `12.3 k`: a number per second, without the unit."""
    if value is None:
        return NO_VALUE
    return _with_unit(value, scale_count(value)).rstrip(NBSP)


def amount(value: float, unit: str) -> str:
    """Write an amount or a rate with its unit: `8.18 GFLOP`, `164 GFLOP/s`."""
    return _with_unit(value, scale_count(value)) + unit


def spread(estimate: Estimate, scale: Scale) -> tuple[str, str]:
    """Write an estimate and its bounds in a unit: `("21.3", "20.9–21.8")`.

    All three have the decimals of three significant digits of the value, or up to two more where the bounds would look
    equal.

    `estimate`: in the base unit of `scale`. `scale`: unit to write it in; the unit itself is not written. Returns the
    bounds are empty where there are none.
    """
    value = estimate.value / scale.factor
    decimals = decimals_of(value)
    if estimate.low is None or estimate.high is None:
        return fixed(value, decimals), ""
    low, high = estimate.low / scale.factor, estimate.high / scale.factor
    while fixed(low, decimals) == fixed(high, decimals) and decimals < decimals_of(value, 5):
        decimals += 1
    return fixed(value, decimals), f"{fixed(low, decimals)}–{fixed(high, decimals)}"


def time_with_interval(estimate: Estimate | None) -> str:
    """`21.3 ms (20.9–21.8)`."""
    if estimate is None:
        return NO_VALUE
    scale = scale_ns(estimate.value)
    value, inside = spread(estimate, scale)
    return f"{value}{NBSP}{scale.unit}" + (f" ({inside})" if inside else "")


def rate_with_interval(estimate: Estimate | None) -> str:
    """`46.5 (45.9–47.2)`, a number per second without the unit."""
    if estimate is None:
        return NO_VALUE
    scale = scale_count(estimate.value)
    value, inside = spread(estimate, scale)
    suffix = f"{NBSP}{scale.unit}" if scale.unit else ""
    return value + suffix + (f" ({inside}{suffix})" if inside else "")


def percent(share: float, *, signed: bool = False) -> str:
    """Write a share in percent: `1.4 %`; two significant digits below ten, whole percents from there on."""
    value = 100 * share
    if abs(value) < 0.05:
        text = "0.0" if not signed else "±0.0"
        return f"{text}{NBSP}%"
    text = f"{abs(value):.1f}" if abs(value) < 9.95 else f"{abs(value):,.0f}".replace(",", GROUP_SPACE)
    sign = MINUS if value < 0 else ("+" if signed else "")
    return f"{sign}{text}{NBSP}%"


def slower(ratio: Estimate) -> str:
    """`1.4 % (0.9–2.0 %)`: how much more than the best, from a cost ratio."""
    return share_with_interval(ratio.extra)


def behind(ratio: Estimate) -> tuple[str, str]:
    """Write how far behind the best an arm is, and its interval: `("+15 %", "12–18 %")`, `("3.40×", "3.10–3.70×")`.

    `ratio`: cost relative to the best one; from `MULTIPLE_FROM` on it is written as a multiple. Returns the bounds are
    empty where there are none.
    """
    if ratio.value < MULTIPLE_FROM:
        bounds = "" if ratio.low is None or ratio.high is None else percent_range(ratio.low - 1, ratio.high - 1)
        return f"+{percent(ratio.value - 1)}", bounds
    decimals = decimals_of(ratio.value)
    value = f"{fixed(ratio.value, decimals)}×"
    if ratio.low is None or ratio.high is None:
        return value, ""
    return value, f"{fixed(ratio.low, decimals)}–{fixed(ratio.high, decimals)}×"


def accuracy(share: float) -> str:
    """`97.2 %`: a share of images classified correctly, to a tenth of a percent."""
    return f"{100 * share:.1f}{NBSP}%"


def plain(value: float) -> str:
    """Write a number as people type it: `1.2`, `380`, `0.000001`, up to nine decimals."""
    return f"{value:.9f}".rstrip("0").rstrip(".")


def price(price: Price) -> str:
    """Write a price so that it can be typed again: `1.2 EUR/h`, `1.2/h`."""
    return f"{plain(price.per_hour)}{NBSP if price.currency else ''}{price.currency}/h"


def percent_range(low: float, high: float) -> str:
    """Write an interval in percent: `0.9–2.0 %`, or `−0.3 to 1.1 %` where a bound is negative.

    `low`, `high`: bounds as shares (0.01 is 1 %). The lower bound is written as `0` only where it is zero.
    """
    first = "0" if low == 0 else f"{100 * low:.1g}" if 0 < low < 0.0005 else percent(low).removesuffix(f"{NBSP}%")
    joint = "–" if low >= 0 else " to "
    return f"{first}{joint}{percent(high)}"


def error(value: float) -> str:
    """`4.6×10⁻⁷`: a numerical error, two digits."""
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}".replace("-", MINUS)


def duration(seconds: float) -> str:
    """`9 min 12 s`."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    named = ((hours, "h"), (minutes, "min"), (left, "s"))
    return " ".join(f"{number} {unit}" for number, unit in named if number) or "0 s"


def roughly(seconds: float) -> str:
    """`40 s`, `25 min`, `4 h`, `3 days`: a time to come, no more precise than it can be known."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def power(exponent: int) -> str:
    """`10⁻⁵`: a power of ten."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def times(estimate: Estimate | None) -> str:
    """`1.87× (1.80–1.94)`: how many times as fast, to two decimals at least."""
    if estimate is None:
        return NO_VALUE
    decimals = max(2, decimals_of(estimate.value, 2))
    return within(estimate, lambda value: fixed(value, decimals), unit="×")


def within(estimate: Estimate, form: Callable[[float], str], *, unit: str = "", to: str = "–") -> str:
    """Return an estimate with its interval, where there is one.

    >>> within(Estimate(14.7, 14.5, 14.9), "{:.1f}".format, unit=" ms")
    '14.7 ms (14.5–14.9)'
    >>> within(Estimate(1.02), "{:.2f}".format)
    '1.02'
    """
    value = f"{form(estimate.value)}{unit}"
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} ({form(estimate.low)}{to}{form(estimate.high)})"


def interval(
    value: float | None, low: float | None, high: float | None, form: Callable[[float], str], *, to: str = "–"
) -> str:
    """Return `within` of an estimate of these numbers, where there is one."""
    return NO_VALUE if value is None else within(Estimate(value, low, high), form, to=to)


def share_with_interval(estimate: Estimate | None) -> str:
    """`94 % (90–97 %)`: a share and its interval."""
    if estimate is None:
        return NO_VALUE
    text = percent(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({percent_range(estimate.low, estimate.high)})"
