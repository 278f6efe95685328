"""What a feed is: batches without end, in the order of the file, made ahead of the calls that take them."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from levelfield.backends.protocol import Arrays

AHEAD = 2
"""Batches that are kept ready, each framework's own default where it has one of that kind."""


class FeedRequest(msgspec.Struct, frozen=True):
    """What a feed reads, and in which batches."""

    path: Path
    """A dataset as `zoo.dataset` writes it."""
    name: str
    """Name of the model's only input."""
    batch: int
    workers: int
    """Processes or threads that make batches, beside the one that takes them."""


class Feed(msgspec.Struct, frozen=True):
    """An open feed."""

    take: Callable[[], Arrays]
    """Return the next batch, waiting for it where it is not ready; after the last item the first one follows."""
    settings: dict[str, str]
    """How it reads, for the record."""
    close: Callable[[], None]
