"""The text embedder in PyTorch."""

import torch
from torch import nn
from torch.nn import functional

from levelfield.zoo.bert import BASE, Sizes
from levelfield.zoo.bert.torch import BERT
from levelfield.zoo.spec import Model


class Embedder(BERT):
    """BERT with mean pooling and normalisation."""

    def forward(
        self, input_ids: torch.Tensor, token_type_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> torch.Tensor:
        """Compute `sentence_embedding`, shape (batch, 768), of unit length, from int32 inputs, shape (batch, 128)."""
        hidden = super().forward(input_ids, token_type_ids, attention_mask)
        real = attention_mask[:, :, None].to(hidden.dtype)
        return functional.normalize((hidden * real).sum(dim=1) / real.sum(dim=1), dim=-1)


def build(model: Model) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    return Embedder(model.sizes if isinstance(model.sizes, Sizes) else BASE)
