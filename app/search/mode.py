"""Search modes: the interface that each implements, and how they are found.

A mode is a class that an entry point of the group ``spanseek.modes`` names; it is made from the encoders.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar, get_args

import numpy as np
from jaxtyping import Float

from app.encoders.encoders import Encoders
from app.requests import MODES, Boundaries, ModeName, SearchRequest
from app.search.answers import Hit, ScoreExplanation, TextPlace
from app.search.errors import ModeUnavailable
from app.search.hits import present_spans
from app.search.span_queries import SpanQuery
from indexer.engine.executor import SegmentQuery
from indexer.engine.named_spans import NamedSpan
from indexer.engine.place import ScoredSpan
from indexer.engine.query import Grouping, Selection
from indexer.engine.rows import SpanRows
from indexer.engine.snapshot import Snapshot
from indexer.tuning import Tuning
from indexer.types import Recipe
from indexer.words.literal import Terms
from models.entry_points import EXTRAS, entry_points_of
from models.errors import ExtraMissing, InvalidInput
from models.text.borders import Boundary
from models.types import CharSpan, QueryVectors

Read = TypeVar("Read")
Query = TypeVar("Query")

HitUnit = Literal["span", "document"]
# For every request of a batch the rows of a segment; the total of a batch has an item for every request, too.
BatchQuery: TypeAlias = SegmentQuery[Any, list[SpanRows]]
# What a total has for one request: each mode knows its own.
Total: TypeAlias = Any


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
    def exact(self) -> bool:
        """True if it holds the query's own words in their order."""

    @property
    def place(self) -> TextPlace:
        """Its place in the document."""


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Exact cosines of many results, and the result of a row. The order of rows has no meaning."""

    cosines: Float[np.ndarray, " rows"]
    row: Callable[[int], Scored]


@dataclass(frozen=True, slots=True)
class Counts:
    """The best result of every document, and all non-overlapping spans above a floor.

    ``spans`` is None without a floor, and in a mode whose hits are documents.
    """

    documents: ScoredRows
    spans: ScoredRows | None


@dataclass(frozen=True, slots=True)
class Accepts:
    """The options of a request that a mode accepts; :func:`app.search.reading.check_accepted` refuses others.

    ``ranking``: by cosine, which leaves out the literal floor. Without it, the option has no effect. ``operators``: a
    text may have ``prefixes*`` and ``"phrases"``, which say how to search, not what a text is to say.
    """

    vector: bool = False
    query_units: bool = False
    stemming: bool = False
    operators: bool = False
    ranking: bool = False
    lengths: bool = True
    context: bool = True
    boundaries: tuple[Boundaries, ...] = get_args(Boundaries)
    grouping: tuple[Grouping, ...] = get_args(Grouping)


@dataclass(frozen=True, slots=True)
class Needs:
    """The representation that a mode reads, and a hint for errors: how to add it to a collection."""

    representation: str
    hint: str


class Presented(Generic[Query]):
    """What the hits of a mode are, and how answers present them. The defaults suit spans; subclass it for others.

    ``whole`` is what a hit is without a choice of boundaries, if not a free span; ``boundary`` is that of all hits,
    whatever a request chooses. With ``is_literal``, occurrences of the query's own words rank first. With
    ``is_on_scale``, scores are those of spans, which verification weighs. ``explanation`` is the class of the
    explanations of hits. ``without_texts`` says what else the mode does for collections that store none.
    """

    unit: ClassVar[HitUnit] = "span"
    whole: ClassVar[Boundary | None] = None
    boundary: ClassVar[Boundary | None] = None
    is_literal: ClassVar[bool] = True
    is_on_scale: ClassVar[bool] = False
    explanation: ClassVar[type[ScoreExplanation] | None] = None
    without_texts: ClassVar[str] = ""

    def hit(self, span: ScoredSpan) -> Scored:
        """A counted span as a hit would be placed."""
        return span

    def present(
        self, request: SearchRequest, query: Query, spans: list[ScoredSpan], tuning: Tuning, total: Total
    ) -> tuple[Hit, ...]:
        """Hits with texts and metadata, numbered from 1, offsets in the unit of the request.

        ``total`` is the query's part of the total of ``Mode.segment_query``.
        """
        return present_spans(request, spans, tuning, lambda span: self.explain(request, query, span, total))

    def explain(self, request: SearchRequest, query: Query, span: ScoredSpan, total: Total) -> ScoreExplanation | None:
        """The terms of the score of a span."""
        return None


class Mode(Protocol[Read, Query]):
    """The steps of a search in one mode. Subclass it explicitly to inherit the defaults.

    ``Read`` is a validated and tokenized request, ``Query`` an encoded one. The search service passes both on without
    looking into them. ``needs`` is None for a mode that searches every collection.
    """

    name: ClassVar[ModeName]
    accepts: ClassVar[Accepts] = Accepts()
    needs: ClassVar[Needs | None] = None
    presented: ClassVar[Presented[Any]] = Presented()

    def __init__(self, encoders: Encoders) -> None:
        """Make the mode from the models of queries."""

    @property
    def countable(self) -> "Countable[Query]":
        """What counts, labels and calibrations compute in this mode."""
        return Countable(self)

    def fingerprint(self, recipe: Recipe) -> str:
        """Identifies everything that affects the scores of the mode, except span bounds."""
        return recipe.fingerprint

    def load(self, recipe: Recipe) -> None:
        """Load the models for queries of a collection, unless loaded. Not part of a search's time."""
        return None

    def read(self, request: SearchRequest, recipe: Recipe) -> Read:
        """Tokenize a request, whose options the mode accepts.

        Raises ``InvalidInput``, with the field, for a request that cannot be answered.
        """

    def encode(self, queries: Sequence[Read], recipe: Recipe) -> list[Query]:
        """Encode requests, of collections with equal fingerprints, in one batch."""

    def segment_query(self, snapshot: Snapshot, queries: Sequence[Query], selection: Selection) -> BatchQuery:
        """The query of a segment: for every request the rows that may be selected, by meaning alone.

        Documents are rows of all of their units.
        """


