"""PyTorch: preallocated caches, written in place by `index_copy_`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from suite.backends.decoding.protocol import Decoder, DecodingSource
from suite.zoo.spec import Decoding


def decoder(
    torch: Any,  # noqa: ANN401 (a module)
    network: Any,  # noqa: ANN401 (a module of torch's)
    decoding: Decoding,
    source: DecodingSource,
    compiled: Callable[[Any], Any] | None,
) -> Decoder:
    """Return a decoder on the CPU.

    Parameters
    ----------
    torch
        The module `torch`.
    network
        The model's own module, with its weights.
    decoding
        The model's caches.
    source
        Batch and numbers of tokens.
    compiled : callable
        Compiles the timed function; prompts that only fill a cache are computed eagerly. None: nothing is compiled.
    """
    shapes = [(source.batch, *tensor.shape) for tensor in decoding.caches]
    timed = network.cached if compiled is None else compiled(network.cached)
    from_numpy, inference_mode, arange = torch.from_numpy, torch.inference_mode, torch.arange

    def new_cache() -> list[Any]:
        with inference_mode():
            return [torch.zeros(shape) for shape in shapes]

    def extend(cache: list[Any], input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        tokens = input_ids.shape[1]
        call = timed if tokens == source.tokens else network.cached
        with inference_mode():
            return call(from_numpy(input_ids), arange(start, start + tokens), cache).numpy()  # type: ignore[no-any-return]

    if compiled is not None:
        extend(new_cache(), np.zeros((source.batch, source.tokens), np.int32), source.prompt)
    return Decoder(new_cache, extend)
