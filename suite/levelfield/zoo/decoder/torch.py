"""The decoder in PyTorch, over whole prompts and over a cache of keys and values."""

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from levelfield.zoo.decoder import BASE, Sizes, rotations
from levelfield.zoo.spec import Model


class Decoder(nn.Module):  # type: ignore[misc,unused-ignore]
    """Modules are named as in published checkpoints for transformers."""

    def __init__(self, sizes: Sizes = BASE) -> None:
        super().__init__()
        self.context, self.group = sizes.context, sizes.group
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(sizes.vocabulary, sizes.hidden)
        self.model.layers = nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))
        self.model.norm = nn.RMSNorm(sizes.hidden, eps=sizes.epsilon)
        self.lm_head = _dense(sizes.hidden, sizes.vocabulary)
        for name, table in zip(("cosine", "sine"), rotations(sizes), strict=True):
            # On the CPU, and not on the device `meta`, where weights are until they are filled in.
            filled = torch.tensor(table, dtype=torch.float32, device="cpu")
            self.register_buffer(name, filled, persistent=False)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Compute the next token's `logits`, shape (batch, 8192). `input_ids`: int32, shape (batch, tokens)."""
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        return self.cached(input_ids, positions, None)

    def cached(
        self, input_ids: torch.Tensor, positions: torch.Tensor, caches: "Caches | None", *, in_place: bool = True
    ) -> torch.Tensor:
        """Compute `logits` of the token that follows the last, shape (batch, 8192), and keep keys and values.

        `input_ids`: int32, shape (batch, tokens). `positions`: of these tokens, one after the other: int64, shape
        (tokens,). `caches`: key and value of every layer, each of shape (batch, 2, 512, 64): what stands there for
        positions before these is read, and that of these is written. None: these tokens see each other alone, and
        nothing is kept.
        """
        renewed = None if in_place else _replaced
        seen = torch.arange(self.context, device=positions.device) if caches is not None else positions
        return self._answer(input_ids, positions, seen, caches, renewed)

    def grown(self, input_ids: torch.Tensor, positions: torch.Tensor, caches: "Caches") -> torch.Tensor:
        """Do as `cached` does, with caches that are as long as what is in them.

        `caches`: key and value of every layer, each of shape (batch, 2, tokens so far, 64); longer ones take their
        place in the list.
        """
        length = caches[0].shape[2] + input_ids.shape[1]
        seen = torch.arange(length, device=positions.device)
        return self._answer(input_ids, positions, seen, caches, _concatenated)

    def _answer(
        self,
        input_ids: torch.Tensor,
        positions: torch.Tensor,
        seen: torch.Tensor,
        caches: "Caches | None",
        renewed: "Renewed | None",
    ) -> torch.Tensor:
        """Return `logits`; `seen` are the positions of all keys that there will be."""
        x = self.model.embed_tokens(input_ids)
        allowed = seen[None, :] <= positions[:, None]
        # Added to the scores; each head of keys serves its group's queries as if they were further tokens.
        mask = torch.where(allowed, 0.0, -math.inf).to(x.dtype).repeat(self.group, 1)
        rotation = self.cosine[positions], self.sine[positions]
        for number, layer in enumerate(self.model.layers):
            x = layer(x, mask, rotation, _Store(caches, number, positions, renewed))
        return self.lm_head(self.model.norm(x[:, -1]))


Caches = list[torch.Tensor]
"""Key and value of every layer, in turn, each of shape (batch, 2, 512, 64), or as long as what is in it."""
Rotation = tuple[torch.Tensor, torch.Tensor]
"""Cosine and sine of the positions' angles, shape (tokens, 64) each."""
Renewed = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Makes a new cache of an old one, the new tokens' positions, and their keys or values, (batch, 2, tokens, 64)."""


