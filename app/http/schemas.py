"""Request bodies. Strict: wrong types and unknown fields are refused, never coerced."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    PlainValidator,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from app.search.types import (
    MAX_COLLECTIONS,
    MAX_CONTEXT,
    MAX_EXPORT,
    MAX_OFFSET,
    MAX_QUERY_UNITS,
    MAX_TOP_K,
    Boundaries,
    Mode,
    Ranking,
    SearchRequest,
    SpanChoice,
)
from indexer.catalog.names import MAX_ID_LENGTH, MAX_NOTE
from indexer.engine.query import Filter, Grouping
from indexer.errors import InvalidDocument
from indexer.segments.text import OffsetUnit
from indexer.sources.documents import checked_metadata
from indexer.tuning import ThresholdOn
from models.text.checks import unstorable
from models.text.stemming import Language
from models.types import JsonValue

MAX_TEXT = 10_000
# A query may be a whole document in mode maxsim; in the others a window of the encoder is the limit.
MAX_QUERY = 100_000
MAX_DIM = 8192
MAX_NAME = 200


def _storable(text: str) -> str:
    reason = unstorable(text)
    if reason is not None:
        raise ValueError(f"It holds {reason}.")
    return text


def _without_backbone(name: str) -> str:
    if "@" in name:
        raise ValueError("A collection with a backbone of its own is created on the command line.")
    return name


def _metadata(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        return dict(checked_metadata(value))
    except InvalidDocument as error:
        raise ValueError(f"{error}.") from error


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("It holds nothing but white space.")
    return text


def _scalar(value: object) -> object:
    """A metadata value to compare with. A plain function, because a union would report one error a member."""
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, float) and value - value != 0:
        raise ValueError("It must be a finite number.")
    if value is not None and not isinstance(value, bool | int | float):
        raise ValueError("It must be a string, a number, true, false or null.")
    return value


CollectionName = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_storable)]
# Not with a backbone, which names a folder of the server or a model that it would fetch.
EncoderName = Annotated[str, Field(max_length=MAX_NAME), AfterValidator(_without_backbone)]
DocumentId = Annotated[str, Field(min_length=1, max_length=MAX_ID_LENGTH), AfterValidator(_storable)]
QueryText = Annotated[
    str,
    Field(min_length=1, max_length=MAX_TEXT),
    AfterValidator(_storable),
    AfterValidator(_not_blank),
]
LongQueryText = Annotated[
    str,
    Field(min_length=1, max_length=MAX_QUERY),
    AfterValidator(_storable),
    AfterValidator(_not_blank),
]
Note = Annotated[str, Field(max_length=MAX_NOTE), AfterValidator(_storable)]
# A threshold, and whatever is compared with one.
Similarity = Annotated[FiniteFloat, Field(ge=0, le=1)]
Scalar = Annotated[
    str | int | float | bool | None,
    PlainValidator(_scalar, json_schema_input_type=str | int | float | bool | None),
]
Wanted = dict[Annotated[str, AfterValidator(_storable)], Scalar]


class Body(BaseModel):
    """The base class of request bodies."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FilterBody(Body):
    """Metadata that must be equal, key by key; where it is a list, one of its elements."""

    document: Wanted = Field({}, description="What the document's metadata must hold.")
    part: Wanted = Field({}, description="What the metadata of the hit's part must hold.")

    def filter(self) -> Filter:
        """The filter for the services."""
        return Filter(self.document, self.part)


class SpansBody(Body):
    """Restrictions on the spans that are hits."""

    min_units: int | None = Field(None, ge=1, description="The fewest units of a hit.")
    max_units: int | None = Field(None, ge=1, description="The most units of a hit.")
    boundaries: Boundaries = Field(
        "any",
        description="Any span within the collection's bounds, or whole clauses, sentences or parts of any length.",
    )

    def choice(self) -> SpanChoice:
        """The body as the search understands it."""
        return SpanChoice(self.min_units, self.max_units, self.boundaries)


