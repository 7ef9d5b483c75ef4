"""Requests, declared once: their options for HTTP, the command line and Python.

Each is a dataclass whose annotations say what a field is for and which values it may have. FastAPI reads them as
request bodies, ``app.cli.options`` makes options of the command line of them, and the services take them as they are.
A new option of all searches is one field here, and the place that obeys it.

Field types are strict: a wrong type or an unknown field is refused, never coerced.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    GetPydanticSchema,
    PlainValidator,
    TypeAdapter,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_core import core_schema, to_json

from app.answers import described
from app.tabular import Format
from indexer.catalog.names import MAX_ID_LENGTH
from indexer.engine.query import Filter, Grouping, SpanLengths
from indexer.filters.expression import MAX_COMPARISONS, Expression
from indexer.filters.json_form import MAX_REQUEST_CHARACTERS, FilterBatch, expression_of
from indexer.segments.text import OffsetUnit
from indexer.tuning import Auto, ThresholdOn
from models.entry_points import EXTRAS, entry_points_of
from models.errors import InvalidInput
from models.fields import converted
from models.text.borders import Boundary
from models.text.checks import unstorable
from models.text.words import Language

# The names of the entry points of this group, which are classes of search modes (CONTRIBUTING.md, "Add a search mode"),
# and of the modes that extras install.
MODES: Final = "spanseek.modes"
if TYPE_CHECKING:
    ModeName: TypeAlias = str
else:
    ModeName = Literal[tuple(sorted({*entry_points_of(MODES), *EXTRAS[MODES]}))]
# What hits are ranked by; the paper ranks by the cosine alone.
Ranking = Literal["span_score", "cosine"]
Boundaries = Literal["any", "clause", "sentence", "part"]

MAX_TOP_K = 1000
# The best hits that are verified: those of one search where nothing is said, and the most.
VERIFIED: Final = 20
MAX_VERIFIED = 100
MAX_OFFSET = 10_000
MAX_EXPORT = 100_000
# Hits that are sorted, collapsed or counted: those above a threshold, and the best ones where there is none.
MAX_ARRANGED: Final = 100_000
ARRANGED_WITHOUT_THRESHOLD: Final = MAX_OFFSET + MAX_TOP_K
MAX_COUNTED_KEYS = 20
# Keys of `document` and of `part` in a filter.
MAX_CONDITIONS = MAX_COMPARISONS
# Hits of an export that are judged, if only likely ones are wanted.
MAX_JUDGED = 10_000
# The phrases of one mining, and the keys that their hits are counted by.
MAX_MINED = 10_000
MAX_COUNTED_BY = 20
MAX_COLLECTIONS = 20
MAX_CONTEXT = 1000
MAX_QUERY_UNITS = 100_000
MAX_NAME = 200
MAX_PREVIEWED = 100
MAX_EXAMPLES = 50
MAX_TEXT = 10_000
# A query may be a whole document in mode maxsim; in the others a window of the encoder is the limit.
MAX_QUERY = 100_000
MAX_DIM = 8192
MAX_CURSOR = 1000

STRICT = ConfigDict(extra="forbid")


def option(description: str, **limits: Any) -> FieldInfo:  # noqa: ANN401
    """The annotation of a number or a flag: what it is for, and the limits of its values, as pydantic names them."""
    annotation: FieldInfo = Field(description=description, strict=True, **limits)
    return annotation


def storable(text: str) -> str:
    """A text that every file can hold; raises ``ValueError`` for another."""
    reason = unstorable(text)
    if reason is not None:
        raise ValueError(f"It holds {reason}.")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("It holds nothing but white space.")
    return text


def _scalar(value: object) -> object:
    """Check a metadata value that a filter compares with. A union type would report one error for each member."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and value - value != 0:
        raise ValueError("It must be a finite number.")
    if value is not None and not isinstance(value, bool | int | float):
        raise ValueError("It must be a string, a number, true, false or null.")
    return value


