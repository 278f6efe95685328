"""BERT's training in PyTorch."""

import torch
from torch import nn


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
    logits = nn.functional.linear(masked, network.embeddings.word_embeddings.weight)
    return nn.functional.cross_entropy(logits, labels.long().flatten())
