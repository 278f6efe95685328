"""Types of what is typed behind an option: each reads a text into a value, and writes the value as it is typed."""

import re
import unicodedata
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar, cast

import click

from levelfield.errors import printable
from levelfield.record.bounds import LONGEST_S, SEED_BITS
from levelfield.record.cpu_lists import as_text
from levelfield.record.files import LEAST_LATENCY_MS, LEAST_SHARE, MOST_LATENCY_MS, MOST_SHARE
from levelfield.record.schema import Price

LARGEST_NUMBER = 1_000_000
"""Largest batch, and largest number of threads or processes, that is accepted."""
_DURATION = re.compile(r"(?P<count>\d{1,12}(?:\.\d{1,12})?)\s*(?P<unit>s|m|min|h)?")
_LATENCY = re.compile(r"(?P<count>\d{1,9}(?:\.\d{1,9})?)\s*(?P<unit>ms|s)")
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_AMOUNT = re.compile(r"\d{1,6}(\.\d{1,9})?")
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_CURRENCY = r"[A-Za-z]{1,8}|[^\w\s.,:;/+\-()'\"\\]"
_PRICE = re.compile(
    rf"(?P<before>{_CURRENCY})?\s?(?P<amount>[0-9]{{1,7}}(?:\.[0-9]{{1,9}})?)\s?(?P<after>{_CURRENCY})?/h"
)

T = TypeVar("T")


class LoadGen(NamedTuple):
    """How MLPerf LoadGen tests."""

    latency_target_ms: float | None = None
    loadgen_test_s: float | None = None


class Typed(click.ParamType[T]):
    """A type of values.

    `name` is shown in the help, in capitals. `parse` raises ValueError with the message for the user. `write` is its
    inverse.
    """

    def __init__(self, name: str, parse: Callable[[str], T], write: Callable[[T], str] = str) -> None:
        self.name = name
        self._parse = parse
        self.write = write

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:  # noqa: ANN401
        """Return the value of what was typed.

        Raises click.BadParameter: it is no such value.
        """
        if not isinstance(value, str):
            return cast("T", value)
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def parse_share(text: str) -> float | None:
    """Return the share that people write as `2%` or `0.02`; None where it is none, or outside of the bounds."""
    text = text.strip()
    try:
        share = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None
    return share if LEAST_SHARE <= share <= MOST_SHARE else None


def parse_price(text: str) -> Price | None:
    """Return the price that people write as `1.20/h`, `1.20 EUR/h` or `$1.20/h`; None where it is none.

    The currency is a code of letters or a sign of Unicode's category Sc. It is kept and shown, never converted.
    """
    match = _PRICE.fullmatch(text.strip())
    if match is None or (match["before"] and match["after"]):
        return None
    amount, currency = float(match["amount"]), match["before"] or match["after"] or ""
    is_sign = not currency or currency.isalpha() or unicodedata.category(currency) == "Sc"
    return Price(amount, currency) if amount > 0 and is_sign else None


def _names(text: str) -> tuple[str, ...]:
    names = tuple(word.strip() for word in text.split(",") if word.strip())
    if not names:
        raise ValueError(f"{text!r} names nothing.")
    return names


def _numbers(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(word) for word in text.split(",") if word.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not a list of whole numbers such as 1,8,32.") from None
    if not numbers:
        raise ValueError(f"{text!r} holds no number: write one, or several such as 1,8,32.")
    if any(number > LARGEST_NUMBER for number in numbers):
        raise ValueError(f"{text!r} holds a number above {LARGEST_NUMBER:,}.")
    return numbers


def _cpus(text: str) -> tuple[int, ...] | Literal["all"]:
    if text == "all":
        return "all"
    ranges = [_RANGE.fullmatch(word) for word in text.split(",")]
    cpus = {cpu for match in ranges if match for cpu in range(int(match[1]), int(match[2] or match[1]) + 1)}
    if not all(match and int(match[1]) <= int(match[2] or match[1]) for match in ranges):
        raise ValueError(f"{text!r} is neither `all` nor a list of CPUs such as 0-15,32.")
    return tuple(sorted(cpus))


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text.strip())
    if match and match["unit"] is None:
        raise ValueError(f"{text!r} has no unit: write {match['count']}s or {match['count']}m.")
    seconds = float(match["count"]) * _SECONDS[match["unit"]] if match else 0.0
    if not 0 < seconds <= LONGEST_S:
        raise ValueError(f"{text!r} is not a duration such as 90s, 10m or 2h, of a year at the most.")
    return seconds


