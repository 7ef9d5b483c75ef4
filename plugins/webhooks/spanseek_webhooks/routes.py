"""``/collections/{collection}/webhooks``: addresses that are told of matches and of ended tasks."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from app.cursors import MAX_LISTED
from app.http.auth import CallerDependency, in_pool
from app.http.openapi import api_router, problems
from app.http.responses import answer_response
from app.http.routes.phrases import PhraseName, Tags
from app.http.schemas import CollectionPath, Note
from app.requests import Body
from indexer.catalog.names import checked_tags
from indexer.phrases import EventFilter
from spanseek_webhooks.addresses import MAX_URL
from spanseek_webhooks.answers import DeadLetterPage, DeletedWebhook, LetterStatus, WebhookDescription, WebhookList
from spanseek_webhooks.letters import MAX_NUMBER
from spanseek_webhooks.rows import WebhookChanges, WebhookDraft
from spanseek_webhooks.service import WebhookService

router = api_router(
    prefix="/collections/{collection}/webhooks", tags=["webhooks"], responses=problems(401, 403, 404, 422)
)
Id = Annotated[str, Path(description="The webhook's id.", max_length=200)]
Number = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="The dead letter's number.")]
_Url = Annotated[str, Field(min_length=1, max_length=MAX_URL)]
_Phrases = Annotated[list[PhraseName], Field(max_length=1000)]
_WRITE = problems(507)


class NewWebhookBody(Body):
    """A webhook to make."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"url": "https://example.org/spanseek"}]})

    url: _Url = Field(description="Where deliveries are sent, by POST: an https:// URL of a public address.")
    matches: bool = Field(True, description="Send matches, and their withdrawals.")
    tasks: bool = Field(True, description="Send the ends of tasks.")
    phrases: _Phrases = Field([], description="Only the matches of these phrases; of all without any.")
    tags: Tags = Field([], description="Only the matches of phrases with one of these tags.")
    from_beginning: bool = Field(False, description="Also send the matches that are there.")
    paused: bool = Field(False, description="Send nothing for now; what happens meanwhile is sent later.")
    note: Note = Field("", description="Stored with the webhook.")

    def draft(self) -> WebhookDraft:
        """The draft for the service."""
        filter = EventFilter(tuple(self.phrases), checked_tags(self.tags))
        return WebhookDraft(self.url, self.matches, self.tasks, filter, self.note, self.paused, self.from_beginning)


class ChangeWebhookBody(Body):
    """Changes of a webhook; absent fields are unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"paused": False}]})

    url: _Url | None = Field(None, description="A new URL.")
    matches: bool | None = Field(None, description="Whether matches are sent.")
    tasks: bool | None = Field(None, description="Whether the ends of tasks are sent.")
    phrases: _Phrases | None = Field(None, description="Only the matches of these phrases from now on.")
    tags: Tags | None = Field(None, description="Only the matches of phrases with one of these tags from now on.")
    paused: bool | None = Field(None, description="Whether it is paused.")
    note: Note | None = Field(None, description="A new note.")

    def changes(self) -> WebhookChanges:
        """The changes for the service."""
        phrases = None if self.phrases is None else tuple(self.phrases)
        tags = None if self.tags is None else checked_tags(self.tags)
        return WebhookChanges(self.url, self.matches, self.tasks, phrases, tags, self.note, self.paused)


@router.get("", response_model=WebhookList, summary="List the webhooks")
def list_webhooks(collection: CollectionPath, caller: CallerDependency) -> Response:
    """List the webhooks of a collection, and whether they fail."""
    caller.require("admin", collection)
    return answer_response(caller.backend.get(WebhookService).list(collection))


@router.post("", response_model=WebhookDescription, summary="Make a webhook", responses=_WRITE)
@in_pool
def create_webhook(collection: CollectionPath, body: NewWebhookBody, caller: CallerDependency) -> Response:
    """Make a webhook. The answer has the secret of its signatures, which is never shown again."""
    caller.require("admin", collection)
    return answer_response(caller.backend.get(WebhookService).create(collection, body.draft()))


@router.get("/{id}", response_model=WebhookDescription, summary="See a webhook")
def get_webhook(collection: CollectionPath, id: Id, caller: CallerDependency) -> Response:
    """Read a webhook, and why it fails if it does."""
    caller.require("admin", collection)
    return answer_response(caller.backend.get(WebhookService).get(collection, id))


@router.patch("/{id}", response_model=WebhookDescription, summary="Change a webhook", responses=_WRITE)
@in_pool
def change_webhook(collection: CollectionPath, id: Id, body: ChangeWebhookBody, caller: CallerDependency) -> Response:
    """Change fields of a webhook; what it could not deliver is tried again at once."""
    caller.require("admin", collection)
    return answer_response(caller.backend.get(WebhookService).change(collection, id, body.changes()))


@router.delete("/{id}", response_model=DeletedWebhook, summary="Delete a webhook")
@in_pool
def delete_webhook(collection: CollectionPath, id: Id, caller: CallerDependency) -> Response:
    """Delete a webhook, with its dead letters."""
    caller.require("admin", collection)
    caller.backend.get(WebhookService).delete(collection, id)
    return answer_response(DeletedWebhook(id))


@router.post("/{id}/secret", response_model=WebhookDescription, summary="Make a new secret", responses=_WRITE)
@in_pool
def renew_webhook_secret(collection: CollectionPath, id: Id, caller: CallerDependency) -> Response:
    """Give a webhook a new secret, for all deliveries from now on. The answer has it, and no later one."""
    caller.require("admin", collection)
    return answer_response(caller.backend.get(WebhookService).renew_secret(collection, id))


@router.get("/{id}/dead-letters", response_model=DeadLetterPage, summary="List the dead letters")
def list_dead_letters(
    collection: CollectionPath,
    id: Id,
    caller: CallerDependency,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="Maximum number of dead letters.")] = 100,
    after: Annotated[int, Query(ge=0, le=MAX_NUMBER, description="The number of the last one of the page before.")] = 0,
) -> Response:
    """List the deliveries that failed for too long, the oldest first."""
    caller.require("admin", collection)
    return answer_response(caller.backend.get(WebhookService).dead_letters(collection, id, limit, after))


@router.post(
    "/{id}/dead-letters/{number}/send",
    response_model=LetterStatus,
    summary="Send a dead letter again",
    responses=_WRITE,
)
@in_pool
def send_dead_letter(collection: CollectionPath, id: Id, number: Number, caller: CallerDependency) -> Response:
    """Send a dead letter again, before anything else of its webhook."""
    caller.require("admin", collection)
    caller.backend.get(WebhookService).send_again(collection, id, number)
    return answer_response(LetterStatus(number, "queued"))


@router.delete("/{id}/dead-letters/{number}", response_model=LetterStatus, summary="Delete a dead letter")
@in_pool
def delete_dead_letter(collection: CollectionPath, id: Id, number: Number, caller: CallerDependency) -> Response:
    """Delete a dead letter: it is never sent."""
    caller.require("admin", collection)
    caller.backend.get(WebhookService).delete_letter(collection, id, number)
    return answer_response(LetterStatus(number, "deleted"))
