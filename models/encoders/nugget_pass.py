"""Which nuggets a forward pass gives beside the token vectors."""

from dataclasses import dataclass

from models.encoders.nugget import NuggetEncoder


@dataclass(frozen=True, slots=True)
class NuggetPass:
    """An encoder of nuggets, and the share of tokens that are kept."""

    encoder: NuggetEncoder
    ratio: float
