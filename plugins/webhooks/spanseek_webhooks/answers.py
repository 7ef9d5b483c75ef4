"""Answers about webhooks, and what webhooks send."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from app.answers import described, optional
from app.phrases.answers import Event
from models.fields import converted
from spanseek_webhooks.letters import Letter, LetterKind
from spanseek_webhooks.rows import Webhook


@dataclass(frozen=True, slots=True)
class DeliveryError:
    """The reason for a failed delivery."""

    code: Annotated[
        str,
        described(
            "`timeout`, `unreachable`, `refused` (a status other than 2xx), `redirected`, `address_refused`, "
            "`webhook_key_lost` or `internal_error`."
        ),
    ]
    detail: str


@dataclass(frozen=True, slots=True)
class Failing:
    """Failed tries of the next delivery: their number and start, the next try and the last error."""

    tries: int
    since: datetime
    next_try: datetime
    error: DeliveryError


@dataclass(frozen=True, slots=True)
class WebhookDescription:
    """A webhook."""

    id: str
    url: str
    matches: Annotated[bool, described("Whether matches are sent, and their withdrawals.")]
    tasks: Annotated[bool, described("Whether the ends of tasks are sent.")]
    phrases: Annotated[tuple[str, ...], described("Only the matches of these phrases; all, if empty.")]
    tags: Annotated[tuple[str, ...], described("Only the matches of phrases with one of these tags; all, if empty.")]
    note: str
    paused: bool
    dead_letters: Annotated[int, described("Deliveries that failed for too long.")]
    delivered_at: Annotated[datetime | None, described("When something was received last.")]
    created_at: datetime
    changed_at: datetime
    failing: Annotated[Failing | None, optional("Absent unless the next delivery has failed and is tried again.")] = (
        None
    )
    secret: Annotated[
        str | None, optional("The secret of its signatures: in the answers that make one, and never again.")
    ] = None

    @classmethod
    def of(cls, webhook: Webhook, secret: str | None = None) -> "WebhookDescription":
        """A webhook as an answer."""
        filter = {"phrases": webhook.filter.phrases, "tags": webhook.filter.tags}
        return converted(webhook, cls, **filter, failing=_failing(webhook), secret=secret)


def _failing(webhook: Webhook) -> Failing | None:
    if webhook.failing_since is None or webhook.retry_at is None or webhook.error is None:
        return None
    return Failing(webhook.failures, webhook.failing_since, webhook.retry_at, DeliveryError(**webhook.error))


@dataclass(frozen=True, slots=True)
class WebhookList:
    """The webhooks of a collection, the oldest first."""

    webhooks: tuple[WebhookDescription, ...]


@dataclass(frozen=True, slots=True)
class DeletedWebhook:
    """The webhook that was deleted."""

    id: str
    status: Literal["deleted"] = "deleted"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A delivery that failed for too long. Its events are read again when it is sent."""

    number: int
    kind: LetterKind
    content: Annotated[dict[str, Any], described("Of `matches` the range of events, of `task` the task.")]
    error: DeliveryError | None
    at: Annotated[datetime, described("When it was made.")]

    @classmethod
    def of(cls, letter: Letter) -> "DeadLetter":
        """A letter as an answer."""
        error = None if letter.error is None else DeliveryError(**letter.error)
        return cls(letter.number, letter.kind, dict(letter.content), error, letter.created_at)


@dataclass(frozen=True, slots=True)
class DeadLetterPage:
    """Dead letters, the oldest first."""

    dead_letters: tuple[DeadLetter, ...]
    more: Annotated[bool, described("True if there are more: ask again with `after`, the last number.")]


@dataclass(frozen=True, slots=True)
class LetterStatus:
    """The new status of a dead letter: queued for another delivery, or deleted."""

    number: int
    status: Literal["queued", "deleted"]


@dataclass(frozen=True, slots=True)
class MatchDelivery:
    """The body of a delivery of matches."""

    type: Literal["matches"]
    webhook: Annotated[str, described("The webhook's id.")]
    collection: str
    events: tuple[Event, ...]
    cursor: Annotated[str, described("Events after these: `GET /collections/{collection}/matches?cursor=`.")]
    restart: Annotated[
        Literal[True] | None,
        optional("Discard all matches: withdrawals were deleted before they could be sent, and all that stand follow."),
    ] = None


@dataclass(frozen=True, slots=True)
class EndedTask:
    """A task that has ended."""

    id: str
    kind: str
    collection: Annotated[str, described("As the task was asked for; possibly an alias.")]
    status: Literal["done", "failed", "cancelled"]
    finished_at: datetime
    link: Annotated[str, described("The path of the whole task, below the API's address.")]


@dataclass(frozen=True, slots=True)
class TaskDelivery:
    """The body of a delivery of the end of a task."""

    type: Literal["task"]
    webhook: Annotated[str, described("The webhook's id.")]
    collection: str
    task: EndedTask
