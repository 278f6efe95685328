"""A decoder of eight of Llama's layers (Touvron et al. 2023), with grouped-query attention as in Llama 2 and 3.

Each token looks at itself and the tokens before it. A layer normalises by RMSNorm, turns queries and keys by rotary
positions, shares keys and values between groups of query heads, and gates its inner network by SiLU (SwiGLU). Names are
those of published checkpoints for the `transformers` library. Weights are seeded; the size lies between those that
llama2.c trains on stories (15 and 42 million parameters).

Here are the parameters, the inputs and the layers.
"""

from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from levelfield.zoo import bits
from levelfield.zoo.spec import Decoding, Layer, Model, Parameter, Tensor, dense
from levelfield.zoo.weights import Arrays


class Sizes(msgspec.Struct, frozen=True):
    """Sizes of a Llama; those of the one that is benchmarked unless said otherwise."""

    layers: Annotated[int, Meta(ge=1, le=256)] = 8
    hidden: Annotated[int, Meta(ge=1, le=1 << 16)] = 512
    heads: Annotated[int, Meta(ge=1, le=1 << 10)] = 8
    head: Annotated[int, Meta(ge=2, le=1 << 12, multiple_of=2)] = 64
    """Width of a head."""
    key_heads: Annotated[int, Meta(ge=1, le=1 << 10)] = 2
    """Heads of keys and values; each serves a group of heads of queries."""
    inner: Annotated[int, Meta(ge=1, le=1 << 18)] = 1376
    """Width of the gated network; the usual one is that of llama2.c's model of this width."""
    vocabulary: Annotated[int, Meta(ge=8, le=1 << 24)] = 8192
    context: Annotated[int, Meta(ge=16, le=1 << 14)] = 512
    """Tokens that there are positions for."""
    epsilon: Annotated[float, Meta(gt=0, lt=1)] = 1e-5
    """Of RMSNorm, as in Llama 2."""
    theta: Annotated[float, Meta(gt=1, lt=1e12)] = 10_000.0
    """Base of the rotary positions' wavelengths, as in Llama 2."""
    stretch: Annotated[float, Meta(ge=1, lt=1e6)] = 1.0
    """By how much long wavelengths are longer than that, as in Llama 3.1; 1: they are not."""
    stretch_low: Annotated[float, Meta(gt=0, lt=1e6)] = 1.0
    """Wavelengths that fit less often than that into the old context are stretched."""
    stretch_high: Annotated[float, Meta(gt=0, lt=1e6)] = 4.0
    """Wavelengths that fit more often than that into the old context stay."""
    stretch_context: Annotated[int, Meta(ge=1, le=1 << 24)] = 8192
    """The old context, in tokens."""

    def __post_init__(self) -> None:
        """Refuse heads of keys that do not divide those of queries, and a stretch without a middle."""
        if self.key_heads < 1 or self.heads % self.key_heads:
            raise ValueError(f"{self.heads} heads of queries are not divided among {self.key_heads} of keys")
        if self.stretch_low >= self.stretch_high:
            raise ValueError(f"a stretch of wavelengths from {self.stretch_low} to {self.stretch_high} is none")

    @property
    def group(self) -> int:
        """Heads of queries that a head of keys serves."""
        return self.heads // self.key_heads

    @property
    def prompt(self) -> int:
        """Tokens of an input where all are computed at once: 128, where there are positions for so many."""
        return min(128, self.context)


BASE = Sizes()
LAYERS = BASE.layers
HIDDEN = BASE.hidden
HEADS = BASE.heads
HEAD = BASE.head
KEY_HEADS = BASE.key_heads
INNER = BASE.inner
VOCABULARY = BASE.vocabulary
CONTEXT = BASE.context
PROMPT = BASE.prompt
EPSILON = BASE.epsilon


def _dense(name: str, fan_in: int, fan_out: int) -> Parameter:
    return Parameter(f"{name}.weight", (fan_out, fan_in), std=fan_in**-0.5)


