"""Three small networks to try: levelfield bench --model recipes/networks.py:encoder"""

from typing import Any

import numpy as np
import torch
from torch import nn


class Block(nn.Module):
    """A residual block."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add what the convolution finds to its input."""
        return torch.relu(x + self.norm(self.conv(x)))


class Tagger(nn.Module):
    """A label for every token, by a bidirectional LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(1000, 64)
        self.lstm = nn.LSTM(64, 96, batch_first=True, bidirectional=True)
        self.head = nn.Linear(192, 17)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        hidden, _ = self.lstm(self.embed(tokens))
        return self.head(hidden)


def cnn() -> tuple[nn.Module, dict[str, Any]]:
    """Return a residual network and four small images."""
    stem = nn.Conv2d(3, 32, 3, stride=2, padding=1)
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    images = np.random.default_rng(0).standard_normal((4, 3, 64, 64), dtype=np.float32)
    return nn.Sequential(stem, Block(32), Block(32), *head), {"x": images}


def encoder() -> tuple[nn.Module, dict[str, Any]]:
    """Return a transformer of two layers and two sequences of 48 vectors."""
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    sequences = np.random.default_rng(0).standard_normal((2, 48, 128), dtype=np.float32)
    return nn.TransformerEncoder(layer, 2), {"x": sequences}


def rnn() -> tuple[nn.Module, dict[str, Any]]:
    """Return a tagger and two sequences of 40 tokens."""
    return Tagger(), {"tokens": np.random.default_rng(0).integers(0, 1000, (2, 40))}
