"""ViT-B/16 in PyTorch."""

import torch
from torch import nn
from torch.nn import functional

from levelfield.zoo.spec import Model
from levelfield.zoo.vit import BASE, Sizes


class ViT(nn.Module):  # type: ignore[misc,unused-ignore]
    """Modules are named as in published checkpoints for transformers."""

    def __init__(self, sizes: Sizes = BASE) -> None:
        super().__init__()
        self.embeddings = Embeddings(sizes)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))
        self.layernorm = nn.LayerNorm(sizes.hidden, eps=sizes.epsilon)
        self.classifier = nn.Linear(sizes.hidden, sizes.classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Compute `logits`, shape (batch, 1000), from `images`, shape (batch, 3, 224, 224)."""
        x = self.embeddings(images)
        for layer in self.encoder.layer:
            x = layer(x)
        return self.classifier(self.layernorm(x)[:, 0])


class Embeddings(nn.Module):  # type: ignore[misc,unused-ignore]
    """Projected patches behind the class token, with embeddings of position."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.empty(1, 1, sizes.hidden))
        self.position_embeddings = nn.Parameter(torch.empty(1, sizes.tokens, sizes.hidden))
        self.patch_embeddings = nn.Module()
        self.patch_embeddings.projection = nn.Conv2d(3, sizes.hidden, sizes.patch, stride=sizes.patch)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the first hidden state, shape (batch, 197, 768), of `images`, shape (batch, 3, 224, 224)."""
        patches = self.patch_embeddings.projection(images).flatten(2).transpose(1, 2)
        first = self.cls_token.expand(len(images), -1, -1)
        return torch.cat([first, patches], dim=1) + self.position_embeddings


class Layer(nn.Module):  # type: ignore[misc,unused-ignore]
    """Attention and a two-layer network, each of its normalised input, added to that input (pre-norm)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.layernorm_before = nn.LayerNorm(sizes.hidden, eps=sizes.epsilon)
        self.attention = nn.Module()
        self.attention.attention = Attention(sizes)
        self.attention.output = _dense(sizes.hidden, sizes.hidden)
        self.layernorm_after = nn.LayerNorm(sizes.hidden, eps=sizes.epsilon)
        self.intermediate = _dense(sizes.hidden, sizes.inner)
        self.output = _dense(sizes.inner, sizes.hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the next hidden state, shape (batch, 197, 768), from one of that shape."""
        x = x + self.attention.output.dense(self.attention.attention(self.layernorm_before(x)))
        inner = functional.gelu(self.intermediate.dense(self.layernorm_after(x)))
        return x + self.output.dense(inner)


class Attention(nn.Module):  # type: ignore[misc,unused-ignore]
    """Every token looks at all tokens."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.query = nn.Linear(sizes.hidden, sizes.hidden)
        self.key = nn.Linear(sizes.hidden, sizes.hidden)
        self.value = nn.Linear(sizes.hidden, sizes.hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the context, shape (batch, 197, 768), of a hidden state of that shape."""
        split = (*x.shape[:2], self.heads, x.shape[2] // self.heads)
        query, key, value = (part(x).view(split).transpose(1, 2) for part in (self.query, self.key, self.value))
        return functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(x.shape)


def _dense(fan_in: int, fan_out: int) -> nn.Module:
    """Return a module that holds a dense layer named `dense`, as in transformers."""
    holder = nn.Module()
    holder.dense = nn.Linear(fan_in, fan_out)
    return holder


def build(model: Model) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return ViT(model.sizes if isinstance(model.sizes, Sizes) else BASE)
