"""The size of the network of facets."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

# The words of a text that are read at once.
MOST_WORDS = 50

# Who reads a text: a small transformer over word vectors, or a frozen encoder of Spanseek.
FacetEncoder: TypeAlias = Literal["small", "backbone"]


@dataclass(frozen=True, slots=True)
class FacetShape:
    """The size of the network.

    ``attention`` lets the decoder read the words: for sentences, not for phrases. ``read_dim`` is the length of the
    vectors of a frozen encoder, which a linear map brings into the space of words.
    """

    facets: int = 10
    dim: int = 200
    encoder_layers: int = 1
    decoder_layers: int = 2
    heads: int = 4
    hidden: int = 512
    attention: bool = True
    encoder: FacetEncoder = "small"
    read_dim: int = 0
