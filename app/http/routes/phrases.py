"""``/collections/{collection}/phrases``: save phrases, which are matched against new documents."""

import asyncio
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import Response

from app.calibration.answers import ThresholdHistory
from app.http.auth import CallerDependency
from app.http.openapi import problems
from app.http.responses import answer_response, json_response
from app.http.routes.documents import ItemError
from app.http.schemas import Body, CollectionName, FilterBody, Note, QueryText, Similarity
from app.http.uploads import phrase_uploads
from app.phrases.parsing import RefusedLine
from app.phrases.service import MAX_LISTED, imported_as_json
from app.search.types import ThresholdSource
from indexer.catalog.names import MAX_PHRASE_NAME, checked_phrase_name
from indexer.engine.query import Filter
from indexer.phrases import Phrase, PhraseChanges, PhraseDraft
from indexer.tuning import Threshold, ThresholdOn
from models.errors import InvalidInput

router = APIRouter(prefix="/collections/{collection}/phrases", tags=["phrases"])
Collection = Annotated[CollectionName, Path(description="The collection's name.")]
Name = Annotated[str, Path(description="The phrase's name, percent-encoded.")]


def _possible(name: str) -> str:
    try:
        return checked_phrase_name(name)
    except InvalidInput as error:
        raise ValueError(f"{error} {error.hint}") from error


PhraseName = Annotated[str, Field(min_length=1, max_length=MAX_PHRASE_NAME), AfterValidator(_possible)]


class AppliedThreshold(BaseModel):
    """The threshold of a phrase's matches; with a null value it matches nothing."""

    value: float | None
    on: ThresholdOn
    source: ThresholdSource = Field(description="phrase, collection or none.")


class PhraseBody(BaseModel):
    """A saved phrase."""

    name: str
    text: str
    threshold: Threshold | None = Field(
        description="Its own threshold under the active calibration; null: the collection's applies."
    )
    as_set: Threshold | None = Field(description="Its own threshold as it was set, possibly under another calibration.")
    applies: AppliedThreshold
    filter: FilterBody
    note: str
    created_at: datetime
    changed_at: datetime

    @classmethod
    def of(cls, phrase: Phrase) -> "PhraseBody":
        """A phrase as an answer."""
        applied, own = phrase.threshold, phrase.own.threshold
        source: ThresholdSource = "none" if applied is None else "collection" if own is None else "phrase"
        return cls(
            name=phrase.name,
            text=phrase.text,
            threshold=phrase.own.present_threshold,
            as_set=own,
            applies=AppliedThreshold(
                value=None if applied is None else applied.value,
                on="score" if applied is None else applied.on,
                source=source,
            ),
            filter=FilterBody.model_validate(
                {"document": dict(phrase.filter.document), "part": dict(phrase.filter.part)}
            ),
            note=phrase.note,
            created_at=phrase.created_at,
            changed_at=phrase.changed_at,
        )


class PhrasesBody(BaseModel):
    """A page of phrases, by name."""

    phrases: list[PhraseBody]
    cursor: str | None = Field(description="The cursor of the next page; null at the end.")


class NewPhraseBody(Body):
    """A phrase to save."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "cancel", "text": "cancel my subscription", "threshold": 0.8}]}
    )

    text: QueryText = Field(description="The origin phrase; it must fit into one window of the encoder.")
    name: PhraseName | None = Field(None, description="The phrase's name; by default its text.")
    threshold: Similarity | None = Field(
        None, description="Minimum similarity of a match; by default the collection's threshold."
    )
    threshold_on: ThresholdOn = Field("score", description="The scale of the threshold.")
    filter: FilterBody = Field(FilterBody(), description="The documents and parts to match.")
    note: Note = Field("", description="Stored with the phrase.")
    backfill: bool = Field(False, description="Also match existing documents.")

    def draft(self) -> PhraseDraft:
        """The draft for the service."""
        return PhraseDraft(
            name=checked_phrase_name(self.text) if self.name is None else self.name,
            text=self.text,
            threshold=self.threshold,
            threshold_on=self.threshold_on,
            filter=Filter(self.filter.document, self.filter.part),
            note=self.note,
        )


class ChangePhraseBody(Body):
    """Changes of a phrase; absent fields are unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "end my subscription"}]})

    text: QueryText | None = Field(None, description="A new origin phrase.")
    filter: FilterBody | None = Field(None, description="A new filter.")
    note: Note | None = Field(None, description="A new note.")

    def changes(self) -> PhraseChanges:
        """The changes for the service."""
        filter = None if self.filter is None else Filter(self.filter.document, self.filter.part)
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


class DeletedPhraseBody(BaseModel):
    """The phrase that was deleted."""

    name: str
    status: Literal["deleted"]


class RematchedBody(BaseModel):
    """The changes of a backfill."""

    added: int = Field(description="Added matches.")
    withdrawn: int = Field(description="Matches that no longer reach the threshold.")


class ImportedItem(BaseModel):
    """The result of one phrase."""

    name: str | None = Field(description="Null without a valid name.")
    status: Literal["created", "changed", "unchanged", "failed"]
    error: ItemError | None = Field(None, description="Absent unless it failed.")


class ImportedBody(BaseModel):
    """The result of every phrase, in request order."""

    results: list[ImportedItem]
    rematched: RematchedBody | None = Field(description="Null without a backfill.")


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
_WRITE = problems(400, 401, 403, 404, 409, 413, 422, 429, 503, 504, 507)
_READ = problems(401, 403, 404, 422, 503)