class QueryBody(Body):
    """One query, a text or a vector, and which spans are hits."""

    text: LongQueryText | None = Field(
        None,
        description="The origin phrase. Give this or `vector`; it must fit into one window of the encoder. In mode "
        "maxsim it may be a whole document.",
    )
    vector: list[FiniteFloat] | None = Field(
        None,
        min_length=1,
        max_length=MAX_DIM,
        description="A query vector of the collection's dimension, of any length but zero, instead of `text`; in mode "
        "maxsim of the dimension of its nuggets.",
    )
    mode: Mode = Field(
        "best_span",
        description="How to search: `best_span` finds spans, `maxsim` documents by their nuggets, `lexical` sentences "
        "by their words, `hybrid` by both, `facets` by what is likely to stand near them, "
        "`restorable` whole sentences.",
    )
    group_by: Grouping | None = Field(
        None,
        description="Keep all spans that do not overlap, or the best of each part or document; `span` is usual, and "
        "`document` all there is in mode maxsim.",
    )
    threshold: Similarity | None = Field(
        None, description="No hit lies under this; without it, under the collection's threshold."
    )
    threshold_on: ThresholdOn = Field("score", description="Which scale the threshold is on.")
    filter: FilterBody = Field(FilterBody(), description="Where to search. A list matches by its elements.")
    offset_unit: OffsetUnit = Field(
        "codepoint",
        description="What `start` and `end` count: code points (Python), UTF-16 units (JavaScript, Java) or "
        "UTF-8 bytes (Go, Rust).",
    )
    context: int = Field(0, ge=0, le=MAX_CONTEXT, description="So many characters around each hit, within its part.")
    explain: bool = Field(
        False, description="Say what each unit of a hit, or each pair of nuggets, adds to its cosine."
    )
    ranking: Ranking = Field(
        "span_score",
        description="What spans are ranked by: their span score, or the cosine alone. Exact hits need `span_score`.",
    )
    stemming: Language | None = Field(
        None, description="The language of the words that modes lexical and hybrid compare by their stems."
    )
    query_units: int | None = Field(
        None,
        ge=1,
        le=MAX_QUERY_UNITS,
        description="The units of the text that `vector` stands for; without it no span is discounted as too short.",
    )

    spans: SpansBody = Field(SpansBody(), description="Which spans are hits: their lengths and their boundaries.")

    def request_to(self, collection: str, top_k: int, offset: int = 0, *, total: bool = False) -> SearchRequest:
        """The body as the search understands it, with the other fields of a request."""
        return SearchRequest(
            collection=collection,
            text=self.text,
            vector=None if self.vector is None else tuple(self.vector),
            mode=self.mode,
            top_k=top_k,
            group_by=self.group_by,
            threshold=self.threshold,
            threshold_on=self.threshold_on,
            filter=self.filter.filter(),
            offset_unit=self.offset_unit,
            context=self.context,
            explain=self.explain,
            ranking=self.ranking,
            query_units=self.query_units,
            stemming=self.stemming,
            spans=self.spans.choice(),
            offset=offset,
            total=total,
        )


class PageBody(QueryBody):
    """One query, and which page of its hits to return."""

    top_k: int = Field(10, ge=1, le=MAX_TOP_K, description="At most so many hits.")
    offset: int = Field(
        0, ge=0, le=MAX_OFFSET, description="Leave out so many of the best hits: those of pages before."
    )
    total: bool = Field(False, description="Also count all hits exactly, which takes about twice as long.")


