"""A decoder of eight of Llama's layers (Touvron et al. 2023), with grouped-query attention as in Llama 2 and 3.

Each token looks at itself and the tokens before it. A layer normalises by RMSNorm, turns queries and keys by rotary
positions, shares keys and values between groups of query heads, and gates its inner network by SiLU (SwiGLU). Names are
those of published checkpoints for the `transformers` library. Weights are seeded; the size lies between those that
llama2.c trains on stories (15 and 42 million parameters).

Here are the parameters, the inputs and the layers.
"""

import numpy as np
import numpy.typing as npt

from suite.zoo import bits
from suite.zoo.spec import Decoding, Layer, Model, Parameter, Tensor, dense
from suite.zoo.weights import Arrays

LAYERS = 8
HIDDEN = 512
HEADS = 8
HEAD = HIDDEN // HEADS
KEY_HEADS = 2
"""Heads of keys and values; each serves `GROUP` heads of queries."""
GROUP = HEADS // KEY_HEADS
INNER = 1376
"""Width of the gated network, as in llama2.c's model of this width."""
VOCABULARY_BITS = 13
VOCABULARY = 1 << VOCABULARY_BITS
CONTEXT = 512
"""Tokens that there are positions for."""
PROMPT = 128
"""Tokens of an input where all are computed at once."""
EPSILON = 1e-5
"""Of RMSNorm, as in Llama 2."""
THETA = 10_000.0
"""Base of the rotary positions' wavelengths, as in Llama 2."""


def _dense(name: str, fan_in: int, fan_out: int) -> Parameter:
    return Parameter(f"{name}.weight", (fan_out, fan_in), std=fan_in**-0.5)


def _norm(name: str) -> Parameter:
    return Parameter(f"{name}.weight", (HIDDEN,), mean=1.0, std=0.1)


def _parameters() -> tuple[Parameter, ...]:
    parameters = [Parameter("model.embed_tokens.weight", (VOCABULARY, HIDDEN), std=1.0)]
    for number in range(LAYERS):
        layer = f"model.layers.{number}"
        parameters += [
            _dense(f"{layer}.self_attn.q_proj", HIDDEN, HIDDEN),
            _dense(f"{layer}.self_attn.k_proj", HIDDEN, KEY_HEADS * HEAD),
            _dense(f"{layer}.self_attn.v_proj", HIDDEN, KEY_HEADS * HEAD),
            _dense(f"{layer}.self_attn.o_proj", HIDDEN, HIDDEN),
            _dense(f"{layer}.mlp.gate_proj", HIDDEN, INNER),
            _dense(f"{layer}.mlp.up_proj", HIDDEN, INNER),
            _dense(f"{layer}.mlp.down_proj", INNER, HIDDEN),
            _norm(f"{layer}.input_layernorm"),
            _norm(f"{layer}.post_attention_layernorm"),
        ]
    return (*parameters, _norm("model.norm"), _dense("lm_head", HIDDEN, VOCABULARY))


MODEL = Model(
    name="decoder",
    title=f"Decoder of {LAYERS} Llama layers, context {CONTEXT}",
    inputs=(Tensor("input_ids", (PROMPT,), "int32"),),
    output=Tensor("logits", (VOCABULARY,), "float32"),
    parameters=_parameters(),
    source="Touvron et al., arXiv:2307.09288; as in transformers' LlamaForCausalLM",
    package="decoder",
    short_title="Decoder",
    batches={"smoke": (2,), "standard": (4,), "full": (4, 8)},
    by_default=False,
    reference_batch=4,
    activations=9_000_000,  # of eight layers of 128 tokens, attention among them
    decoding=Decoding(
        context=CONTEXT,
        caches=tuple(
            Tensor(f"cache.{number}.{part}", (KEY_HEADS, CONTEXT, HEAD), "float32")
            for number in range(LAYERS)
            for part in ("key", "value")
        ),
        depths={"smoke": (128,), "standard": (128, 384), "full": (128, 384)},
    ),
)