@router.get("", summary="List the phrases", responses=_READ)
def list_phrases(
    collection: Collection,
    caller: CallerDependency,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="Maximum number of phrases.")] = 100,
    cursor: Annotated[str | None, Query(description="The cursor of the previous page.")] = None,
) -> PhrasesBody:
    """List the saved phrases of a collection, by name."""
    caller.require("search", collection)
    page = caller.backend.phrases.list(collection, limit, cursor)
    return PhrasesBody(phrases=list(map(PhraseBody.of, page.phrases)), cursor=page.cursor)


@router.post("", summary="Save a phrase", responses=_WRITE)
async def create_phrase(collection: Collection, body: NewPhraseBody, caller: CallerDependency) -> PhraseBody:
    """Save a phrase under a new name. It is matched against every new document."""
    caller.require("index", collection)
    backend, draft = caller.backend, body.draft()
    phrase = await backend.writing.run(
        lambda: backend.phrases.add(collection, draft, backfill=body.backfill), backend.limits.write_deadline_s
    )
    return PhraseBody.of(phrase)


@router.post("/import", response_model=ImportedBody, openapi_extra=_SENT, summary="Save many phrases", responses=_WRITE)
async def import_phrases(
    collection: Collection,
    request: Request,
    caller: CallerDependency,
    backfill: Annotated[bool, Query(description="Also match existing documents.")] = False,
) -> Response:
    """Save phrases, replacing those of the same names. Errors are reported per line; valid lines are imported."""
    caller.require("index", collection)
    body, content_type = await request.body(), request.headers.get("content-type", "")
    lines = await asyncio.to_thread(phrase_uploads, body, content_type)
    drafts = [line for line in lines if not isinstance(line, RefusedLine)]
    backend = caller.backend
    imported = await backend.writing.run(
        lambda: backend.phrases.put(collection, drafts, backfill=backfill), backend.limits.write_deadline_s
    )
    return json_response(imported_as_json(lines, imported))


@router.get("/{name}", summary="See a phrase", responses=_READ)
def get_phrase(collection: Collection, name: Name, caller: CallerDependency) -> PhraseBody:
    """Read a phrase, and the threshold that applies to it."""
    caller.require("search", collection)
    return PhraseBody.of(caller.backend.phrases.get(collection, name))


@router.patch("/{name}", summary="Change a phrase", responses=_WRITE)
async def change_phrase(
    collection: Collection, name: Name, body: ChangePhraseBody, caller: CallerDependency
) -> PhraseBody:
    """Change fields of a phrase. If its text or its filter changes, its matches are withdrawn."""
    caller.require("index", collection)
    backend, changes = caller.backend, body.changes()
    changed = await backend.writing.run(
        lambda: backend.phrases.change(collection, name, changes), backend.limits.write_deadline_s
    )
    return PhraseBody.of(changed)


@router.delete("/{name}", summary="Delete a phrase", responses=_READ)
def delete_phrase(collection: Collection, name: Name, caller: CallerDependency) -> DeletedPhraseBody:
    """Delete a phrase with its thresholds; its matches are withdrawn."""
    caller.require("index", collection)
    caller.backend.phrases.delete_one(collection, name)
    return DeletedPhraseBody(name=name, status="deleted")


@router.post("/{name}/backfill", summary="Match the documents that are there", responses=_WRITE)
async def backfill_phrase(collection: Collection, name: Name, caller: CallerDependency) -> RematchedBody:
    """Update the phrase's matches to the current hits of a search with its threshold."""
    caller.require("index", collection)
    backend = caller.backend
    rematched = await backend.writing.run(
        lambda: backend.phrases.backfill(collection, name), backend.limits.write_deadline_s
    )
    return RematchedBody(added=rematched.added, withdrawn=rematched.withdrawn)


@router.get("/{name}/threshold", summary="See a phrase's threshold", responses=_READ)
def get_phrase_threshold(collection: Collection, name: Name, caller: CallerDependency) -> PhraseBody:
    """Read a phrase with its own threshold, and the one that applies."""
    return get_phrase(collection, name, caller)


@router.put(
    "/{name}/threshold", summary="Set a phrase's threshold", responses=problems(400, 401, 403, 404, 413, 422, 503, 507)
)
def put_phrase_threshold(
    collection: Collection, name: Name, body: PutPhraseThresholdBody, caller: CallerDependency
) -> PhraseBody:
    """Set the phrase's own threshold for later documents; existing matches are unchanged."""
    caller.require("index", collection)
    return PhraseBody.of(caller.backend.phrases.set_threshold(collection, name, body.value, body.on, body.note))


@router.get(
    "/{name}/threshold/history",
    response_model=ThresholdHistory,
    summary="See how a phrase's threshold was changed",
    responses=_READ,
)
def get_phrase_threshold_history(collection: Collection, name: Name, caller: CallerDependency) -> Response:
    """List all changes, the newest first."""
    caller.require("search", collection)
    return answer_response(ThresholdHistory(caller.backend.phrases.threshold_history(collection, name)))


@router.post(
    "/{name}/threshold/undo",
    summary="Take a change of a phrase's threshold back",
    responses=problems(400, 401, 403, 404, 409, 413, 422, 503, 507),
)
def undo_phrase_threshold(
    collection: Collection, name: Name, caller: CallerDependency, body: UndoPhraseBody | None = None
) -> PhraseBody:
    """Undo the last change; a second call undoes the change before it."""
    caller.require("index", collection)
    note = "" if body is None else body.note
    return PhraseBody.of(caller.backend.phrases.undo_threshold(collection, name, note))
