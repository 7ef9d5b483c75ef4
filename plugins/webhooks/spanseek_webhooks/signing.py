"""Signatures of deliveries, as standardwebhooks.com describes them, and where secrets come from.

The secret of a webhook follows from its salt, which the catalog has, and from a key in a file of the data folder, which
the catalog, its dumps and backups do not have: who reads one of the two cannot sign.
"""

import base64
import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from app.services import Services
from models.atomic import fsync, fsync_open
from spanseek_webhooks.errors import WebhookKeyLost
from spanseek_webhooks.rows import Secret

KEY_FILE: Final = "webhooks.key"
PREFIX: Final = "whsec_"
_BYTES: Final = 32


class SigningKey:
    """The key that the secrets of all webhooks of a data folder follow from; its file is made at first use.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     key = SigningKey(Path(folder))
    ...     secret = Secret.new(key.mark)
    ...     key.secret("a", secret) == SigningKey(Path(folder)).secret("a", secret) != key.secret("b", secret)
    True
    """

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / KEY_FILE

    @classmethod
    def of(cls, services: Services) -> Self:
        """Make it for a registry of services."""
        return cls(services.store.data_dir)

    @cached_property
    def _key(self) -> bytes:
        if not self._path.exists():
            _write_once(self._path, secrets.token_bytes(_BYTES).hex().encode())
        return bytes.fromhex(self._path.read_text("ascii"))

    @property
    def mark(self) -> str:
        """A hash by which another key is noticed."""
        return hmac.digest(self._key, b"mark", hashlib.sha256).hex()[:16]

    def secret(self, webhook_id: str, secret: Secret) -> str:
        """The secret of a webhook, as its receiver gets it. Raises ``WebhookKeyLost``."""
        if not hmac.compare_digest(secret.key_mark, self.mark):
            raise WebhookKeyLost(
                f"The file {KEY_FILE} of the data folder is another one than when the webhook got its secret.",
                hint="Put the file back, or make a new secret.",
            )
        derived = hmac.digest(self._key, f"{webhook_id}.{secret.salt}".encode(), hashlib.sha256)
        return PREFIX + base64.b64encode(derived).decode()


def signature(secret: str, id: str, timestamp: int, body: bytes) -> str:
    """The signature of a delivery: HMAC-SHA256 over its id, the time in seconds since 1970, and the body.

    >>> signature("whsec_c2VjcmV0", "7-1-2", 1700000000, b"{}")
    'v1,Xc4+7lor6aJsEcsOfOv6LTaLoqs/V2vSQdIbSOsTma8='
    """
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def _write_once(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all; one that another process made stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            fsync_open(file.fileno(), draft)
        with suppress(FileExistsError):
            path.hardlink_to(draft)
        fsync(path.parent)
    finally:
        draft.unlink()
