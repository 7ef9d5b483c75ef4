"""How much the words of a query count in its vector (``weighting`` of a request)."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float32

from app.requests import SearchRequest
from app.search.types import WEIGHTING_MODES, UnitWeight
from indexer.segments.text import OffsetUnit, offset_in
from models.encoders.facets.model import FacetModel
from models.encoders.facets.weighting import UnitWeights, importance_of_units
from models.errors import InvalidInput
from models.text import units
from models.text.tokens import Tokens, join, token_weights
from models.types import CharSpans


@dataclass(frozen=True, slots=True)
class QueryWeights:
    """The units of a query, their weights, and those of its tokens."""

    text: str
    units: CharSpans
    of_units: UnitWeights
    of_tokens: Float32[np.ndarray, " tokens"]

    @classmethod
    def by_importance(cls, model: FacetModel, text: str, tokens: Tokens) -> Self:
        """Weights by the importance of words for the facets of the query."""
        joined = join(units.split(text), tokens)
        weights = importance_of_units(model, text, joined.spans)
        return cls(text, joined.spans, weights, token_weights(joined, weights))

    def explained(self, unit: OffsetUnit) -> tuple[UnitWeight, ...]:
        """The units with their weights."""
        return tuple(
            UnitWeight(offset_in(self.text, start, unit), offset_in(self.text, end, unit), self.text[start:end], weight)
            for (start, end), weight in zip(self.units.tolist(), self.of_units.tolist(), strict=True)
        )


def check_weighting(request: SearchRequest) -> None:
    """Raise ``InvalidInput`` for weights that the mode, or a vector, cannot have."""
    if request.weighting == "uniform":
        return
    if request.mode not in WEIGHTING_MODES:
        raise InvalidInput(
            f"Mode {request.mode} does not weigh the words of a query by importance.",
            hint=f"Leave weighting out, or search in mode {' or '.join(WEIGHTING_MODES)}.",
            field="weighting",
        )
    if request.text is None:
        raise InvalidInput(
            "A vector has no words to weigh.", hint="Leave weighting out, or give a text.", field="weighting"
        )
