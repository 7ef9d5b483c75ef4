"""The size of a restorable network, and the choices of the paper."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

# How token vectors become one: that of [CLS], their mean (eq. 1 and 2), or the mean of vectors bound to their places.
Pooling: TypeAlias = Literal["bound", "mean", "cls"]

# How a decoder reads vectors: before its input, by attention, or by gates (section 3.2 and 3.3).
Reading: TypeAlias = Literal["gating", "cross", "input"]


@dataclass(frozen=True, slots=True)
class RestorableShape:
    """The size of the network.

    A text is cut into stretches of ``stretch`` tokens, each of which becomes a vector of ``dim`` numbers (d_repr); at
    most ``vectors`` of them. ``width`` is d_model of encoder and decoder. Where ``backbone_dim`` is not 0, the encoder
    reads hidden states of a backbone of this length, and ``encoder_layers`` stand above it; ``frozen`` says
    whether the backbone learns.
    """

    vocabulary: int = 8192
    dim: int = 768
    width: int = 256
    heads: int = 4
    hidden: int = 1024
    encoder_layers: int = 2
    decoder_layers: int = 2
    stretch: int = 32
    vectors: int = 8
    pooling: Pooling = "bound"
    reading: Reading = "gating"
    backbone_dim: int = 0
    frozen: bool = True

    @property
    def longest(self) -> int:
        """The tokens of the longest text, its end mark included."""
        return self.stretch * self.vectors

    @property
    def begins(self) -> bool:
        """True if a token of its own stands before those of a row, as [CLS] in eq. 1. A backbone brings its own."""
        return self.pooling == "cls" and not self.backbone_dim
