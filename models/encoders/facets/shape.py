"""The size of the network of facets."""

from dataclasses import dataclass

# The words of a text that are read at once.
MOST_WORDS = 50


@dataclass(frozen=True, slots=True)
class FacetShape:
    """The size of the network. ``attention`` lets the decoder read the words: for sentences, not for phrases."""

    facets: int = 10
    dim: int = 200
    encoder_layers: int = 1
    decoder_layers: int = 2
    heads: int = 4
    hidden: int = 512
    attention: bool = True
