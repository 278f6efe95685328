"""BERT-base in PyTorch."""

import math

import torch
from torch import nn
from torch.nn import functional

from levelfield.zoo.bert import BASE, Sizes
from levelfield.zoo.spec import Model
from levelfield.zoo.torch_module import for_loss


class BERT(nn.Module):  # type: ignore[misc,unused-ignore]
    """Modules are named as in transformers."""

    def __init__(self, sizes: Sizes = BASE) -> None:
        super().__init__()
        self.embeddings = Embeddings(sizes)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))

    def forward(
        self, input_ids: torch.Tensor, token_type_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> torch.Tensor:
        """Compute `last_hidden_state`, shape (batch, 128, 768), from three int32 inputs of shape (batch, 128).

        `input_ids`, `token_type_ids`, `attention_mask`: int32, shape (batch, 128).
        """
        x = self.embeddings(input_ids, token_type_ids)
        # Added to the scores. One float mask for all layers: a boolean one is converted, and guarded, in each.
        mask = torch.where(attention_mask[:, None, None, :] != 0, 0.0, -math.inf).to(x.dtype)
        for layer in self.encoder.layer:
            x = layer(x, mask)
        return x


class Embeddings(nn.Module):  # type: ignore[misc,unused-ignore]
    """Word, position and type, added and normalised."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(sizes.vocabulary, sizes.hidden)
        self.position_embeddings = nn.Embedding(sizes.positions, sizes.hidden)
        self.token_type_embeddings = nn.Embedding(sizes.types, sizes.hidden)
        self.LayerNorm = nn.LayerNorm(sizes.hidden, eps=sizes.epsilon)

    def forward(self, input_ids: torch.Tensor, token_type_ids: torch.Tensor) -> torch.Tensor:
        """Return the first hidden state, shape (batch, sequence, hidden).

        `input_ids`, `token_type_ids`: int32, shape (batch, 128).
        """
        positions = self.position_embeddings.weight[: input_ids.shape[1]]
        return self.LayerNorm(self.word_embeddings(input_ids) + positions + self.token_type_embeddings(token_type_ids))


class Layer(nn.Module):  # type: ignore[misc,unused-ignore]
    """Attention and a two-layer network, each added to its input and normalised after (post-norm)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.attention = nn.Module()
        self.attention.self = Attention(sizes)
        self.attention.output = Output(sizes.hidden, sizes)
        self.intermediate = nn.Module()
        self.intermediate.dense = nn.Linear(sizes.hidden, sizes.inner)
        self.output = Output(sizes.inner, sizes)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the next hidden state, shape (batch, sequence, hidden).

        `x`: hidden state, shape (batch, 128, 768). `mask`: what is added to the scores, shape (batch, 1, 1, 128).
        """
        x = self.attention.output(self.attention.self(x, mask), x)
        return self.output(functional.gelu(self.intermediate.dense(x)), x)


class Attention(nn.Module):  # type: ignore[misc,unused-ignore]
    """Every token looks at the tokens that are not padding."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.query = nn.Linear(sizes.hidden, sizes.hidden)
        self.key = nn.Linear(sizes.hidden, sizes.hidden)
        self.value = nn.Linear(sizes.hidden, sizes.hidden)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the context, shape (batch, sequence, hidden)."""
        split = (*x.shape[:2], self.heads, x.shape[2] // self.heads)
        query, key, value = (part(x).view(split).transpose(1, 2) for part in (self.query, self.key, self.value))
        context = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return context.transpose(1, 2).reshape(x.shape)


class Output(nn.Module):  # type: ignore[misc,unused-ignore]
    """A dense layer, added to the residual and normalised."""

    def __init__(self, width: int, sizes: Sizes) -> None:
        super().__init__()
        self.dense = nn.Linear(width, sizes.hidden)
        self.LayerNorm = nn.LayerNorm(sizes.hidden, eps=sizes.epsilon)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """Return the normalised sum, shape (batch, sequence, hidden); `residual`: shape (batch, 128, 768)."""
        return self.LayerNorm(self.dense(x) + residual)


def build(model: Model) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return BERT(model.sizes if isinstance(model.sizes, Sizes) else BASE)


def prepare(network: nn.Module) -> nn.Module:
    """Set what a layer does differently in training: nothing here, since there is no dropout."""
    return network


def loss(
    network: nn.Module,
    input_ids: torch.Tensor,
    token_type_ids: torch.Tensor,
    attention_mask: torch.Tensor,
    positions: torch.Tensor,
    labels: torch.Tensor,
) -> torch.Tensor:
    """Compute cross-entropy over the vocabulary, mean over the masked words; the head is the table of embeddings."""
    hidden = network(input_ids, token_type_ids, attention_mask)
    rows = torch.arange(len(hidden), device=hidden.device)[:, None]
    masked = hidden[rows, positions.long()].flatten(0, 1)
    logits = functional.linear(masked, network.embeddings.word_embeddings.weight)
    return functional.cross_entropy(for_loss(logits), labels.long().flatten())