class SearchBody(PageBody):
    """One query: a text or a vector, and which hits are wanted of it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"collection": "sample", "text": "cancel my subscription"},
                {
                    "collection": "sample",
                    "text": "cancel my subscription",
                    "top_k": 5,
                    "group_by": "document",
                    "threshold": 0.8,
                    "filter": {"document": {"kind": "conversation"}, "part": {"speaker": "customer"}},
                    "offset_unit": "utf16",
                    "context": 80,
                    "explain": True,
                },
            ]
        }
    )

    collection: CollectionName = Field(description="The collection to search.")

    def request(self) -> SearchRequest:
        """The body as the search understands it."""
        return self.request_to(self.collection, self.top_k, self.offset, total=self.total)


class CollectionsBody(PageBody):
    """One query to several collections of one encoder."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"collections": ["calls", "chats"], "text": "cancel my subscription"}]}
    )

    collections: list[CollectionName] = Field(
        min_length=1, max_length=MAX_COLLECTIONS, description="The collections to search."
    )

    def request(self) -> SearchRequest:
        """The body as the search understands it, for the first of the collections."""
        return self.request_to(self.collections[0], self.top_k, self.offset, total=self.total)


class ExportBody(QueryBody):
    """One query, all hits of which are wanted."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"collection": "sample", "text": "cancel my subscription", "threshold": 0.8, "limit": 1000}]
        }
    )

    collection: CollectionName = Field(description="The collection to search.")
    limit: int = Field(10_000, ge=1, le=MAX_EXPORT, description="At most so many hits; the last line says if all.")

    def request(self) -> SearchRequest:
        """The body as the search understands it, with one hit more, which says whether there are more."""
        return self.request_to(self.collection, self.limit + 1)


@dataclass(frozen=True, slots=True)
class BadQuery:
    """A query of a batch that is invalid, with the fields that are."""

    error: ValidationError


def _query_or_error(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """An invalid query does not keep the others of its batch from being answered; what is no object does."""
    try:
        return validate(value)
    except ValidationError as error:
        if not isinstance(value, dict):
            raise
        return BadQuery(error)


class BatchBody(Body):
    """Several queries, answered together."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "queries": [
                        {"collection": "sample", "text": "cancel my subscription"},
                        {"collection": "sample", "text": "the parcel never came", "top_k": 3},
                    ]
                }
            ]
        }
    )

    # An invalid one is a BadQuery, of which the schema, as types, says nothing.
    queries: list[Annotated[SearchBody, WrapValidator(_query_or_error)]] = Field(
        min_length=1, description="The queries; the server's settings say how many at most."
    )

    def checked(self) -> list[SearchBody | BadQuery]:
        """The queries, and what is wrong with those that are invalid."""
        return list(self.queries)


class DeleteBody(Body):
    """The ids of documents to delete."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": ["call-17", "call-18"]}]})

    ids: list[DocumentId] = Field(min_length=1, description="Ids of documents; those that are not there do no harm.")


class DeleteByFilterBody(Body):
    """The filter of the documents to delete."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"filter": {"document": {"year": 2019}}}]})

    filter: FilterBody = Field(
        description="The metadata of the documents; a document passes `part` if one of its parts does. Not empty."
    )
    dry_run: bool = Field(False, description="Only count.")


class ChangeDocumentBody(Body):
    """Changes of a document's metadata; other keys stay."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"metadata": {"reviewed": True}, "remove": ["draft"]}]})

    metadata: Annotated[dict[str, JsonValue], AfterValidator(_metadata)] = Field(
        {}, description="The keys to set, with their values."
    )
    remove: list[str] = Field([], description="The keys to remove.")


class FieldError(BaseModel):
    """A field that must be changed, and why."""

    field: str
    message: str


class Problem(BaseModel):
    """An error, as RFC 9457 has it, with a stable code and a hint."""

    type: str = Field(description="Names the kind of error, as `code` does.")
    title: str = Field(description="What all errors of this kind have in common.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What went wrong this time.")
    code: str = Field(description="Stable; programs may depend on it.")
    hint: str = Field(description="What to do next; may be empty.")
    errors: list[FieldError] = Field([], description="Which fields are at fault, if any are.")
