"""The built-in model: a tiny decoder in plain torch, whose blocks bear the class names that a config wraps."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional


class Size(NamedTuple):
    """The measures of a test model and of its batches."""

    vocabulary: int = 256
    width: int = 64
    heads: int = 4
    layers: int = 2
    batch: int = 4
    length: int = 32
    rate: float = 1e-2


SMALL = Size()
LARGE = Size(vocabulary=8192, width=1024, heads=16, layers=4, batch=4, length=256, rate=1e-3)
"""Large enough (about 67 million parameters) that memory and speed on a GPU mean something."""


class DecoderBlock(nn.Module):
    """Causal attention and a feed-forward layer, each behind a norm and around a residual."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.norm = nn.LayerNorm(size.width)
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.out = nn.Linear(size.width, size.width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(size.width),
            nn.Linear(size.width, 4 * size.width),
            nn.GELU(),
            nn.Linear(4 * size.width, size.width),
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        batch, length, width = hidden.shape
        heads = self.qkv(self.norm(hidden)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return hidden + self.mlp(hidden)


class Decoder(nn.Module):
    """A language model of a few blocks. ``block_names``: the class names that its blocks bear, in turn."""

    def __init__(self, size: Size, block_names: list[str]) -> None:
        super().__init__()
        # A class of that name is what upstream looks for; what it does inside is the built-in block.
        classes = [DecoderBlock if name == "DecoderBlock" else type(name, (DecoderBlock,), {}) for name in block_names]
        self._no_split_modules = list(block_names)
        self.embed = nn.Embedding(size.vocabulary, size.width)
        count = max(size.layers, len(classes))
        self.layers = nn.ModuleList(classes[index % len(classes)](size) for index in range(count))
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, size.vocabulary, bias=False)

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The mean loss of predicting each next token of ``labels``."""
        hidden = self.embed(input_ids)
        for layer in self.layers:
            hidden = layer(hidden)
        logits = self.head(self.norm(hidden))[:, :-1]
        return functional.cross_entropy(logits.flatten(0, 1).float(), labels[:, 1:].flatten())
