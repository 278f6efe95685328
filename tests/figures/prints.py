"""Values as the pages print them."""

import datetime as dt

from studies.overhead.record import Interval
from suite.analysis.types import Estimate
from suite.report import units
from suite.statistics.proportions import Proportion
from tests.figures.pages import number_in_words

_TIMES = {"µs": 1e3, "ms": 1e6, "s": 1e9}


def minutes(started: str, finished: str) -> int:
    """Return whole minutes between two times of a record (UTC, ISO 8601), rounded."""
    return round((_moment(finished) - _moment(started)).total_seconds() / 60)


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def in_words(number: float) -> str:
    return number_in_words(round(number))


def of(found: Proportion | None) -> str:
    """`19 of 21`."""
    assert found is not None
    return f"{found.successes} of {found.trials}"


def share(found: Proportion) -> str:
    """`0–16.8`: the interval in percent, a bound of zero or a hundred without decimals."""
    low, high = (
        {"0.0": "0", "100.0": "100"}.get(text := f"{100 * bound:.1f}", text) for bound in (found.low, found.high)
    )
    return f"{low}–{high}"


def significant(value: float, digits: int = 3) -> str:
    """`1123`, `0.71`: so many digits, with no space in thousands."""
    return units.digits(value, digits).replace(units.GROUP_SPACE, "")


def time(interval: Interval | Estimate) -> tuple[str, str, str, str]:
    """Return value, unit, and both bounds with as many decimals as the value has."""
    assert interval.low is not None
    assert interval.high is not None
    scale = units.scale_ns(interval.value)
    decimals = units.decimals_of(interval.value / scale.factor)
    low, high = (_bound(bound / scale.factor, decimals) for bound in (interval.low, interval.high))
    return significant(interval.value / scale.factor), scale.unit, low, high


def _bound(value: float, decimals: int) -> str:
    """Three digits, but never more decimals than the value itself has."""
    return f"{value:.{min(decimals, units.decimals_of(value))}f}"


def milliseconds(estimate: Estimate) -> tuple[str, str, str]:
    """Return value and bounds in whole or tenths of a millisecond, three digits."""
    assert estimate.low is not None
    assert estimate.high is not None
    value, low, high = (bound / _TIMES["ms"] for bound in (estimate.value, estimate.low, estimate.high))
    return significant(value), significant(low), significant(high)


def ratio(interval: Interval, decimals: int = 3) -> tuple[str, str, str]:
    """Return value and bounds."""
    assert interval.low is not None
    assert interval.high is not None
    return tuple(f"{each:.{decimals}f}" for each in (interval.value, interval.low, interval.high))  # type: ignore[return-value]


def power_of_ten(value: float) -> str:
    """`2.6e-7`: two digits, and no zeros in the exponent."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"
