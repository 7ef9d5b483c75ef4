"""Errors about webhooks."""

from typing import ClassVar

from models.errors import SpanseekError


class WebhookNotFound(SpanseekError):
    """The collection has no webhook of this id."""

    code = "webhook_not_found"
    http_status: ClassVar[int] = 404


class LetterNotFound(SpanseekError):
    """The webhook has no dead letter of this number."""

    code = "dead_letter_not_found"
    http_status: ClassVar[int] = 404


class WebhookKeyLost(SpanseekError):
    """The key file is not the one that the secret of the webhook was made with."""

    code = "webhook_key_lost"
