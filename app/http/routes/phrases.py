"""``/collections/{collection}/phrases``: save phrases, which are matched against new documents."""

from functools import partial
from typing import Annotated, Any

from fastapi import Path, Query, Request
from pydantic import AfterValidator, ConfigDict, Field
from starlette.responses import Response

from app.calibration.answers import ThresholdHistory
from app.collections.jobs import CollectionJobs
from app.cursors import MAX_LISTED
from app.http.auth import CallerDependency, in_pool
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.http.schemas import CollectionPath, Note, QueryTag
from app.http.uploads import phrase_uploads
from app.phrases.answers import DeletedPhrase, ImportedPhrases, PhraseDescription, PhrasePage
from app.phrases.service import PhraseService
from app.requests import NUMBER_OR_AUTO, Body, FilterBody, QueryText, Similarity
from app.tasks.backfilling import Backfilling
from indexer.catalog.names import MAX_PHRASE_NAME, MAX_TAGS, checked_phrase_name, checked_tags
from indexer.indexing.matching import Rematched
from indexer.phrases import Phrase, PhraseChanges, PhraseDraft
from indexer.tuning import Auto, ThresholdOn
from models.errors import InvalidInput
from models.fields import converted

router = api_router(
    prefix="/collections/{collection}/phrases", tags=["phrases"], responses=problems(401, 403, 404, 422)
)
Name = Annotated[str, Path(description="The phrase's name, percent-encoded.")]


def _possible(name: str) -> str:
    try:
        return checked_phrase_name(name)
    except InvalidInput as error:
        raise ValueError(f"{error} {error.hint}") from error


def _tag(tag: str) -> str:
    try:
        return checked_tags([tag])[0]
    except InvalidInput as error:
        raise ValueError(f"{error} {error.hint}") from error


Tags = Annotated[list[Annotated[str, AfterValidator(_tag)]], Field(max_length=MAX_TAGS)]
PhraseName = Annotated[str, Field(min_length=1, max_length=MAX_PHRASE_NAME), AfterValidator(_possible)]


class NewPhraseBody(Body):
    """A phrase to save."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "cancel", "text": "cancel my subscription", "threshold": 0.5}]}
    )

    text: QueryText = Field(description="The origin phrase; it must fit into one window of the encoder.")
    name: PhraseName | None = Field(None, description="The phrase's name, without `/`; by default its text.")
    threshold: Annotated[Similarity | Auto | None, NUMBER_OR_AUTO] = Field(
        None,
        description="Minimum similarity of a match; by default the collection's threshold. `auto`: likely matches "
        "alone, as `likely_only`, above the raw from which on a match is more probable than not.",
    )
    threshold_on: ThresholdOn = Field("score", description="The scale of the threshold.")
    filter: FilterBody = Field(FilterBody(), description="As in a search: the documents and parts to match.")
    note: Note = Field("", description="Stored with the phrase.")
    tags: Tags = Field([], description="The groups that it belongs to.")
    paused: bool = Field(False, description="Save it without matching it.")
    likely_only: bool = Field(False, description="Leave out matches that the second look does not call likely.")
    backfill: bool = Field(True, description="Also match existing documents: at once, or by a task if that takes long.")

    def draft(self) -> PhraseDraft:
        """The draft for the service."""
        name = checked_phrase_name(self.text) if self.name is None else self.name
        return converted(self, PhraseDraft, name=name, filter=self.filter.filter(), tags=checked_tags(self.tags))


class ChangePhraseBody(Body):
    """Changes of a phrase; absent fields are unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "end my subscription"}]})

    text: QueryText | None = Field(None, description="A new origin phrase.")
    filter: FilterBody | None = Field(None, description="A new filter.")
    note: Note | None = Field(None, description="A new note.")
    tags: Tags | None = Field(None, description="The groups that it belongs to from now on; its matches follow it.")
    paused: bool | None = Field(None, description="Whether it is matched no longer, or again.")
    likely_only: bool | None = Field(None, description="Whether unlikely matches are left out.")
    backfill: bool = Field(
        True, description="If text, filter or likely_only change, or a pause ends, also match existing documents."
    )

    def changes(self) -> PhraseChanges:
        """The changes for the service."""
        filter = None if self.filter is None else self.filter.filter()
        tags = None if self.tags is None else checked_tags(self.tags)
        return PhraseChanges(self.text, filter, self.note, tags, self.paused, self.likely_only)


