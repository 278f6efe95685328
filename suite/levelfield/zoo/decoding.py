"""Answering token by token: what a call computes, its tokens, and what it has to return.

The tokens are seeded and given (teacher-forced), whatever a backend answers, so that all do the same work.
"""

from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from levelfield.zoo.spec import Decoding, Layer, Model
from levelfield.zoo.weights import SEED, Arrays

STEPS = 128
"""Tokens that one call of `generate` computes, one after the other."""
INPUT = "input_ids"
POSITIONS = "positions"
"""Input of an ONNX file with caches: where the tokens stand, int64, shape (tokens,)."""
Kind: TypeAlias = Literal["prefill", "decode", "generate"]
KINDS: tuple[Kind, ...] = ("prefill", "decode", "generate")


class Call(msgspec.Struct, frozen=True):
    """What one timed call computes."""

    kind: Kind
    """`prefill` computes a prompt of `depth` tokens at once; `decode` one token, with so many in the cache before it;
    `generate` does that 128 times, each one token further."""
    depth: int

    @property
    def prompt(self) -> int:
        """Tokens that fill the cache before the call, untimed."""
        return 0 if self.kind == "prefill" else self.depth

    @property
    def tokens(self) -> int:
        """Tokens that are computed at once."""
        return self.depth if self.kind == "prefill" else 1

    @property
    def steps(self) -> int:
        """How often so many tokens are computed, one after the other."""
        return STEPS if self.kind == "generate" else 1

    @property
    def length(self) -> int:
        """Tokens of a sequence, those of the prompt among them."""
        return self.prompt + self.tokens * self.steps


def renewed(cache: str) -> str:
    """Return the name of the output, of an ONNX file with caches, that takes the place of a cache."""
    return f"{cache}.new"


def input_names(decoding: Decoding) -> tuple[str, ...]:
    """Return the names of the inputs of an ONNX file with caches."""
    return (INPUT, POSITIONS, *(tensor.name for tensor in decoding.caches))


def why_not(decoding: Decoding, call: Call) -> str:
    """Return why a cache cannot hold a call's tokens; empty: it can."""
    if call.depth < 1:
        return f"There is no {call.kind} at a depth of {call.depth}: at least one token comes before it."
    if call.length > decoding.context:
        return (
            f"{call.kind} at a depth of {call.depth} takes {call.length} tokens, and the context is {decoding.context}."
        )
    return ""


def inputs(model: Model, call: Call, start: int, count: int) -> Arrays:
    """Make sequences `start` … `start + count - 1`.

    Returns `input_ids`, int32, shape (count, length of the call's sequences).
    """
    tokens = model.module().seeded_tokens
    names = (f"{SEED}/{model.inputs_stream}/inputs/{index}" for index in range(start, start + count))
    return {INPUT: np.stack([tokens(name, call.length) for name in names])}


def reference(model: Model, weights: Arrays, call: Call, input_ids: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Compute in float64, all tokens at once and without a cache, what a call has to return."""
    logits = model.module("reference").logits
    parts = [logits(weights, row[None], call.length - call.steps)[0] for row in input_ids]
    found: npt.NDArray[np.float64] = np.stack(parts)
    return found if call.kind == "generate" else found[:, 0]


def output_shape(model: Model, call: Call) -> tuple[int, ...]:
    """Return the shape of what a call returns for one sequence."""
    return (STEPS, *model.output.shape) if call.kind == "generate" else model.output.shape


def layers(model: Model, call: Call) -> tuple[Layer, ...]:
    """Return what one step of a call computes for one sequence; of `generate`, the step in the middle."""
    depth = call.prompt + call.tokens + (call.steps - 1) // 2
    found: tuple[Layer, ...] = model.module().cached_layers(call.tokens, depth)
    return found