class _Store:
    """Where a layer keeps keys and values; `renewed` makes what takes the place of a cache that is not written into."""

    def __init__(self, caches: Caches | None, number: int, positions: torch.Tensor, renewed: Renewed | None) -> None:
        self._caches = caches
        self._first = 2 * number
        self._positions = positions
        self._renewed = renewed

    def extended(self, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Keep keys and values of shape (batch, 2, tokens, 64), and return all there are."""
        caches, positions = self._caches, self._positions
        if caches is None:
            return key, value
        for index, new in enumerate((key, value), self._first):
            if self._renewed is None:
                caches[index].index_copy_(2, positions, new)
            else:
                caches[index] = self._renewed(caches[index], positions, new)
        return caches[self._first], caches[self._first + 1]


def _replaced(cache: torch.Tensor, positions: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """Return a cache with what is new: in ONNX a ScatterND, which a runtime can compute in place."""
    batch, heads, tokens = new.shape[:3]
    index = (
        torch.arange(batch, device=new.device)[:, None, None].expand(batch, heads, tokens),
        torch.arange(heads, device=new.device)[None, :, None].expand(batch, heads, tokens),
        positions[None, None, :].expand(batch, heads, tokens),
    )
    return cache.index_put(index, new)


def _concatenated(cache: torch.Tensor, _: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """Return a longer cache: what is new stands behind what there was, in memory of its own."""
    return torch.cat((cache, new), dim=2)


class Layer(nn.Module):  # type: ignore[misc,unused-ignore]
    """Attention and a gated network, each of its normalised input, added to that input (pre-norm)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.self_attn = Attention(sizes)
        self.mlp = Gated(sizes)
        self.input_layernorm = nn.RMSNorm(sizes.hidden, eps=sizes.epsilon)
        self.post_attention_layernorm = nn.RMSNorm(sizes.hidden, eps=sizes.epsilon)

    def forward(self, x: torch.Tensor, mask: torch.Tensor, rotation: Rotation, store: _Store) -> torch.Tensor:
        """Return the next hidden state, shape (batch, tokens, 512), from one of that shape.

        `mask`: what is added to the scores, shape (4 × tokens, tokens seen).
        """
        x = x + self.self_attn(self.input_layernorm(x), mask, rotation, store)
        return x + self.mlp(self.post_attention_layernorm(x))


class Attention(nn.Module):  # type: ignore[misc,unused-ignore]
    """Every token looks at itself and the tokens before it."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.heads, self.key_heads, self.group, self.head = sizes.heads, sizes.key_heads, sizes.group, sizes.head
        self.q_proj = _dense(sizes.hidden, sizes.heads * sizes.head)
        self.k_proj = _dense(sizes.hidden, sizes.key_heads * sizes.head)
        self.v_proj = _dense(sizes.hidden, sizes.key_heads * sizes.head)
        self.o_proj = _dense(sizes.heads * sizes.head, sizes.hidden)

    def forward(self, x: torch.Tensor, mask: torch.Tensor, rotation: Rotation, store: _Store) -> torch.Tensor:
        """Return what attention adds to the hidden state, shape (batch, tokens, 512)."""
        batch, tokens = x.shape[:2]
        query, key, value = (
            part(x).view(batch, tokens, -1, self.head).transpose(1, 2)
            for part in (self.q_proj, self.k_proj, self.v_proj)
        )
        key, value = store.extended(_turned(key, rotation), value)
        grouped = _turned(query, rotation).reshape(batch, self.key_heads, self.group * tokens, self.head)
        context = functional.scaled_dot_product_attention(grouped, key, value, attn_mask=mask)
        context = context.reshape(batch, self.heads, tokens, self.head).transpose(1, 2)
        return self.o_proj(context.reshape(batch, tokens, self.heads * self.head))


class Gated(nn.Module):  # type: ignore[misc,unused-ignore]
    """Two dense layers side by side, of which one gates the other, and a third (SwiGLU)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.gate_proj = _dense(sizes.hidden, sizes.inner)
        self.up_proj = _dense(sizes.hidden, sizes.inner)
        self.down_proj = _dense(sizes.inner, sizes.hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return what it adds to the hidden state, shape (batch, tokens, 512), from one of that shape."""
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Cached(nn.Module):  # type: ignore[misc,unused-ignore]
    """The decoder as a function of its caches, as it is exported."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor, *caches: torch.Tensor) -> list[torch.Tensor]:
        """Return `logits` and the new caches."""
        kept = list(caches)
        logits = self.network.cached(input_ids, positions, kept, in_place=False)
        return [logits, *kept]


class Grown(Cached):
    """The same with caches that grow."""

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor, *caches: torch.Tensor) -> list[torch.Tensor]:
        """Return `logits` and the new caches."""
        kept = list(caches)
        logits = self.network.grown(input_ids, positions, kept)
        return [logits, *kept]


def _turned(x: torch.Tensor, rotation: Rotation) -> torch.Tensor:
    """Turn queries or keys, shape (batch, heads, tokens, 64), by the positions of their tokens."""
    cosine, sine = rotation
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat([-second, first], dim=-1) * sine


def _dense(fan_in: int, fan_out: int) -> nn.Linear:
    return nn.Linear(fan_in, fan_out, bias=False)


def build(model: Model) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return Decoder(model.sizes if isinstance(model.sizes, Sizes) else BASE)