class PutPhraseThresholdBody(Body):
    """The own threshold of a phrase."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": 0.8, "note": "too many of them"}]})

    value: Similarity | None = Field(
        description="Minimum similarity of a match; null: the collection's threshold applies."
    )
    on: ThresholdOn = Field("score", description="The scale of the value.")
    note: Note = Field("", description="The reason; stored in the history.")


class UndoPhraseBody(Body):
    """A note on the undo of a change."""

    note: Note = Field("", description="The reason; stored in the history.")


_SENT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {
                "schema": {"type": "string", "description": "A phrase a line."},
                "example": '{"name": "cancel", "text": "cancel my subscription", "threshold": 0.5}\n',
            },
            "application/json": {
                "schema": {"description": "A phrase, or a list of phrases."},
                "example": [{"text": "cancel my subscription"}],
            },
        },
    }
}
_WRITE = problems(400, 409, 413, 507)


@router.get("", response_model=PhrasePage, summary="List the phrases")
def list_phrases(
    collection: CollectionPath,
    caller: CallerDependency,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="Maximum number of phrases.")] = 100,
    cursor: Annotated[str | None, Query(description="The `cursor` of the previous page.")] = None,
    tag: Annotated[
        list[QueryTag] | None, Query(description="Only phrases with this tag; repeat for any of several.")
    ] = None,
) -> Response:
    """List the saved phrases of a collection, by name."""
    caller.require("search", collection)
    return answer_response(caller.backend.get(PhraseService).list(collection, limit, cursor, tag or ()))


@router.post("", response_model=PhraseDescription, summary="Save a phrase", responses=_WRITE)
async def create_phrase(collection: CollectionPath, body: NewPhraseBody, caller: CallerDependency) -> Response:
    """Save a phrase under a new name. It is matched against the documents that are there, and every new one."""
    caller.require("index", collection)
    backend, draft = caller.backend, body.draft()
    add = partial(backend.get(Backfilling).add, collection, draft, backfill=body.backfill)
    return answer_response(await backend.writing.run(add))


@router.post(
    "/import", response_model=ImportedPhrases, openapi_extra=_SENT, summary="Save many phrases", responses=_WRITE
)
async def import_phrases(
    collection: CollectionPath,
    request: Request,
    caller: CallerDependency,
    backfill: Annotated[
        bool, Query(description="Also match existing documents: at once, or by a task if that takes long.")
    ] = True,
) -> Response:
    """Save phrases; they replace phrases of the same names. Errors are reported per line; valid lines are imported."""
    caller.require("index", collection)
    body, content_type = await request.body(), request.headers.get("content-type", "")
    backend = caller.backend
    lines = await backend.write(lambda: phrase_uploads(body, content_type))
    put = partial(backend.get(Backfilling).put, collection, lines, backfill=backfill)
    return answer_response(await backend.writing.run(put))


@router.get("/{name}", response_model=PhraseDescription, summary="See a phrase")
def get_phrase(collection: CollectionPath, name: Name, caller: CallerDependency) -> Response:
    """Read a phrase, and the threshold that applies to it."""
    caller.require("search", collection)
    return _answer(caller.backend.get(PhraseService).get(collection, name))


@router.patch("/{name}", response_model=PhraseDescription, summary="Change a phrase", responses=_WRITE)
async def change_phrase(
    collection: CollectionPath, name: Name, body: ChangePhraseBody, caller: CallerDependency
) -> Response:
    """Change fields of a phrase. If text, filter or likely_only change, its matches are withdrawn and found anew."""
    caller.require("index", collection)
    backend, changes = caller.backend, body.changes()
    change = partial(backend.get(Backfilling).change, collection, name, changes, backfill=body.backfill)
    return answer_response(await backend.writing.run(change))


@router.delete("/{name}", response_model=DeletedPhrase, summary="Delete a phrase")
@in_pool
def delete_phrase(collection: CollectionPath, name: Name, caller: CallerDependency) -> Response:
    """Delete a phrase with its thresholds; its matches are withdrawn."""
    caller.require("index", collection)
    caller.backend.get(PhraseService).delete_one(collection, name)
    return answer_response(DeletedPhrase(name))


@router.post(
    "/{name}/backfill", response_model=Rematched, summary="Match the documents that are there", responses=_WRITE
)
async def backfill_phrase(collection: CollectionPath, name: Name, caller: CallerDependency) -> Response:
    """Update the phrase's matches to the current hits of a search with its threshold."""
    caller.require("index", collection)
    backend = caller.backend
    rematched = await backend.writing.run(lambda: backend.get(CollectionJobs).backfill(collection, [name]))
    return answer_response(rematched)


@router.get("/{name}/threshold", response_model=PhraseDescription, summary="See a phrase's threshold")
def get_phrase_threshold(collection: CollectionPath, name: Name, caller: CallerDependency) -> Response:
    """Read a phrase with its own threshold, and the one that applies."""
    return get_phrase(collection, name, caller)


@router.put(
    "/{name}/threshold", response_model=PhraseDescription, summary="Set a phrase's threshold", responses=problems(507)
)
@in_pool
def put_phrase_threshold(
    collection: CollectionPath, name: Name, body: PutPhraseThresholdBody, caller: CallerDependency
) -> Response:
    """Set the phrase's own threshold for later documents; existing matches are unchanged."""
    caller.require("index", collection)
    return _answer(caller.backend.get(PhraseService).set_threshold(collection, name, body.value, body.on, body.note))


@router.get(
    "/{name}/threshold/history", response_model=ThresholdHistory, summary="See how a phrase's threshold was changed"
)
def get_phrase_threshold_history(collection: CollectionPath, name: Name, caller: CallerDependency) -> Response:
    """List all changes, the newest first."""
    caller.require("search", collection)
    return answer_response(ThresholdHistory(caller.backend.get(PhraseService).threshold_history(collection, name)))


@router.post(
    "/{name}/threshold/undo",
    response_model=PhraseDescription,
    summary="Take a change of a phrase's threshold back",
    responses=problems(409, 507),
)
@in_pool
def undo_phrase_threshold(
    collection: CollectionPath, name: Name, caller: CallerDependency, body: UndoPhraseBody | None = None
) -> Response:
    """Undo the last change; a second call undoes the change before it."""
    caller.require("index", collection)
    note = "" if body is None else body.note
    return _answer(caller.backend.get(PhraseService).undo_threshold(collection, name, note))


def _answer(phrase: Phrase) -> Response:
    return answer_response(PhraseDescription.of(phrase))