_Storable = Annotated[str, Field(strict=True, min_length=1), AfterValidator(storable)]
CollectionName = Annotated[_Storable, Field(max_length=MAX_NAME)]
DocumentId = Annotated[_Storable, Field(max_length=MAX_ID_LENGTH)]
# The text of a phrase, and a query, which may be longer.
QueryText = Annotated[_Storable, Field(max_length=MAX_TEXT), AfterValidator(_not_blank)]
# A key of the metadata, as filters spell it, and what is done with it.
Key = Annotated[_Storable, Field(max_length=MAX_NAME)]
CursorText = Annotated[_Storable, Field(max_length=MAX_CURSOR)]
LongQueryText = Annotated[_Storable, Field(max_length=MAX_QUERY), AfterValidator(_not_blank)]
# A threshold, and whatever is compared with one: in a URL, and in a body.
SimilarityText = Annotated[FiniteFloat, Field(ge=0, le=1)]
Similarity = Annotated[SimilarityText, Field(strict=True)]
_Scalar = Annotated[
    str | int | float | bool | None,
    PlainValidator(_scalar, json_schema_input_type=str | int | float | bool | None),
]
_Wanted = Annotated[dict[Annotated[str, AfterValidator(storable)], _Scalar], Field(max_length=MAX_CONDITIONS)]


class Body(BaseModel):
    """The base class of strict bodies that need pydantic's models."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


# The filters of the request that is being parsed, if it may have several.
_BATCH: ContextVar[FilterBatch | None] = ContextVar("filters", default=None)


@contextmanager
def shared_filters(characters: int = MAX_REQUEST_CHARACTERS) -> Iterator[None]:
    """Have all filters that are parsed in the block share one budget."""
    token = _BATCH.set(FilterBatch(characters))
    try:
        yield
    finally:
        _BATCH.reset(token)


def _expression(value: object) -> Expression | None:
    batch = _BATCH.get()
    return None if value is None else expression_of(value) if batch is None else batch.expression_of(value)


# A string, or a tree in JSON; see ``indexer.filters``.
ExpressionField: TypeAlias = Annotated[
    Any, PlainValidator(_expression, json_schema_input_type=str | dict[str, Any] | None)
]


class FilterBody(Body):
    """Metadata values that must be equal, key by key (of a list, one element must be), and an expression."""

    document: _Wanted = Field({}, description="What the document's metadata must hold.")
    part: _Wanted = Field({}, description="What the metadata of the hit's part must hold.")
    expression: ExpressionField = Field(
        None,
        description="What must be true of both, as a string such as `duration >= 600 and not part.speaker = "
        '"agent"`, or as a tree: `{"key", "op", "value"}`, `{"and": [...]}`, `{"or": [...]}`, `{"not": ...}`.',
    )

    def filter(self) -> Filter:
        """The filter for the services."""
        return Filter(self.document, self.part, self.expression)


def filter_of(text: str | None) -> Filter:
    """Parse the text of a filter: an expression, or JSON. Raises ``InvalidInput``.

    >>> filter_of('{"document": {"week": 7}}').document
    {'week': 7}
    """
    if text is None:
        return Filter()
    if not text.lstrip().startswith("{"):
        return Filter(expression=expression_of(text))
    try:
        return FilterBody.model_validate_json(text).filter()
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(("filter", *map(str, first["loc"])))
        raise InvalidInput(
            f"{name}: {first['msg']}.", hint='Send JSON such as {"document": {"year": 2019}}.', field="filter"
        ) from error


def read_as(body: Any, convert: Callable[[Any], object]) -> GetPydanticSchema:  # noqa: ANN401
    """The annotation of a field that JSON gives in the form of ``body``, and that ``convert`` turns into its value."""
    return GetPydanticSchema(lambda _, handler: core_schema.no_info_after_validator_function(convert, handler(body)))


def _or_word(word: str, kind: Any, either: Any) -> GetPydanticSchema:  # noqa: ANN401
    """A kind of values, or a word. Not by a union, which would report an error for each of its members."""

    def read(value: object, other: Callable[[object], object]) -> object:
        return value if value == word else other(value)

    return GetPydanticSchema(
        lambda _, handler: core_schema.no_info_wrap_validator_function(
            read, handler(kind), json_schema_input_schema=handler(either)
        )
    )


NUMBER_OR_AUTO: Final = _or_word("auto", Similarity | None, Similarity | Auto | None)
_NAMES_OR_ALL: Final = _or_word("all", tuple[QueryText, ...], tuple[QueryText, ...] | Literal["all"])

FilterField: TypeAlias = Annotated[Filter, read_as(FilterBody, FilterBody.filter)]


@dataclass(frozen=True, slots=True)
class SpanChoice:
    """Restrictions on the spans that are hits."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    min_units: Annotated[int | None, option("The fewest units of a hit.", ge=1)] = None
    max_units: Annotated[int | None, option("The most units of a hit.", ge=1)] = None
    boundaries: Annotated[
        Boundaries,
        described(
            "`any` span within the collection's bounds, or every whole `clause`, `sentence` or `part`, of any length."
        ),
    ] = "any"

    @property
    def lengths(self) -> SpanLengths | None:
        """The range of lengths, if any."""
        limited = self.min_units is not None or self.max_units is not None
        return SpanLengths(self.min_units, self.max_units) if limited else None

    @property
    def boundary(self) -> Boundary | None:
        """The boundary of whole spans; None for all spans."""
        return None if self.boundaries == "any" else self.boundaries