def _latency(text: str) -> float:
    match = _LATENCY.fullmatch(text.strip())
    milliseconds = float(match["count"]) * (1e3 if match["unit"] == "s" else 1.0) if match else 0.0
    if not LEAST_LATENCY_MS <= milliseconds <= MOST_LATENCY_MS:
        raise ValueError(f"{text!r} is not a latency such as 50ms or 1.5s, from 1 µs to an hour.")
    return milliseconds


def _loadgen(text: str) -> LoadGen:
    pairs = [word.partition("=") for word in text.split(",")]
    if len({name for name, _, _ in pairs} & {"latency", "test"}) != len(pairs):
        raise ValueError(f"{text!r} is not such as latency=50ms, test=10m or both, with a comma between.")
    given = {name: value for name, _, value in pairs}
    return LoadGen(
        _latency(given["latency"]) if "latency" in given else None,
        _duration(given["test"]) if "test" in given else None,
    )


def _write_loadgen(value: LoadGen) -> str:
    words = {"latency": (value.latency_target_ms, "ms"), "test": (value.loadgen_test_s, "s")}
    return ",".join(f"{name}={amount:g}{unit}" for name, (amount, unit) in words.items() if amount is not None)


def _percent(text: str) -> float:
    share = parse_share(text)
    if share is None:
        raise ValueError(
            f"{text!r} is not a percentage such as 2%, from {100 * LEAST_SHARE:g}% to {100 * MOST_SHARE:g}%."
        )
    if "%" not in text:
        raise ValueError(f"{text!r} has no unit: write {text.strip()}% or {100 * share:g}%.")
    return share


def _price(text: str) -> Price:
    price = parse_price(text)
    if price is None:
        raise ValueError(f"{text!r} is not a price of an hour such as 1.20/h, '1.20 EUR/h' or '$1.20/h'.")
    return price


def _write_price(price: Price) -> str:
    return f"{f'{price.per_hour:.9f}'.rstrip('0').rstrip('.')}{price.currency}/h"


def _injection(text: str) -> tuple[str, str]:
    amount, _, arm = text.partition("@")
    if not _AMOUNT.fullmatch(amount.removesuffix("%")) or not arm:
        raise ValueError(f"{text!r} is not a slowdown such as 5%@onnxruntime#2 or 0.001@torch (seconds).")
    return amount, arm


def _pair(text: str) -> tuple[str, str]:
    name, _, rest = text.partition("=")
    if not (name and rest):
        raise ValueError(f"{text!r} is not a pair such as sequence=128 or tokens=tokens.npy.")
    return name, rest


NAMES = Typed("name,…", _names, ",".join)
NUMBERS = Typed("n,…", _numbers, lambda numbers: ",".join(map(str, numbers)))
CPU_LIST = Typed("list|all", _cpus, lambda cpus: cpus if isinstance(cpus, str) else as_text(cpus))
DURATION = Typed("duration", _duration, lambda seconds: f"{seconds:.12g}s")
PERCENT = Typed("percent", _percent, lambda share: f"{100 * share:.12g}%")
INJECTION = Typed("amount@arm", _injection, "@".join)
PAIR = Typed("name=value", _pair, "=".join)
LOADGEN_TEST = Typed("latency=…,test=…", _loadgen, _write_loadgen)
PRICE_PER_HOUR = Typed("amount/h", _price, _write_price)
SEED_NUMBER = click.IntRange(0, 2**SEED_BITS - 1)


_BASE_URL = re.compile(r"https?://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?(/[A-Za-z0-9_~%-][A-Za-z0-9._~%-]{0,99}){0,20}/?")
LONGEST_TITLE = 120


def parse_base_url(text: str) -> str:
    """Return the address of a site, without a slash at its end."""
    if not _BASE_URL.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is no address of a site, such as https://example.org/benchmarks.")
    return text.rstrip("/")


def parse_title(text: str) -> str:
    """Return a title on one line, without control characters."""
    title = printable(" ".join(text.split()))
    if not 0 < len(title) <= LONGEST_TITLE:
        raise ValueError(f"A title has 1 to {LONGEST_TITLE} characters.")
    return title
