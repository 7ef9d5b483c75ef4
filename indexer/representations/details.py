"""Recipes as they are stored: what is not of this shape is refused where it is read.

Catalogs and snapshots may hold what other programs wrote.
"""

from typing import Any

from pydantic import Json, ValidationError, field_validator, model_validator

from indexer.representations.registry import representations
from indexer.representations.stored import Dim, Name, Stored
from indexer.types import Recipe
from models.types import SpanBounds


class RecipeFields(Stored):
    """The fields of a stored recipe."""

    encoder: Name
    fingerprint: Name
    dim: Dim
    shortest: int
    longest: int
    representations: Json[dict[str, Any]]

    @field_validator("representations")
    @classmethod
    def _are_known(cls, details: dict[str, Any]) -> dict[str, Any]:
        for name, values in details.items():
            if name not in representations():
                raise ValueError(f"the representation {name[:80]!r} is not installed")
            representations()[name].stored.model_validate(values)
        return details

    @model_validator(mode="after")
    def _has_bounds(self) -> "RecipeFields":
        SpanBounds(self.shortest, self.longest)
        return self

    @property
    def recipe(self) -> Recipe:
        """The recipe itself."""
        bounds = SpanBounds(self.shortest, self.longest)
        return Recipe(self.encoder, self.fingerprint, self.dim, bounds, self.representations)


def first_fault(error: ValidationError) -> str:
    """The fault of the first invalid field, in a few words.

    >>> try:
    ...     representations()["nuggets"].stored(fingerprint="n1", dim=0, ratio=0.5)
    ... except ValidationError as error:
    ...     print(first_fault(error))
    dim: Input should be greater than or equal to 1
    """
    fault = error.errors(include_url=False, include_context=False)[0]
    field, reason = ".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "string_pattern_mismatch":
        reason = f"{fault['input'][:80]!r} is not valid"
    return f"{field}: {reason}" if field else reason
