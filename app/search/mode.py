"""Search modes: the Protocol that each implements, and the registry.

``app/search/modes/NAME.py``, or the package ``app/search/modes/NAME``, implements the mode NAME of
:data:`app.search.types.Mode` and has a function ``create``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, Protocol, Self, TypeAlias, TypeVar, cast, get_args

import numpy as np
from jaxtyping import Float

from app.encoders.encoders import Encoders
from app.requests import Mode, SearchRequest
from app.search.errors import ModeUnavailable
from app.search.types import Hit
from indexer.engine.base import Engine
from indexer.engine.named_spans import NamedSpan
from indexer.engine.query import Selection
from indexer.engine.snapshot import Snapshot
from indexer.nuggets.scan import DocumentEngine
from indexer.tuning import Tuning
from indexer.types import Recipe
from models.errors import InvalidInput
from models.types import CharSpan

Read = TypeVar("Read")
Query = TypeVar("Query")
Result = TypeVar("Result")

HitUnit = Literal["span", "document"]


class TextPlace(Protocol):
    """The place of a result, for reading its text and its context."""

    @property
    def part_span(self) -> CharSpan:
        """The characters of the result's part, which limit its context."""

    def text(self, span: CharSpan) -> str:
        """A slice of the document's text."""


class Scored(Protocol):
    """A span, or a whole document, with its exact cosine."""

    @property
    def document_id(self) -> str:
        """The document's id."""

    @property
    def span(self) -> CharSpan:
        """Its characters in the document."""

    @property
    def cosine(self) -> float:
        """The cosine, or the mean of several."""

    @property
    def place(self) -> TextPlace:
        """Its place in the document."""


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Exact cosines of many results, and the result of a row. The order of rows has no meaning."""

    cosines: Float[np.ndarray, " rows"]
    row: Callable[[int], Scored]

    @classmethod
    def of(cls, results: Sequence[Scored]) -> Self:
        """Rows of results that are in memory."""
        return cls(np.array([scored.cosine for scored in results], np.float64), results.__getitem__)


@dataclass(frozen=True, slots=True)
class Counts:
    """The best result of every document, and all non-overlapping spans above a floor.

    ``spans`` is None without a floor, and in a mode whose hits are documents.
    """

    documents: ScoredRows
    spans: ScoredRows | None


class SearchMode(Protocol[Read, Query, Result]):
    """The steps of a search in one mode. Subclass it explicitly to inherit the defaults.

    ``Read`` is a validated and tokenized request, ``Query`` an encoded one, ``Result`` what the search returns. The
    search service passes all three on without looking into them.
    """

    @property
    def name(self) -> Mode:
        """The mode's name in requests."""

    @property
    def unit(self) -> HitUnit:
        """The kind of hits."""
        return "span"

    @property
    def requirement(self) -> str:
        """A hint for errors: how to create a collection for this mode."""
        return ""

    def available(self, recipe: Recipe) -> bool:
        """True if a collection with this recipe holds what the mode searches."""
        return True

    def fingerprint(self, recipe: Recipe) -> str:
        """Identifies everything that affects the scores of the mode, except span bounds."""
        return recipe.fingerprint

    def score_fingerprint(self, request: SearchRequest, recipe: Recipe) -> str:
        """The fingerprint of a calibration that applies to the scores of a request."""
        return self.fingerprint(recipe)

    def load(self, recipe: Recipe) -> None:
        """Load the models for queries of a collection, unless loaded. Not part of a search's time."""
        return None

    def read(self, request: SearchRequest, recipe: Recipe) -> Read:
        """Validate and tokenize a request, which has either a text or a vector.

        Raises ``InvalidInput``, with the field, for a request that cannot be answered.
        """

    def selection(self, request: SearchRequest, floor: float | None) -> Selection:
        """The selection of results for a request. No result has a cosine below the floor."""
        grouping, spans = request.group_by or self.unit, request.spans
        return Selection(request.top_k, floor, grouping, request.filter, spans.lengths, spans.boundary)

    def encode(self, queries: Sequence[Read], recipe: Recipe) -> list[Query]:
        """Encode requests, of collections with equal fingerprints, in one batch."""

    def search(self, snapshot: Snapshot, queries: Sequence[Query], selection: Selection) -> list[list[Result]]:
        """The results of every query, best first."""

    def count(self, snapshot: Snapshot, query: Query, floor: float | None, selection: Selection) -> Counts:
        """Exact and exhaustive counts: the results of a search with an unlimited ``top_k``, ungrouped."""

    def readable(self, results: list[Result]) -> list[Result]:
        """The same results, with places that restore texts where the collection does not store them."""
        return results

    def present(self, request: SearchRequest, query: Query, results: list[Result], tuning: Tuning) -> tuple[Hit, ...]:
        """Hits with texts and metadata, numbered from 1, offsets in the unit of the request."""

    def is_exact(self, query: Query, scored: Scored) -> bool:
        """True for an occurrence of the query's own words, as hits say it by ``match``."""
        return False

    def text_cosines(self, queries: Sequence[Query], texts: Sequence[Query]) -> Float[np.ndarray, " pairs"]:
        """The cosine of every query with a text of its own, both encoded."""

    def span_cosines(self, queries: Sequence[Query], spans: Sequence[NamedSpan]) -> Float[np.ndarray, " spans"]:
        """The cosine of every stored span with the query that it names. Only for modes whose hits are spans."""
        raise InvalidInput(f"Mode {self.name} does not compare spans.", field="mode")


