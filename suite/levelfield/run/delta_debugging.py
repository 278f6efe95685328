"""Which of several changes makes a difference? Delta debugging, with a judge that may also not know.

A difference between *none* of the changes and *all* of them is narrowed down to a smallest set that still makes it. The
judge is asked about sets of changes; it may answer that the set makes the difference, that it does not, that it cannot
tell, or that the set cannot be put together. Only the first answer narrows; so what is named was always measured to
make the difference by itself.

References
----------
A. Zeller, R. Hildebrandt (2002). Simplifying and isolating failure-inducing input. IEEE Transactions on Software
Engineering 28 (2), 183–200 (the algorithm ddmin).
"""

import enum
import itertools
from collections.abc import Callable, Sequence

import msgspec


class Effect(enum.StrEnum):
    """What a set of changes does."""

    MAKES = "makes the difference"
    LEAVES = "makes none"
    UNDECIDED = "could not be told"
    IMPOSSIBLE = "cannot be installed together"


class Tried(msgspec.Struct, frozen=True):
    """One set that the judge was asked about."""

    names: tuple[str, ...]
    effect: Effect


class Finding(msgspec.Struct, frozen=True):
    """What the search came to."""

    names: tuple[str, ...]
    """A smallest set that makes the difference: no part of it that could be judged does."""
    rest: Effect | None
    """What all other changes do together; None: there are no others."""
    tried: tuple[Tried, ...]
    """In the order they were asked about."""

    @property
    def single(self) -> bool:
        """Whether one change alone makes the difference."""
        return len(self.names) == 1

    @property
    def impossible(self) -> tuple[tuple[str, ...], ...]:
        """Sets that could not be put together."""
        return tuple(each.names for each in self.tried if each.effect is Effect.IMPOSSIBLE)


def search(names: Sequence[str], judge: Callable[[frozenset[str]], Effect]) -> Finding:
    """Find a smallest set of changes that makes the difference which all of them make together.

    Raises ValueError: there are no changes.
    """
    if not names:
        raise ValueError("There is nothing to search among.")
    everything = tuple(dict.fromkeys(names))
    tried: dict[tuple[str, ...], Effect] = {everything: Effect.MAKES, (): Effect.LEAVES}

    def ask(chosen: Sequence[str]) -> Effect:
        ordered = tuple(name for name in everything if name in set(chosen))
        if ordered not in tried:
            tried[ordered] = judge(frozenset(ordered))
        return tried[ordered]

    current, parts = list(everything), 2
    while len(current) > 1:
        pieces = _split(current, parts)
        smaller = next((piece for piece in pieces if ask(piece) is Effect.MAKES), None)
        if smaller is not None:
            current, parts = smaller, 2
            continue
        without = [[name for name in current if name not in piece] for piece in pieces]
        smaller = next((piece for piece in without if ask(piece) is Effect.MAKES), None)
        if smaller is not None:
            current, parts = smaller, max(parts - 1, 2)
            continue
        if parts >= len(current):
            break
        parts = min(2 * parts, len(current))
    others = [name for name in everything if name not in current]
    rest = ask(others) if others else None
    return Finding(
        names=tuple(current),
        rest=rest,
        tried=tuple(Tried(each, effect) for each, effect in tried.items() if each not in {everything, ()}),
    )


def _split(names: list[str], parts: int) -> list[list[str]]:
    """Cut a list into so many pieces of nearly equal length."""
    edges = [round(len(names) * place / parts) for place in range(parts + 1)]
    return [names[low:high] for low, high in itertools.pairwise(edges) if high > low]
