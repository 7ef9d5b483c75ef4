"""``/collections/{collection}/phrases``: save phrases, which are matched against new documents."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import AfterValidator, ConfigDict, Field
from starlette.responses import Response

from app.calibration.answers import ThresholdHistory
from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.pools import in_pool
from app.http.responses import answer_response
from app.http.schemas import CollectionPath, Note
from app.http.uploads import phrase_uploads
from app.phrases.answers import DeletedPhrase, ImportedPhrases, PhraseDescription, PhrasePage
from app.phrases.service import MAX_LISTED
from app.requests import Body, FilterBody, QueryText, Similarity
from indexer.catalog.names import MAX_PHRASE_NAME, checked_phrase_name
from indexer.indexing.matching import Rematched
from indexer.phrases import Phrase, PhraseChanges, PhraseDraft
from indexer.tuning import ThresholdOn
from models.errors import InvalidInput
from models.fields import converted

router = APIRouter(prefix="/collections/{collection}/phrases", tags=["phrases"], responses=problems(401, 403, 404, 422))
Name = Annotated[str, Path(description="The phrase's name, percent-encoded.")]


def _possible(name: str) -> str:
    try:
        return checked_phrase_name(name)
    except InvalidInput as error:
        raise ValueError(f"{error} {error.hint}") from error


PhraseName = Annotated[str, Field(min_length=1, max_length=MAX_PHRASE_NAME), AfterValidator(_possible)]


class NewPhraseBody(Body):
    """A phrase to save."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "cancel", "text": "cancel my subscription", "threshold": 0.8}]}
    )

    text: QueryText = Field(description="The origin phrase; it must fit into one window of the encoder.")
    name: PhraseName | None = Field(None, description="The phrase's name, without `/`; by default its text.")
    threshold: Similarity | None = Field(
        None, description="Minimum similarity of a match; by default the collection's threshold."
    )
    threshold_on: ThresholdOn = Field("score", description="The scale of the threshold.")
    filter: FilterBody = Field(FilterBody(), description="As in a search: the documents and parts to match.")
    note: Note = Field("", description="Stored with the phrase.")
    backfill: bool = Field(
        False,
        description="Also match existing documents, in one pass; other writes to the collection are refused meanwhile.",
    )

    def draft(self) -> PhraseDraft:
        """The draft for the service."""
        name = checked_phrase_name(self.text) if self.name is None else self.name
        return converted(self, PhraseDraft, name=name, filter=self.filter.filter())


class ChangePhraseBody(Body):
    """Changes of a phrase; absent fields are unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "end my subscription"}]})

    text: QueryText | None = Field(None, description="A new origin phrase.")
    filter: FilterBody | None = Field(None, description="A new filter.")
    note: Note | None = Field(None, description="A new note.")

    def changes(self) -> PhraseChanges:
        """The changes for the service."""
        filter = None if self.filter is None else self.filter.filter()
        return PhraseChanges(self.text, filter, self.note)


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
                "example": '{"name": "cancel", "text": "cancel my subscription", "threshold": 0.8}\n',
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
) -> Response:
    """List the saved phrases of a collection, by name."""
    caller.require("search", collection)
    return answer_response(caller.backend.phrases.list(collection, limit, cursor))


@router.post("", response_model=PhraseDescription, summary="Save a phrase", responses=_WRITE)
async def create_phrase(collection: CollectionPath, body: NewPhraseBody, caller: CallerDependency) -> Response:
    """Save a phrase under a new name. It is matched against every new document."""
    caller.require("index", collection)
    backend, draft = caller.backend, body.draft()
    phrase = await backend.writing.run(
        lambda: backend.phrases.add(collection, draft, backfill=body.backfill), backend.limits.write_deadline_s
    )
    return _answer(phrase)


@router.post(
    "/import", response_model=ImportedPhrases, openapi_extra=_SENT, summary="Save many phrases", responses=_WRITE
)
async def import_phrases(
    collection: CollectionPath,
    request: Request,
    caller: CallerDependency,
    backfill: Annotated[bool, Query(description="Also match existing documents.")] = False,
) -> Response:
    """Save phrases; they replace phrases of the same names. Errors are reported per line; valid lines are imported."""
    caller.require("index", collection)
    body, content_type = await request.body(), request.headers.get("content-type", "")
    backend = caller.backend
    lines = await backend.write(lambda: phrase_uploads(body, content_type))
    imported = await backend.writing.run(
        lambda: backend.phrases.put(collection, lines, backfill=backfill), backend.limits.write_deadline_s
    )
    return answer_response(imported)


@router.get("/{name}", response_model=PhraseDescription, summary="See a phrase")
def get_phrase(collection: CollectionPath, name: Name, caller: CallerDependency) -> Response:
    """Read a phrase, and the threshold that applies to it."""
    caller.require("search", collection)
    return _answer(caller.backend.phrases.get(collection, name))


@router.patch("/{name}", response_model=PhraseDescription, summary="Change a phrase", responses=_WRITE)
async def change_phrase(
    collection: CollectionPath, name: Name, body: ChangePhraseBody, caller: CallerDependency
) -> Response:
    """Change fields of a phrase. If its text or its filter changes, its matches are withdrawn."""
    caller.require("index", collection)
    backend, changes = caller.backend, body.changes()
    changed = await backend.writing.run(
        lambda: backend.phrases.change(collection, name, changes), backend.limits.write_deadline_s
    )
    return _answer(changed)


@router.delete("/{name}", response_model=DeletedPhrase, summary="Delete a phrase")
@in_pool
def delete_phrase(collection: CollectionPath, name: Name, caller: CallerDependency) -> Response:
    """Delete a phrase with its thresholds; its matches are withdrawn."""
    caller.require("index", collection)
    caller.backend.phrases.delete_one(collection, name)
    return answer_response(DeletedPhrase(name))


@router.post(
    "/{name}/backfill", response_model=Rematched, summary="Match the documents that are there", responses=_WRITE
)
async def backfill_phrase(collection: CollectionPath, name: Name, caller: CallerDependency) -> Response:
    """Update the phrase's matches to the current hits of a search with its threshold."""
    caller.require("index", collection)
    backend = caller.backend
    rematched = await backend.writing.run(
        lambda: backend.jobs.backfill(collection, name), backend.limits.write_deadline_s
    )
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
    return _answer(caller.backend.phrases.set_threshold(collection, name, body.value, body.on, body.note))


@router.get(
    "/{name}/threshold/history", response_model=ThresholdHistory, summary="See how a phrase's threshold was changed"
)
def get_phrase_threshold_history(collection: CollectionPath, name: Name, caller: CallerDependency) -> Response:
    """List all changes, the newest first."""
    caller.require("search", collection)
    return answer_response(ThresholdHistory(caller.backend.phrases.threshold_history(collection, name)))


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
    return _answer(caller.backend.phrases.undo_threshold(collection, name, note))


def _answer(phrase: Phrase) -> Response:
    return answer_response(PhraseDescription.of(phrase))
