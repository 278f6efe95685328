"""The inputs of timed calls: several batches that the calls of a window take in turn.

Nothing is then measured on one array: neither on where it happens to lie in memory, nor on an answer that was kept for
it. The first batch begins with item 0, and each goes on where the one before it ended.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator

from levelfield.backends.protocol import Arrays
from levelfield.zoo.weights import sha256


def batches(make: Callable[[int], Arrays], *, sets: int, batch: int) -> Iterator[Arrays]:
    """Make the batches, one after the other."""
    return (make(number * batch) for number in range(sets))


def digest(made: Iterable[Arrays]) -> str:
    """Return the SHA-256 of the batches' own digests, in order."""
    return hashlib.sha256("".join(map(sha256, made)).encode()).hexdigest()
