"""Sizes of dimensions: one symbol is one size everywhere in a file, and `2*s0 + 1` is computed from its symbols.

Exporters name a dimension that follows from others by its arithmetic: sums, products, whole divisions, `Max`, `Min`
and `Mod` of symbols and whole numbers. What is no such arithmetic (`batch size`) is a name, and so is a symbol with
signs within it (`batch-size`).
"""

import ast
import itertools
import math
import operator
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
_SIGNS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], int | Fraction]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
    }
)


class _NoArithmeticError(ValueError):
    """It is a name."""


def is_named(name: str) -> bool:
    """Return whether a name says anything: `?` and `-1` do not."""
    return bool(_SYMBOL.search(name))


def symbols(name: str) -> tuple[str, ...]:
    """Return the symbols that a dimension is computed from: it alone where its name is no arithmetic.

    >>> symbols("2*s0 + s1"), symbols("batch-size"), symbols("batch size")
    (('s0', 's1'), ('batch-size',), ('batch size',))
    """
    try:
        tokens = _tokens(name)
        calls = {each for each, after in itertools.pairwise(tokens) if after == "("}
        found = tuple(dict.fromkeys(each for each in tokens if _SYMBOL.match(each) and each not in calls))
        _computed(tokens, dict.fromkeys(found, MAX_SIZE))
    except (_NoArithmeticError, ZeroDivisionError):
        return (name,)
    return found or (name,)


def size(name: str, sizes: Mapping[str, int]) -> int:
    """Return how long a dimension is.

    Raises LevelfieldError: these sizes of its symbols make none.

    >>> size("2*s0 + 1", {"s0": 64}), size("batch size", {"batch size": 3}), size("Max(1, s0//2)", {"s0": 1})
    (129, 3, 1)
    """
    if name in sizes:
        return sizes[name]
    try:
        found = _computed(_tokens(name), sizes)
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


def _computed(tokens: list[str], sizes: Mapping[str, int]) -> Fraction:
    """Compute arithmetic, whose symbols may hold signs that Python's names may not."""
    named: dict[str, Fraction] = {}
    words = []
    for token, after in itertools.pairwise((*tokens, "")):
        if token in sizes and not (token in _FUNCTIONS and after == "("):
            words.append(f"s{len(named)}")
            named[words[-1]] = Fraction(sizes[token])
        elif _SYMBOL.match(token) and token not in _FUNCTIONS:
            raise _NoArithmeticError
        else:
            words.append(str(int(token)) if token.isdecimal() else token)
    try:
        return _value(ast.parse(" ".join(words), mode="eval").body, named)
    except (SyntaxError, TypeError, RecursionError, MemoryError) as error:  # TypeError: another number of arguments
        raise _NoArithmeticError from error


def _value(node: ast.expr, named: Mapping[str, Fraction]) -> Fraction:
    match node:
        case ast.Constant(value=int() as number):
            return Fraction(number)
        case ast.Name(id=name) if name in named:
            return named[name]
        case ast.UnaryOp(op=ast.USub(), operand=one):
            return -_value(one, named)
        case ast.BinOp(left=left, op=sign, right=right):
            return Fraction(_SIGNS[type(sign)](_value(left, named), _value(right, named)))
        case ast.Call(func=ast.Name(id=name), args=given) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(each, named) for each in given))
    raise _NoArithmeticError