class Countable(Generic[Query]):
    """What counts, exports of many phrases, labels, calibrations and verification compute in a mode.

    The defaults follow from the mode's search.
    """

    def __init__(self, mode: Mode[Any, Query]) -> None:
        self._mode = mode

    def counting_query(self, snapshot: Snapshot, query: Query, floor: float | None, selection: Selection) -> BatchQuery:
        """The query of a segment for counts: all rows, or the two lists of ``Counts``, selected."""
        return self._mode.segment_query(snapshot, [query], selection)

    def exhaustive_query(self, snapshot: Snapshot, queries: Sequence[Query], selection: Selection) -> BatchQuery:
        """The query of a segment for many queries whose rows over the selection's floor are all wanted."""
        return self._mode.segment_query(snapshot, queries, selection)

    def score_fingerprint(self, request: SearchRequest, recipe: Recipe) -> str:
        """The fingerprint of a calibration that applies to the scores of a request."""
        return self._mode.fingerprint(recipe)

    def span_query(self, query: Query) -> SpanQuery | None:
        """The query as mode ``best_span`` encodes it, if this mode has that."""
        return None

    def text_vectors(self, queries: Sequence[Query]) -> QueryVectors | None:
        """The unit vectors of texts by whose cosines the texts compare; None where the mode has none."""
        return None

    def text_cosines(self, queries: Sequence[Query], texts: Sequence[Query]) -> Float[np.ndarray, " pairs"]:
        """The cosine of every query with a text of its own, both encoded."""
        raise InvalidInput(f"Mode {self._mode.name} does not compare texts.", field="mode")

    def span_cosines(
        self, snapshot: Snapshot, queries: Sequence[Query], spans: Sequence[NamedSpan]
    ) -> Float[np.ndarray, " spans"]:
        """The cosine of every stored span with the query that it names. Only for modes whose hits are spans."""
        raise InvalidInput(f"Mode {self._mode.name} does not compare spans.", field="mode")

    def is_literal_text(self, text: Terms, terms: Terms) -> bool:
        """True if a text alone, by its words, is what the floor ranks first for a query."""
        return text == terms


# The service passes values between the methods of one mode and does not need their types.
AnyMode: TypeAlias = Mode[Any, Any]
Modes: TypeAlias = Mapping[ModeName, AnyMode]


@cache
def mode_classes() -> Mapping[ModeName, type[AnyMode]]:
    """The classes of all modes, by name."""
    return {name: point.load() for name, point in entry_points_of(MODES).items()}


def load_modes(encoders: Encoders) -> Modes:
    """All modes, by name."""
    return {name: mode(encoders) for name, mode in mode_classes().items()}


def mode_named(name: str) -> ModeName:
    """The mode of this name. Raises ``InvalidInput`` for a name that no mode has.

    >>> mode_named("hybrid")
    'hybrid'
    """
    if name not in get_args(ModeName):
        choice = f"Choose one of {', '.join(get_args(ModeName))}."
        raise InvalidInput(f"There is no mode {name!r}.", hint=choice, field="mode")
    return name


def available_modes(modes: Modes, recipe: Recipe) -> tuple[ModeName, ...]:
    """The modes that are available for a recipe."""
    return tuple(name for name, mode in modes.items() if is_available(mode, recipe))


def is_available(mode: AnyMode, recipe: Recipe) -> bool:
    """True if a collection with this recipe holds what the mode searches."""
    return mode.needs is None or mode.needs.representation in recipe.details


def selection_of(mode: AnyMode, request: SearchRequest, floor: float | None) -> Selection:
    """The selection of results for a request. No result has a cosine below the floor."""
    presented, spans = mode.presented, request.spans
    grouping, boundary = request.group_by or presented.unit, presented.boundary or spans.boundary
    return Selection(request.top_k, floor, grouping, request.filter, spans.lengths, boundary)


def available_mode(modes: Modes, name: ModeName, collection: str, recipe: Recipe) -> AnyMode:
    """The mode of this name.

    Raises ``ModeUnavailable`` if the collection does not hold what it searches, and ``ExtraMissing`` if the mode is not
    installed.
    """
    mode = modes.get(name)
    if mode is not None and is_available(mode, recipe):
        return mode
    if mode is None and name in EXTRAS[MODES]:
        raise ExtraMissing(f"Mode {name} needs", EXTRAS[MODES][name])
    requirement = "" if mode is None or mode.needs is None else mode.needs.hint
    if not recipe.stores_text:
        instead = [modes[each].presented.without_texts for each in available_modes(modes, recipe)]
        requirement = " ".join(["The collection stores no texts;", *filter(None, instead)])
    raise ModeUnavailable(
        f"The collection {collection} cannot be searched in mode {name}: it does not hold what the mode searches.",
        hint=f"{requirement} Use mode {' or '.join(available_modes(modes, recipe))}.".strip(),
        field="mode",
    )
