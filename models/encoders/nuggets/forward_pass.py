"""The nuggets of a collection: their encoder, and how many there are."""

from dataclasses import dataclass
from functools import partial

from models.encoders.nuggets.base import NuggetEncoder
from models.encoders.passes import Maker
from models.types import JsonValue


@dataclass(frozen=True, slots=True)
class NuggetPass:
    """A nugget encoder, and the share of tokens that become nuggets."""

    encoder: NuggetEncoder
    ratio: float

    @property
    def maker(self) -> Maker:
        """Makes nuggets in the forward pass of the token vectors."""
        details: dict[str, JsonValue] = {
            "fingerprint": self.encoder.fingerprint,
            "dim": self.encoder.dim,
            "ratio": self.ratio,
        }
        return Maker(details, forward=partial(self.encoder.forward, ratio=self.ratio))