def seeded_input(name: str) -> Arrays:
    """Return the input of that name: `input_ids`, int32, shape (128,)."""
    return {"input_ids": seeded_tokens(name, PROMPT)}


def seeded_tokens(name: str, count: int) -> npt.NDArray[np.int32]:
    """Return the first `count` tokens of a name's sequence, int32.

    Small token numbers are more frequent, as in text: u² for a uniform u, in integers.

    Parameters
    ----------
    name
        Of the sequence.
    count
        How many; a longer sequence begins with the shorter one.
    """
    draws = bits.integers(name, count)  # 24 bits each
    return (((draws * draws) >> 24) * VOCABULARY >> 24).astype(np.int32)


def rotations() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return cosine and sine of each position's angles, float64, shape (512, 64) each.

    Angle *i* of a head is position × θ^(−2i/64), and stands at *i* and at *i* + 32, which are turned together: the
    order of transformers (https://arxiv.org/abs/2104.09864, equation 34, has the pairs side by side).
    """
    wavelengths = THETA ** (-np.arange(0, HEAD, 2) / HEAD)
    angles = np.tile(np.arange(CONTEXT)[:, None] * wavelengths, 2)
    return np.cos(angles), np.sin(angles)


def layers() -> tuple[Layer, ...]:
    """Return the lookup, seven dense layers and two products of attention in each of eight, and the head.

    Only the last token reaches the head. Of attention all pairs of tokens are counted, as its products are computed,
    though half are masked.
    """
    lookup = Layer(
        name="model.embed_tokens",
        kind="lookup",
        macs=0,
        weights=0,  # only the rows of the input are read: they count as activations
        reads=PROMPT * HIDDEN,
        writes=PROMPT * HIDDEN,
    )
    blocks = (part for number in range(LAYERS) for part in _layer(f"model.layers.{number}", PROMPT, PROMPT))
    return (lookup, *blocks, dense("lm_head", 1, HIDDEN, VOCABULARY, bias=False))


def cached_layers(tokens: int, depth: int) -> tuple[Layer, ...]:
    """Return the layers of one call that reads a KV cache.

    Parameters
    ----------
    tokens
        That the call computes.
    depth
        Tokens whose keys and values are read, those of the call among them. Keys and values that a backend reads
        beyond them, since its cache has a fixed size, are not counted: no arithmetic needs them.
    """
    lookup = Layer("model.embed_tokens", "lookup", 0, 0, tokens * HIDDEN, tokens * HIDDEN)
    blocks = (part for number in range(LAYERS) for part in _layer(f"model.layers.{number}", tokens, depth))
    return (lookup, *blocks, dense("lm_head", 1, HIDDEN, VOCABULARY, bias=False))


def _layer(name: str, tokens: int, seen: int) -> tuple[Layer, ...]:
    """Return the layers of one of eight: `tokens` tokens that look at `seen`."""
    scores, keys, macs = HEADS * tokens * seen, seen * KEY_HEADS * HEAD, tokens * seen * HIDDEN
    attention = f"{name}.self_attn"
    return (
        dense(f"{attention}.q_proj", tokens, HIDDEN, HIDDEN, bias=False),
        dense(f"{attention}.k_proj", tokens, HIDDEN, KEY_HEADS * HEAD, bias=False),
        dense(f"{attention}.v_proj", tokens, HIDDEN, KEY_HEADS * HEAD, bias=False),
        Layer(f"{attention}.scores", "attention", macs, 0, tokens * HIDDEN + keys, scores),
        Layer(f"{attention}.context", "attention", macs, 0, scores + keys, tokens * HIDDEN),
        dense(f"{attention}.o_proj", tokens, HIDDEN, HIDDEN, bias=False),
        dense(f"{name}.mlp.gate_proj", tokens, HIDDEN, INNER, bias=False),
        dense(f"{name}.mlp.up_proj", tokens, HIDDEN, INNER, bias=False),
        dense(f"{name}.mlp.down_proj", tokens, INNER, HIDDEN, bias=False),
    )
