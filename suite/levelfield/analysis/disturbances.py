"""What disturbed rounds, once for each kind of signal, with the range of what was read."""

import re
from collections.abc import Iterable


def fate(disturbed: int, kept: int) -> str:
    """Say what became of disturbed rounds, as the end of a sentence that begins with them.

    Examples
    --------
    >>> fate(3, 3)
    'count all the same, since their generations had no others'
    >>> fate(3, 0)
    'are left out'
    >>> fate(3, 1)
    'are left out, but for 1 whose generation had no others'
    """
    if kept == disturbed:
        return "count all the same, since their generations had no others"
    return f"are left out, but for {kept} whose generation had no others" if kept else "are left out"


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def summarise(reasons: Iterable[str]) -> tuple[str, ...]:
    """Fold reasons that differ in their numbers alone.

    Examples
    --------
    >>> summarise(["steal took 9.2% of the time", "steal took 4% of the time; swap"])
    ('steal took 4–9.2% of the time (2 rounds)', 'swap')
    """
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for reason in reasons:
        for clause in filter(None, (part.strip() for part in reason.split(";"))):
            words, numbers = tuple(_NUMBER.split(clause)), tuple(_NUMBER.findall(clause))
            found.setdefault(words, []).append(numbers)
    return tuple(_clause(words, numbers) for words, numbers in found.items())


def _clause(words: tuple[str, ...], numbers: list[tuple[str, ...]]) -> str:
    """`words` are what stands between a clause's numbers."""
    ranges = [_range(column) for column in zip(*numbers, strict=True)]
    text = words[0] + "".join(span + rest for span, rest in zip(ranges, words[1:], strict=True))
    return f"{text} ({len(numbers)} rounds)" if len(numbers) > 1 else text


def _range(column: tuple[str, ...]) -> str:
    low, high = min(column, key=float), max(column, key=float)
    return low if float(low) == float(high) else f"{low}–{high}"
