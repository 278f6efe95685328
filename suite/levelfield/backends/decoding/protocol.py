"""What a backend gives that answers token by token."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.zoo.weights import Arrays


class DecodingSource(msgspec.Struct, frozen=True):
    """What a backend is given to decode with."""

    model: str
    batch: int
    weights: Arrays
    """Empty for backends that read files."""
    tokens: int
    """Computed at once in a timed call."""
    prompt: int
    """Computed at once before timed calls, to fill the cache; 0: nothing is."""
    file: Path | None = None
    """A file that takes any number of tokens, and caches as inputs and outputs."""
    growing: bool = False
    """Whether caches are as long as what is in them, and longer after every call; else they have the context's size."""


def _itself(cache: Any) -> Any:  # noqa: ANN401 (a framework's own)
    return cache


class Decoder(msgspec.Struct, frozen=True):
    """A model with a cache, which stays with the framework."""

    new_cache: Callable[[], Any]
    """Return a cache in which nothing stands."""
    extend: Callable[[Any, npt.NDArray[np.int32], int], npt.NDArray[np.float32]]
    """The timed call: compute tokens, int32 of shape (batch, tokens), that begin at a position, with what the cache has
    of those before it; keep them in the cache, and return the logits of what follows, float32 of shape (batch,
    vocabulary), in host memory. The array may be one that the next call overwrites."""
    one_cache: bool = False
    """Whether a new cache takes the place of the one before."""
    branch: Callable[[Any], Any] = _itself
    """Return a cache to extend, so that the one given can be extended again from where it stands; part of the timed
    call. Caches of a fixed size are written over, and need no other."""


@runtime_checkable
class DecodingBackend(Protocol):
    """A backend that can answer token by token (scenarios `prefill`, `decode` and `generate`)."""

    def load_decoding(self, source: DecodingSource) -> Decoder:
        """Build the model, and compile it for the numbers of tokens of the source; raises as `load` does."""
        ...