@dataclass(frozen=True, kw_only=True)
class SpanOptions:
    """The threshold and the ranking of spans, for searches, previews and texts alike."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    threshold: Annotated[
        Similarity | Auto | None,
        NUMBER_OR_AUTO,
        described(
            "Minimum similarity of a hit, or `auto`: a match is more probable than not. Without one the collection's "
            "applies, if it has one; 0 returns all hits."
        ),
    ] = None
    threshold_on: Annotated[
        ThresholdOn, described("The scale of thresholds: `score`, or `raw`, from which a calibration makes it.")
    ] = "score"
    ranking: Annotated[
        Ranking,
        described(
            "What spans are ranked by: `span_score` is cosine, length and borders; `cosine` is the cosine alone, as in "
            "the paper, and knows no exact hits. Thresholds and counts follow it."
        ),
    ] = "span_score"
    spans: Annotated[SpanChoice, described("The lengths and boundaries of spans that can be hits.")] = field(
        default_factory=SpanChoice
    )


@dataclass(frozen=True, kw_only=True)
class HitOptions(SpanOptions):
    """The form of hits in an answer."""

    offset_unit: Annotated[
        OffsetUnit,
        described(
            "What `start` and `end` count: `codepoint` (Python), `utf16` (JavaScript, Java) or `byte` (UTF-8: Go, "
            "Rust)."
        ),
    ] = "codepoint"
    context: Annotated[
        int, option("Characters of context on either side of a hit, within its part.", ge=0, le=MAX_CONTEXT)
    ] = 0
    explain: Annotated[bool, option("Say what the parts of a hit, such as its units, add to its score.")] = False


Likely = Annotated[bool, option("Only hits whose `verdict` is `match`: a match is more probable than not.")]


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """The number of best hits that take the second look, and whether hits other than likely matches are left out."""

    verify: Annotated[
        int | None,
        option(
            "The number of best hits that a small network reads beside the phrase: it says `match`, `differs` or "
            "`unrelated`, and likely ones come first. By default 20 for one search and 0 in a "
            "batch; 0 leaves the order of the first look.",
            ge=0,
            le=MAX_VERIFIED,
        ),
    ] = None
    likely: Likely = False

    def _read(self, *, is_asked: bool) -> int:
        """The number of best hits that the verifier reads, also where another option asks for it."""
        return (VERIFIED if is_asked or self.likely else 0) if self.verify is None else self.verify


@dataclass(frozen=True, kw_only=True)
class ModeOptions:
    """The mode of a search and the filter of its texts, for searches and previews."""

    mode: Annotated[
        ModeName,
        described(
            "How to search: `best_span` finds spans, `lexical` sentences by their words, `hybrid` sentences by meaning "
            "and words; the documentation describes all modes."
        ),
    ] = "best_span"
    filter: Annotated[
        FilterField,
        described(
            "Metadata that must be equal, key by key: strings, numbers, booleans or null. A list matches if one of its "
            "elements does. Or, in `expression`, whatever else is asked of them."
        ),
    ] = field(default_factory=Filter)
    stemming: Annotated[
        Language | None,
        described(
            "The language, such as `english`, of the words that modes `lexical` and `hybrid` compare by their stems: "
            '"cancelled" then matches "cancel". Phrases in quotes, prefixes and exact hits stay literal.'
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class PreviewOptions(SpanOptions, ModeOptions):
    """The phrases to preview. The threshold is as in a search; spans are counted from ``floor``, on the same scale.

    Without a floor they are counted from the threshold, and without either they are not counted. ``saved`` names saved
    phrases, which follow the others, each with its own threshold and filter unless the request gives one.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"phrases": ["cancel my subscription"], "threshold": 0.5, "floor": 0.4}]},
    )

    phrases: Annotated[tuple[QueryText, ...], Field(max_length=MAX_PREVIEWED, description="Origin phrases.")] = ()
    saved: Annotated[
        tuple[QueryText, ...] | Literal["all"],
        _NAMES_OR_ALL,
        Field(
            description='Names of saved phrases, or `"all"`. If the request has no threshold or no filter, their own '
            "apply."
        ),
    ] = ()
    floor: Annotated[
        Similarity | None,
        described(
            "The lowest similarity of counted spans, on the scale of the threshold, which is the default. A low one "
            "takes time and memory."
        ),
    ] = None
    examples: Annotated[
        int, option("Maximum number of documents just above the threshold, and just below it.", ge=0, le=MAX_EXAMPLES)
    ] = 5


