"""JAX: caches written by `dynamic_update_slice` and donated, so that XLA may write them in place."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends.decoding.protocol import Decoder, DecodingSource


def decoder(
    jax: Any,  # noqa: ANN401 (a module)
    network: Any,  # noqa: ANN401 (a module)
    weights: Any,  # noqa: ANN401 (arrays of JAX's)
    source: DecodingSource,
    compiler: dict[str, bool],
    *,
    frozen: bool,
) -> Decoder:
    """Return a decoder, compiled ahead of time for its numbers of tokens."""
    batch = source.batch

    def compiled(tokens: int) -> Callable[..., Any]:
        ids = jax.ShapeDtypeStruct((batch, tokens), np.int32)
        start = jax.ShapeDtypeStruct((), np.int32)
        caches = jax.eval_shape(lambda: network.empty(batch))
        if frozen:
            function = jax.jit(partial(network.cached, weights), donate_argnums=2)
            return function.lower(ids, start, caches).compile(compiler)  # type: ignore[no-any-return]
        function = jax.jit(network.cached, donate_argnums=3)
        return partial(function.lower(weights, ids, start, caches).compile(compiler), weights)

    calls = {tokens: compiled(tokens) for tokens in {source.tokens, source.prompt} - {0}}

    def extend(cache: list[Any], input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        logits, cache[:] = calls[input_ids.shape[1]](input_ids, np.int32(start), cache)
        return np.asarray(logits)

    return Decoder(lambda: network.empty(batch), extend)
