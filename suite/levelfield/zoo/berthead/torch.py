"""BERT with a head in PyTorch."""

import torch
from torch import nn

from levelfield.zoo.bert.torch import BERT
from levelfield.zoo.berthead import SIDES, Sizes
from levelfield.zoo.spec import Model


class Answering(BERT):
    """BERT, and for every token how much speaks for an answer that begins or ends there."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.qa_outputs = nn.Linear(sizes.hidden, SIDES)

    def forward(
        self, input_ids: torch.Tensor, token_type_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> torch.Tensor:
        """Compute `begin_and_end`, shape (batch, sequence, 2), from inputs in int32, shape (batch, sequence)."""
        return self.qa_outputs(super().forward(input_ids, token_type_ids, attention_mask))


class Classifying(BERT):
    """BERT, and what its first token says of the class of a text."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.pooler = nn.Module()
        self.pooler.dense = nn.Linear(sizes.hidden, sizes.hidden)
        self.classifier = nn.Linear(sizes.hidden, sizes.classes)

    def forward(
        self, input_ids: torch.Tensor, token_type_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> torch.Tensor:
        """Compute `logits`, shape (batch, classes), from inputs in int32, shape (batch, sequence)."""
        first = super().forward(input_ids, token_type_ids, attention_mask)[:, 0]
        return self.classifier(torch.tanh(self.pooler.dense(first)))


def build(model: Model) -> nn.Module:
    """Return the network, its weights not yet filled in."""
    assert isinstance(model.sizes, Sizes)
    return Classifying(model.sizes) if model.sizes.classes else Answering(model.sizes)