def _norm(name: str, width: int) -> Parameter:
    return Parameter(f"{name}.weight", (width,), mean=1.0, std=0.1)


def _parameters(sizes: Sizes) -> tuple[Parameter, ...]:
    hidden, queries, keys = sizes.hidden, sizes.heads * sizes.head, sizes.key_heads * sizes.head
    parameters = [Parameter("model.embed_tokens.weight", (sizes.vocabulary, hidden), std=1.0)]
    for number in range(sizes.layers):
        layer = f"model.layers.{number}"
        parameters += [
            _dense(f"{layer}.self_attn.q_proj", hidden, queries),
            _dense(f"{layer}.self_attn.k_proj", hidden, keys),
            _dense(f"{layer}.self_attn.v_proj", hidden, keys),
            _dense(f"{layer}.self_attn.o_proj", queries, hidden),
            _dense(f"{layer}.mlp.gate_proj", hidden, sizes.inner),
            _dense(f"{layer}.mlp.up_proj", hidden, sizes.inner),
            _dense(f"{layer}.mlp.down_proj", sizes.inner, hidden),
            _norm(f"{layer}.input_layernorm", hidden),
            _norm(f"{layer}.post_attention_layernorm", hidden),
        ]
    return (*parameters, _norm("model.norm", hidden), _dense("lm_head", hidden, sizes.vocabulary))


def _decoding(sizes: Sizes, depths: dict[str, tuple[int, ...]]) -> Decoding:
    shape = (sizes.key_heads, sizes.context, sizes.head)
    return Decoding(
        context=sizes.context,
        caches=tuple(
            Tensor(f"cache.{number}.{part}", shape, "float32")
            for number in range(sizes.layers)
            for part in ("key", "value")
        ),
        depths=depths,
    )


MODEL = Model(
    name="decoder",
    title=f"Decoder of {LAYERS} Llama layers, context {CONTEXT}",
    inputs=(Tensor("input_ids", (PROMPT,), "int32"),),
    output=Tensor("logits", (VOCABULARY,), "float32"),
    parameters=_parameters(BASE),
    source="Touvron et al., arXiv:2307.09288; as in transformers' LlamaForCausalLM",
    package="decoder",
    short_title="Decoder",
    batches={"smoke": (2,), "standard": (4,), "full": (4, 8)},
    by_default=False,
    reference_batch=4,
    activations=9_000_000,  # of eight layers of 128 tokens, attention among them
    decoding=_decoding(BASE, {"smoke": (128,), "standard": (128, 384), "full": (128, 384)}),
)


FAMILY = "Llama"
"""What networks of such layers are called, whatever their size."""


