"""Request bodies and paths that are no searches (``app.requests`` has those), and problems.

Strict: wrong types and unknown fields are refused, never coerced.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Query
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from app.requests import (
    MAX_NAME,
    Body,
    CollectionName,
    DocumentId,
    FilterBody,
    SearchRequest,
    filter_of,
    shared_filters,
    storable,
)
from app.texts.requests import storable_metadata
from indexer.catalog.names import MAX_NOTE, MAX_TAG
from indexer.engine.query import Filter
from models.errors import InvalidInput
from models.types import JsonValue


def _without_backbone(name: str) -> str:
    if "@" in name:
        raise ValueError("A collection with a backbone of its own is created on the command line.")
    return name


# Not with a backbone, which names a folder of the server or a model that it would fetch.
EncoderName = Annotated[str, Field(max_length=MAX_NAME), AfterValidator(_without_backbone)]
CollectionPath = Annotated[CollectionName, Path(description="The collection's name.")]
# A tag to look for: whatever a URL may hold is compared to the letter.
QueryTag = Annotated[str, Field(min_length=1, max_length=MAX_TAG), AfterValidator(storable)]
Note = Annotated[str, Field(max_length=MAX_NOTE), AfterValidator(storable)]


def filter_of_query(
    filter: Annotated[
        str | None,
        Query(
            description="A filter as in a search: an expression such as `duration >= 600`, or JSON, "
            '`{"document": {...}, "part": {...}}`. A document passes what is asked of parts if one of them does.'
        ),
    ] = None,
) -> Filter:
    """Parse the filter of a URL. FastAPI runs this in a thread, because a filter may be long."""
    return filter_of(filter)


QueryFilter = Annotated[Filter, Depends(filter_of_query)]


@dataclass(frozen=True, slots=True)
class BadQuery:
    """A query of a batch that is invalid, with what is wrong with its fields or its filter."""

    error: ValidationError | InvalidInput


def _query_or_error(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """Return a ``BadQuery`` for an invalid query, so that the others are answered; refuse other values."""
    try:
        return validate(value)
    except (ValidationError, InvalidInput) as error:
        if not isinstance(value, dict):
            raise
        return BadQuery(error)


def _with_shared_filters(values: object, validate: ValidatorFunctionWrapHandler) -> object:
    with shared_filters():
        return validate(values)


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
    queries: Annotated[
        list[Annotated[SearchRequest, WrapValidator(_query_or_error)]], WrapValidator(_with_shared_filters)
    ] = Field(min_length=1, description="The queries; the server's settings say how many at most.")

    def checked(self) -> list[SearchRequest | BadQuery]:
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

    metadata: Annotated[dict[str, JsonValue], AfterValidator(storable_metadata)] = Field(
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