# The service passes values between the methods of one mode and does not need their types.
AnyMode: TypeAlias = SearchMode[object, object, object]
Modes: TypeAlias = Mapping[Mode, AnyMode]


@dataclass(frozen=True, slots=True)
class Resources:
    """The dependencies of modes. Without ``documents`` the default document engine is used."""

    encoders: Encoders
    engine: Engine
    documents: DocumentEngine | None = None


def load_modes(encoders: Encoders, engine: Engine, documents: DocumentEngine | None = None) -> Modes:
    """All modes, by name."""
    resources = Resources(encoders, engine, documents)
    return {name: _create(name, resources) for name in get_args(Mode)}


def mode_named(name: str) -> Mode:
    """The mode of this name. Raises ``InvalidInput`` for a name that no mode has.

    >>> mode_named("hybrid")
    'hybrid'
    """
    for mode in get_args(Mode):
        if mode == name:
            return cast("Mode", mode)
    raise InvalidInput(f"There is no mode {name!r}.", hint=f"Choose one of {', '.join(get_args(Mode))}.", field="mode")


def _create(name: Mode, resources: Resources) -> AnyMode:
    create: Callable[[Resources], AnyMode] = import_module(f"app.search.modes.{name}").create
    return create(resources)


def available_modes(modes: Modes, recipe: Recipe) -> tuple[Mode, ...]:
    """The modes that are available for a recipe."""
    return tuple(name for name, mode in modes.items() if mode.available(recipe))


def available_mode(modes: Modes, name: Mode, collection: str, recipe: Recipe) -> AnyMode:
    """The mode of this name. Raises ``ModeUnavailable`` if the collection does not hold what it searches."""
    mode = modes.get(name)
    if mode is not None and mode.available(recipe):
        return mode
    alternatives = f"Use mode {' or '.join(available_modes(modes, recipe))}."
    requirement = "" if mode is None else mode.requirement
    if not recipe.stores_text:  # what the requirement would add explains itself by texts
        requirement = "The collection stores no texts; with group_by document, restorable ranks documents by MaxSim."
    raise ModeUnavailable(
        f"The collection {collection} cannot be searched in mode {name}: it does not hold what the mode searches.",
        hint=f"{requirement} {alternatives}".strip(),
        field="mode",
    )
