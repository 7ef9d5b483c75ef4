"""Webhooks, for every interface."""

from dataclasses import replace
from typing import Self

from app.cursors import check_limit
from app.services import Services
from indexer.catalog.collections import Catalog
from indexer.catalog.names import checked_phrase_name
from models.errors import InvalidInput
from spanseek_webhooks.addresses import AddressRules, checked_url
from spanseek_webhooks.answers import DeadLetter, DeadLetterPage, WebhookDescription, WebhookList
from spanseek_webhooks.letters import dead_letters, delete_letter, revive_letter
from spanseek_webhooks.rows import (
    Secret,
    WebhookChanges,
    WebhookDraft,
    change_secret,
    change_webhook,
    create_webhook,
    delete_webhook,
    get_webhook,
    list_webhooks,
)
from spanseek_webhooks.settings import WebhookSettings
from spanseek_webhooks.signing import SigningKey


class WebhookService:
    """The webhooks of one store's collections. Raises ``CollectionNotFound`` and ``WebhookNotFound``."""

    def __init__(self, catalog: Catalog, key: SigningKey, rules: AddressRules) -> None:
        self._catalog, self._key, self._rules = catalog, key, rules

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store.catalog, services.get(SigningKey), services.settings.of(WebhookSettings).rules)

    def create(self, collection: str, draft: WebhookDraft) -> WebhookDescription:
        """Make a webhook; the answer alone has its secret. Raises ``InvalidInput`` for a URL that it cannot have."""
        _check(draft.matches, draft.tasks)
        checked_url(draft.url, self._rules)
        phrases = tuple(map(checked_phrase_name, draft.filter.phrases))
        draft = replace(draft, filter=replace(draft.filter, phrases=phrases))
        webhook = create_webhook(self._catalog, collection, draft, Secret.new(self._key.mark))
        return WebhookDescription.of(webhook, self._key.secret(webhook.id, webhook.secret))

    def list(self, collection: str) -> WebhookList:
        """All webhooks of a collection."""
        return WebhookList(tuple(map(WebhookDescription.of, list_webhooks(self._catalog, collection))))

    def get(self, collection: str, id: str) -> WebhookDescription:
        """A webhook as it is now."""
        return WebhookDescription.of(get_webhook(self._catalog, collection, id))

    def change(self, collection: str, id: str, changes: WebhookChanges) -> WebhookDescription:
        """Change fields of a webhook; what it could not deliver is tried again at once."""
        before = get_webhook(self._catalog, collection, id)
        matches, tasks = (
            old if new is None else new
            for old, new in ((before.matches, changes.matches), (before.tasks, changes.tasks))
        )
        _check(matches, tasks)
        if changes.url is not None:
            checked_url(changes.url, self._rules)
        for name in changes.phrases or ():
            checked_phrase_name(name)
        return WebhookDescription.of(change_webhook(self._catalog, collection, id, changes))

    def renew_secret(self, collection: str, id: str) -> WebhookDescription:
        """Make a new secret; the answer alone has it."""
        webhook = change_secret(self._catalog, collection, id, Secret.new(self._key.mark))
        return WebhookDescription.of(webhook, self._key.secret(webhook.id, webhook.secret))

    def delete(self, collection: str, id: str) -> None:
        """Delete a webhook, with its dead letters."""
        delete_webhook(self._catalog, collection, id)

    def dead_letters(self, collection: str, id: str, limit: int = 100, after: int = 0) -> DeadLetterPage:
        """At most ``limit`` dead letters, the oldest first, after a number."""
        check_limit(limit)
        webhook = get_webhook(self._catalog, collection, id)
        letters = dead_letters(self._catalog, webhook.id, limit + 1, after)
        return DeadLetterPage(tuple(map(DeadLetter.of, letters[:limit])), len(letters) > limit)

    def send_again(self, collection: str, id: str, number: int) -> None:
        """Send a dead letter again, before anything else. Raises ``LetterNotFound``."""
        revive_letter(self._catalog, get_webhook(self._catalog, collection, id).id, number)

    def delete_letter(self, collection: str, id: str, number: int) -> None:
        """Delete a dead letter. Raises ``LetterNotFound``."""
        delete_letter(self._catalog, get_webhook(self._catalog, collection, id).id, number)


def _check(matches: bool, tasks: bool) -> None:
    if not (matches or tasks):
        raise InvalidInput("A webhook without matches and tasks sends nothing.", hint="Choose one.", field="matches")