@dataclass(frozen=True)
class PreviewRequest(PreviewOptions):
    """The phrases to preview in one collection."""

    collection: str


@dataclass(frozen=True, kw_only=True)
class TextOrVector:
    """The text or the vector that a query searches for."""

    text: Annotated[
        LongQueryText | None,
        described(
            "The origin phrase. Give this or `vector`; it must fit into one window of the encoder. In mode `maxsim` it "
            "may be a whole document."
        ),
    ] = None
    vector: Annotated[
        tuple[Annotated[FiniteFloat, Field(strict=True)], ...] | None,
        Field(
            min_length=1,
            max_length=MAX_DIM,
            description="A query vector, of any length but zero, instead of `text`. The collection's description says "
            "which dimension a mode compares.",
        ),
    ] = None
    query_units: Annotated[
        int | None,
        option(
            "The number of units of the text that `vector` stands for; without it no span is discounted as too short.",
            ge=1,
            le=MAX_QUERY_UNITS,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class GroupedHits(HitOptions, ModeOptions):
    """The selection, the grouping and the form of hits."""

    group_by: Annotated[
        Grouping | None,
        described(
            "`span` keeps all spans that do not overlap, which is the default, `part` and `document` the best of each; "
            "in mode `maxsim` there is `document` alone."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class QueryRequest(GroupedHits, TextOrVector):
    """One query, a text or a vector, and the selection of its hits."""


@dataclass(frozen=True, kw_only=True)
class Arrangement:
    """The order of hits, the collapsing of hits that have a value in common, and the limit of hits per document."""

    sort: Annotated[
        Key | None,
        described(
            "What hits above the threshold are ordered by instead of their score: a key of the metadata, such as "
            "`day`, `part.start` or `document.id`, with `:desc` behind it for the greatest first. Hits without it come "
            "last, and equal ones are in the order of their scores. `score` is that order itself."
        ),
    ] = None
    collapse: Annotated[
        Key | None,
        described(
            "Show one hit, the best, of those that have this in common: their `text`, or a key of the metadata. "
            "`copies` says how many it stands for."
        ),
    ] = None
    per_document: Annotated[
        int | None, option("Maximum number of hits of one document: its best ones.", ge=1, le=MAX_TOP_K)
    ] = None

    @property
    def is_plain(self) -> bool:
        """True if all hits are shown, the best first."""
        return self.sort is None and self.collapse is None and self.per_document is None


@dataclass(frozen=True, kw_only=True)
class Counting:
    """The metadata keys by which all hits above the threshold are counted."""

    counts: Annotated[
        tuple[Key, ...],
        Field(
            max_length=MAX_COUNTED_KEYS,
            description="Count all hits above the threshold by these keys of the metadata: `team`; `day:week` by "
            "`day`, `week` or `month`; `duration:60,600` by ranges with these borders.",
        ),
    ] = ()


@dataclass(frozen=True, kw_only=True)
class PageRequest(QueryRequest, VerifyOptions):
    """One query, and which page of its hits to return."""

    top_k: Annotated[int, option("Maximum number of hits.", ge=1, le=MAX_TOP_K)] = 10
    offset: Annotated[
        int,
        option("The number of best hits to leave out, as on earlier pages; behind a `cursor`.", ge=0, le=MAX_OFFSET),
    ] = 0
    total: Annotated[
        bool,
        option("Also count all hits exactly: documents and, with a threshold, spans. It takes about twice as long."),
    ] = False
    estimate: Annotated[
        bool,
        option(
            "Also estimate how many sentences of the whole collection are likely matches, with an interval: up to 200 "
            "more are judged, drawn at all ranks."
        ),
    ] = False

    @property
    def read(self) -> int:
        """The number of best hits that the verifier reads, if the request alone decides it."""
        return self._read(is_asked=self.threshold == "auto" or self.estimate)


@dataclass(frozen=True, kw_only=True)
class Continued:
    """The position in the hits of an earlier request from which this one continues."""

    cursor: Annotated[
        CursorText | None,
        described(
            "The `cursor` of an earlier answer to the same request: go on behind it, in the same generation of the "
            "collection, while that is kept."
        ),
    ] = None


@dataclass(frozen=True)
class SearchRequest(PageRequest, Arrangement, Counting, Continued):
    """One query to one collection."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"collection": "sample", "text": "cancel my subscription"},
                {
                    "collection": "sample",
                    "text": "cancel my subscription",
                    "top_k": 5,
                    "group_by": "document",
                    "threshold": 0.5,
                    "filter": {"document": {"kind": "conversation"}, "part": {"speaker": "customer"}},
                    "offset_unit": "utf16",
                    "context": 80,
                    "explain": True,
                },
            ]
        },
    )

    collection: Annotated[CollectionName, described("The collection to search.")]


def with_verification(request: SearchRequest) -> SearchRequest:
    """Verify the best hits of a single search, unless the request gives their number.

    >>> with_verification(SearchRequest("calls", text="cancel")).verify
    20
    """
    return replace(request, verify=VERIFIED) if request.verify is None else request


@dataclass(frozen=True)
class CollectionsRequest(PageRequest):
    """One query to several collections of one encoder."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"collections": ["calls", "chats"], "text": "cancel my subscription"}]},
    )

    collections: Annotated[
        tuple[CollectionName, ...],
        Field(min_length=1, max_length=MAX_COLLECTIONS, description="The collections to search."),
    ]

    def first(self) -> SearchRequest:
        """The same query to the first of the collections."""
        return converted(self, SearchRequest, collection=self.collections[0])


@dataclass(frozen=True)
class ExportRequest(QueryRequest, Arrangement, Continued):
    """One query, all hits of which are wanted."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"collection": "sample", "text": "cancel my subscription", "threshold": 0.5, "limit": 1000}]
        },
    )

    collection: Annotated[CollectionName, described("The collection to search.")]
    limit: Annotated[
        int, option("Maximum number of hits; the last line says whether these are all.", ge=1, le=MAX_EXPORT)
    ] = 10_000
    likely: Likely = False
    offset: Annotated[
        int,
        option("The number of best hits to leave out: the `rank` of the last one that was read.", ge=0, le=MAX_EXPORT),
    ] = 0

    def search(self) -> SearchRequest:
        """The search for the hits."""
        return converted(self, SearchRequest, collection=self.collection, top_k=self.limit)


@dataclass(frozen=True)
class MinedPhrase:
    """A phrase whose hits are wanted."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    text: QueryText
    name: Annotated[QueryText | None, described("Its name in the tables, by default its text. Names differ.")] = None

    @property
    def label(self) -> str:
        """The name, or else the text."""
        return self.text if self.name is None else self.name


@dataclass(frozen=True, kw_only=True)
class MiningOptions(GroupedHits):
    """The selection of hits of mined phrases, and the options of their tables."""

    limit: Annotated[
        int,
        option(
            "Maximum number of hits of a phrase; the table of counts says whether these are all.", ge=1, le=MAX_EXPORT
        ),
    ] = 10_000
    count_by: Annotated[
        tuple[Key, ...],
        Field(
            max_length=MAX_COUNTED_BY,
            description="Metadata by whose values the hits of a phrase are counted: keys as in filters, such as "
            "`team`, `customer.country` or `part.speaker`.",
        ),
    ] = ()
    copies_from: Annotated[
        float, option("The least `raw` of two phrases that are pointed out as near-copies.", ge=0, le=1)
    ] = 0.975
    format: Annotated[Format, described("The form of the tables.")] = "ndjson"


@dataclass(frozen=True)
class MiningRequest(MiningOptions):
    """Phrases, all hits of which are wanted."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "collection": "sample",
                    "phrases": [{"text": "cancel my subscription"}, {"text": "where is my parcel", "name": "parcel"}],
                    "threshold": 0.5,
                    "count_by": ["kind"],
                    "format": "csv",
                }
            ]
        },
    )

    collection: Annotated[CollectionName, described("The collection to search.")]
    phrases: Annotated[
        tuple[MinedPhrase, ...], Field(min_length=1, max_length=MAX_MINED, description="The phrases to mine.")
    ]

    def searches(self) -> list[SearchRequest]:
        """A search for every phrase."""
        one = converted(self, SearchRequest, top_k=self.limit)
        return [replace(one, text=phrase.text) for phrase in self.phrases]


def mining_request(values: Mapping[str, Any]) -> MiningRequest:
    """The request of JSON values that were checked before."""
    return TypeAdapter(MiningRequest).validate_json(to_json(values))
