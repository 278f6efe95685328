"""TensorFlow: caches are variables of a fixed shape, which concrete functions write into."""

from typing import Any

import numpy as np
import numpy.typing as npt

from levelfield.backends.decoding.protocol import Decoder, DecodingSource


def decoder(tf: Any, network: Any, weights: dict[str, Any], source: DecodingSource, *, xla: bool) -> Decoder:  # noqa: ANN401
    """Return a decoder of one cache: the traced functions have its variables in them."""
    caches = network.empty(source.batch)

    def traced(tokens: int) -> Any:  # noqa: ANN401 (a concrete function)
        signature = [tf.TensorSpec((source.batch, tokens), tf.int32), tf.TensorSpec((tokens,), tf.int32)]
        function = tf.function(
            lambda input_ids, positions: network.cached(weights, input_ids, positions, caches),
            input_signature=signature,
            jit_compile=xla or None,
            autograph=False,
        )
        return function.get_concrete_function()

    calls = {tokens: traced(tokens) for tokens in {source.tokens, source.prompt} - {0}}
    constant = tf.constant

    def new_cache() -> None:
        for cache in caches:
            cache.assign(tf.zeros_like(cache))

    def extend(cache: None, input_ids: npt.NDArray[np.int32], start: int) -> npt.NDArray[np.float32]:
        del cache  # there is one, in the functions
        tokens = input_ids.shape[1]
        positions = np.arange(start, start + tokens, dtype=np.int32)
        return calls[tokens](constant(input_ids), constant(positions)).numpy()  # type: ignore[no-any-return]

    extend(None, np.zeros((source.batch, source.tokens), np.int32), source.prompt)  # XLA compiles by a call
    return Decoder(new_cache, extend, one_cache=True)