def of_weights(name: str, sizes: Sizes) -> Model:
    """Return the Llama of a user's own weights."""
    depth = min(128, sizes.context // 4)
    longer = min(384, 3 * sizes.context // 8)
    return Model(
        name=name,
        title=f"Llama of {sizes.layers} layers, width {sizes.hidden}, context {sizes.context}",
        inputs=(Tensor("input_ids", (sizes.prompt,), "int32"),),
        output=Tensor("logits", (sizes.vocabulary,), "float32"),
        parameters=_parameters(sizes),
        source=MODEL.source,
        package="decoder",
        short_title=FAMILY,
        batches=MODEL.batches,
        by_default=False,
        reference_batch=MODEL.reference_batch,
        activations=sizes.layers
        * sizes.prompt
        * (4 * sizes.hidden + 3 * sizes.inner + 2 * sizes.heads * (sizes.head + sizes.prompt)),
        decoding=_decoding(sizes, {"smoke": (depth,), "standard": (depth, longer), "full": (depth, longer)}),
        sizes=sizes,
    )


def seeded_input(name: str, *, sizes: Sizes = BASE) -> Arrays:
    """Return the input of that name: `input_ids`, int32, shape (128,)."""
    return {"input_ids": seeded_tokens(name, sizes.prompt, sizes=sizes)}


def seeded_tokens(name: str, count: int, *, sizes: Sizes = BASE) -> npt.NDArray[np.int32]:
    """Return the first `count` tokens of a name's sequence, int32.

    Small token numbers are more frequent, as in text: u² for a uniform u, in integers.
    """
    draws = bits.integers(name, count)  # 24 bits each
    return (((draws * draws) >> 24) * sizes.vocabulary >> 24).astype(np.int32)


def rotations(sizes: Sizes = BASE) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return cosine and sine of each position's angles, float64, shape (512, 64) each.

    Angle *i* of a head is position × θ^(−2i/64), and stands at *i* and at *i* + 32, which are turned together: the
    order of transformers (https://arxiv.org/abs/2104.09864, equation 34, has the pairs side by side).
    """
    frequencies = sizes.theta ** (-np.arange(0, sizes.head, 2) / sizes.head)
    angles = np.tile(np.arange(sizes.context)[:, None] * _stretched(frequencies, sizes), 2)
    return np.cos(angles), np.sin(angles)


def _stretched(frequencies: npt.NDArray[np.float64], sizes: Sizes) -> npt.NDArray[np.float64]:
    """Divide low frequencies by the stretch, leave high ones, and pass from one to the other in between.

    As in Llama 3.1's published code (`apply_scaling`) and in transformers (`_compute_llama3_parameters`).
    """
    if sizes.stretch == 1:
        return frequencies
    turns = sizes.stretch_context * frequencies / (2 * np.pi)  # of a pair, within the old context
    kept = np.clip((turns - sizes.stretch_low) / (sizes.stretch_high - sizes.stretch_low), 0, 1)
    found: npt.NDArray[np.float64] = frequencies * (kept + (1 - kept) / sizes.stretch)
    return found


def layers(*, sizes: Sizes = BASE) -> tuple[Layer, ...]:
    """Return the lookup, seven dense layers and two products of attention in each layer, and the head.

    Only the last token reaches the head. Of attention all pairs of tokens are counted, as its products are computed,
    though half are masked.
    """
    return cached_layers(sizes.prompt, sizes.prompt, sizes=sizes)


def cached_layers(tokens: int, depth: int, *, sizes: Sizes = BASE) -> tuple[Layer, ...]:
    """Return the layers of one call that reads a KV cache."""
    # Of the table only the rows of the input are read: they count as activations.
    lookup = Layer("model.embed_tokens", "lookup", 0, 0, tokens * sizes.hidden, tokens * sizes.hidden)
    blocks = (part for at in range(sizes.layers) for part in _layer(f"model.layers.{at}", tokens, depth, sizes))
    return (lookup, *blocks, dense("lm_head", 1, sizes.hidden, sizes.vocabulary, bias=False))


def _layer(name: str, tokens: int, seen: int, sizes: Sizes) -> tuple[Layer, ...]:
    """Return the layers of one layer of the network: `tokens` tokens that look at `seen`."""
    hidden, inner = sizes.hidden, sizes.inner
    queries, keys = sizes.heads * sizes.head, sizes.key_heads * sizes.head
    scores, read, macs = sizes.heads * tokens * seen, seen * keys, tokens * seen * queries
    attention = f"{name}.self_attn"
    return (
        dense(f"{attention}.q_proj", tokens, hidden, queries, bias=False),
        dense(f"{attention}.k_proj", tokens, hidden, keys, bias=False),
        dense(f"{attention}.v_proj", tokens, hidden, keys, bias=False),
        Layer(f"{attention}.scores", "attention", macs, 0, tokens * queries + read, scores),
        Layer(f"{attention}.context", "attention", macs, 0, scores + read, tokens * queries),
        dense(f"{attention}.o_proj", tokens, queries, hidden, bias=False),
        dense(f"{name}.mlp.gate_proj", tokens, hidden, inner, bias=False),
        dense(f"{name}.mlp.up_proj", tokens, hidden, inner, bias=False),
        dense(f"{name}.mlp.down_proj", tokens, inner, hidden, bias=False),
    )
