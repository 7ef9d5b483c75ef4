"""Recipes as they are stored: what is not of this shape is refused where it is read.

Catalogs and snapshots may hold what other programs wrote.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Json, ValidationError, field_validator, model_validator

from indexer.representations.registry import representations
from indexer.representations.stored import Dim, Name, Stored
from indexer.types import Details, Recipe
from models.text.units import OLDEST, TextForm
from models.types import SpanBounds

UNITS: Final = "units"


class UnitDetails(Stored):
    """The details of units: how texts are read."""

    fingerprint: TextForm


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
        _, others = of_units(details)
        for name, values in others.items():
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
        text, details = of_units(self.representations)
        return Recipe(self.encoder, self.fingerprint, self.dim, bounds, details, text)


def with_units(recipe: Recipe) -> dict[str, Details]:
    """The details of a recipe as they are stored, with those of units unless texts are read in the oldest form.

    >>> with_units(Recipe("slice", "f1", 384, text="text.v1")), with_units(Recipe("slice", "f1", 384, text="text.v2"))
    ({}, {'units': {'fingerprint': 'text.v2'}})
    """
    units = {} if recipe.text == OLDEST else {UNITS: {"fingerprint": recipe.text}}
    return {**recipe.details, **units}


def of_units(details: Mapping[str, Any]) -> tuple[TextForm, dict[str, Any]]:
    """The form of texts, from the details of units, and the details of all other representations.

    Raises ``ValueError`` for a way that is not known.

    >>> of_units({"words": {"fingerprint": "words.v1"}})
    ('text.v1', {'words': {'fingerprint': 'words.v1'}})
    """
    others = dict(details)
    units = others.pop(UNITS, None)
    return (OLDEST if units is None else UnitDetails.model_validate(units).fingerprint), others


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
