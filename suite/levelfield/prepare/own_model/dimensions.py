"""Sizes of dimensions: one symbol is one size everywhere in a file, and `2*s0 + 1` is computed from its symbols.

Exporters name a dimension that follows from others by its arithmetic: sums, products, whole divisions, `Max`, `Min`
and `Mod` of symbols and whole numbers. What is no such arithmetic (`batch size`) is a name, and so is a symbol with
signs within it (`batch-size`).
"""

import itertools
import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

from levelfield.errors import LevelfieldError

MAX_SIZE = 1 << 24
"""Largest size of a dimension."""
_MOST_CHARS = 120
"""Of arithmetic; a longer one is a name."""
_TOKEN = re.compile(r"\s*(?:(?P<number>\d{1,9})|(?P<symbol>[^\W\d][\w.:]*(?:-\w+)*)|(?P<sign>//|[-+*/(),]))")
_SYMBOL = re.compile(r"[^\W\d]")
_FUNCTIONS: Mapping[str, Callable[..., Fraction]] = MappingProxyType(
    {
        "floor": lambda one: Fraction(math.floor(one)),
        "ceiling": lambda one: Fraction(math.ceil(one)),
        "Max": max,
        "Min": min,
        "Mod": lambda one, other: one % other,
        "FloorDiv": lambda one, other: Fraction(one // other),
        "CleanDiv": lambda one, other: one / other,
    }
)


class _NoArithmeticError(ValueError):
    """It is a name."""


def is_named(name: str) -> bool:
    """Return whether a name says anything: `?` and `-1` do not."""
    return bool(_SYMBOL.search(name))


def symbols(name: str) -> tuple[str, ...]:
    """Return the symbols that a dimension is computed from: it alone where its name is no arithmetic.

    Examples
    --------
    >>> symbols("2*s0 + s1"), symbols("batch-size"), symbols("batch size")
    (('s0', 's1'), ('batch-size',), ('batch size',))
    """
    try:
        tokens = _tokens(name)
        calls = {each for each, after in itertools.pairwise(tokens) if after == "("}
        found = tuple(dict.fromkeys(each for each in tokens if _SYMBOL.match(each) and each not in calls))
        _Reader(tokens, dict.fromkeys(found, MAX_SIZE)).whole()
    except (_NoArithmeticError, ZeroDivisionError):
        return (name,)
    return found or (name,)


def size(name: str, sizes: Mapping[str, int]) -> int:
    """Return how long a dimension is.

    Raises LevelfieldError: these sizes of its symbols make none.

    Examples
    --------
    >>> size("2*s0 + 1", {"s0": 64}), size("batch size", {"batch size": 3}), size("Max(1, s0//2)", {"s0": 1})
    (129, 3, 1)
    """
    if name in sizes:
        return sizes[name]
    try:
        found = _Reader(_tokens(name), sizes).whole()
    except (_NoArithmeticError, ZeroDivisionError):
        found = Fraction(-1)
    if found.denominator != 1 or not 0 <= found <= MAX_SIZE:
        given = ", ".join(f"{each} = {sizes[each]}" for each in symbols(name))
        raise LevelfieldError(
            f"The dimension {name} has no size where {given}.",
            fix=f"Give others, for which it is a whole number from 0 to {MAX_SIZE}.",
        )
    return int(found)


def _tokens(name: str) -> list[str]:
    found, place, text = [], 0, name.strip()
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None or len(text) > _MOST_CHARS:
            raise _NoArithmeticError
        found.append(token.group().strip())
        place = token.end()
    return found


class _Reader:
    """Computes arithmetic from left to right, products before sums."""

    def __init__(self, tokens: list[str], sizes: Mapping[str, int]) -> None:
        self._tokens, self._sizes = tokens[::-1], sizes

    def whole(self) -> Fraction:
        value = self._sum()
        if self._tokens:
            raise _NoArithmeticError
        return value

    def _next(self, *expected: str) -> str:
        """Take the next token where it is one of these."""
        return self._tokens.pop() if self._tokens and self._tokens[-1] in expected else ""

    def _sum(self) -> Fraction:
        value = self._product()
        while sign := self._next("+", "-"):
            value += self._product() if sign == "+" else -self._product()
        return value

    def _product(self) -> Fraction:
        value = self._one()
        while sign := self._next("*", "//", "/"):
            other = self._one()
            value = value * other if sign == "*" else value / other if sign == "/" else Fraction(value // other)
        return value

    def _one(self) -> Fraction:
        if self._next("-"):
            return -self._one()
        if self._next("("):
            value = self._sum()
            self._require(")")
            return value
        token = self._tokens.pop() if self._tokens else ""
        if token.isdecimal():
            return Fraction(int(token))
        if token in _FUNCTIONS and self._next("("):
            return self._call(token)
        if token in self._sizes:
            return Fraction(self._sizes[token])
        raise _NoArithmeticError

    def _call(self, function: str) -> Fraction:
        given = [self._sum()]
        while self._next(","):
            given.append(self._sum())
        self._require(")")
        try:
            return _FUNCTIONS[function](*given)
        except TypeError as error:  # another number of arguments
            raise _NoArithmeticError from error

    def _require(self, token: str) -> None:
        if not self._next(token):
            raise _NoArithmeticError
