"""PyTorch: preallocated caches, written in place by `index_copy_`, or caches that grow by `torch.cat`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends.decoding.protocol import Decoder, DecodingSource
from levelfield.zoo.spec import Decoding


def decoder(
    torch: Any,  # noqa: ANN401 (a module)
    network: Any,  # noqa: ANN401 (a module of torch's)
    decoding: Decoding,
    source: DecodingSource,
    compiled: Callable[[Any], Any] | None,
    device: str = "cpu",
) -> Decoder:
    """Return a decoder. On CUDA it is unverified: caches stay there, tokens and answers are copied in every call.

    `compiled`: compiles the timed function; prompts that only fill a cache are computed eagerly. None: nothing is
    compiled.
    """
    shapes = decoding.empty_shapes(source.batch, growing=source.growing).values()
    eager = network.grown if source.growing else network.cached
    timed = eager if compiled is None else compiled(eager)
    from_numpy, inference_mode, arange = torch.from_numpy, torch.inference_mode, torch.arange

    def new_cache() -> list[Any]:
        with inference_mode():
            return [torch.zeros(shape, device=device) for shape in shapes]

    def extend(cache: list[Any], input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        call = timed if start >= source.prompt else eager
        with inference_mode():
            positions = arange(start, start + input_ids.shape[1], device=device)
            return call(from_numpy(input_ids).to(device), positions, cache).cpu().numpy()  # type: ignore[no-any-return]

    if compiled is not None:
        cache = new_cache()
        if source.growing and source.prompt:
            extend(cache, np.zeros((source.batch, source.prompt), np.int32), 0)
        extend(cache, np.zeros((source.batch, source.tokens), np.int32), source.prompt)
    if source.growing:
        return Decoder(new_cache, extend, branch=list)
    return Decoder(new_cache, extend)
