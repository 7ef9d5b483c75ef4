"""Workers: threads that send what webhooks have to send, until the server stops."""

import logging
import threading
from datetime import timedelta
from typing import Final, Self

from app import __version__
from app.services import Services
from indexer.catalog.collections import Catalog
from indexer.catalog.tasks import ClaimLost
from models.errors import SpanseekError
from models.priority import lower_priority
from spanseek_webhooks.claims import Delivering, claim_delivery, record_failed, record_sent
from spanseek_webhooks.deliveries import Delivery, next_delivery
from spanseek_webhooks.errors import WebhookKeyLost
from spanseek_webhooks.rows import Webhook
from spanseek_webhooks.sending import DeliveryFailed, Sender
from spanseek_webhooks.settings import WebhookSettings
from spanseek_webhooks.signing import SigningKey, signature

# Seconds between two looks at the catalog, and after a look that failed.
_POLL_S: Final = 1.0
_RETRY_S: Final = 5.0
# Seconds that a claim outlives the time that a receiver has, for the resolver and the catalog.
_SPARE_S: Final = 60.0

_log = logging.getLogger(__name__)


class WebhookWorkers:
    """Sends for the webhooks of one catalog; a slow receiver occupies one of the ``threads``.

    What has failed for as long as ``given_up`` becomes a dead letter.
    """

    def __init__(
        self,
        catalog: Catalog,
        key: SigningKey,
        sender: Sender,
        *,
        threads: int,
        timeout_s: float,
        given_up: timedelta,
    ) -> None:
        self._catalog, self._key, self._sender = catalog, key, sender
        self._timeout_s, self._given_up = timeout_s, given_up
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name=f"webhook-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    @classmethod
    def of(cls, services: Services, threads: int | None = None) -> Self:
        """Start the workers of a server: as many as the settings say, by default."""
        settings = services.settings.of(WebhookSettings)
        timeout_s, given_up = settings.webhook_timeout_s, timedelta(hours=settings.webhook_hours)
        sender = Sender(settings.rules, timeout_s=timeout_s)
        key, threads = services.get(SigningKey), settings.webhook_workers if threads is None else threads
        return cls(services.store.catalog, key, sender, threads=threads, timeout_s=timeout_s, given_up=given_up)

    def close(self) -> None:
        """Stop, after the deliveries that are under way; what is not received then is sent by the next server."""
        self._closing.set()
        for thread in self._threads:
            thread.join(self._timeout_s)

    def _run(self) -> None:
        lower_priority()
        complained = False
        while not self._closing.is_set():
            try:
                pause, complained = (0.0 if self.turn() else _POLL_S), False
            except SpanseekError as error:
                _log.log(logging.DEBUG if complained else logging.WARNING, "webhooks wait: %s %s", error, error.hint)
                pause, complained = _RETRY_S, True
            except Exception:  # noqa: BLE001  the other webhooks go on
                _log.exception("unforeseen error of the webhooks")
                pause = _RETRY_S
            if pause:
                self._closing.wait(pause)

    def turn(self) -> bool:
        """Send what is next of the webhook whose turn it is; False if none has anything to send."""
        claim = claim_delivery(self._catalog, self._timeout_s + _SPARE_S)
        if claim is None:
            return False
        try:
            self._serve(claim)
        except ClaimLost:  # it was changed or deleted, or another worker has taken over
            _log.info("webhook %s was delivered by nobody or twice: its claim was lost", claim.webhook.id)
        return True

    def _serve(self, claim: Delivering) -> None:
        delivery = next_delivery(self._catalog, claim.webhook)
        if delivery.body is None:
            record_sent(self._catalog, claim, delivery.sent, received=False)
            return
        try:
            self._send(claim.webhook, delivery.id, delivery.body)
        except (DeliveryFailed, WebhookKeyLost) as error:
            self._failed(claim, delivery, error)
        except Exception:  # noqa: BLE001  nobody foresaw it: tried again like any other failure
            _log.exception("unforeseen error in a delivery of webhook %s", claim.webhook.id)
            self._failed(claim, delivery, DeliveryFailed("internal_error", "The server's log has the details."))
        else:
            record_sent(self._catalog, claim, delivery.sent)

    def _send(self, webhook: Webhook, id: str, body: bytes) -> None:
        secret = self._key.secret(webhook.id, webhook.secret)
        timestamp = int(self._catalog.clock().timestamp())
        headers = {
            "content-type": "application/json",
            "user-agent": f"Spanseek/{__version__}",
            "webhook-id": id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(secret, id, timestamp, body),
        }
        self._sender.post(webhook.url, headers, body)

    def _failed(self, claim: Delivering, delivery: Delivery, error: DeliveryFailed | WebhookKeyLost) -> None:
        told = {"code": error.code, "detail": str(error)}
        again = record_failed(self._catalog, claim, delivery.sent, told, self._given_up)
        # Neither the URL, which may hold a secret, nor what was sent.
        outcome = "is a dead letter now" if again is None else f"is tried again at {again:%H:%M:%S}"
        _log.warning("a delivery of webhook %s failed (%s) and %s", claim.webhook.id, error.code, outcome)
