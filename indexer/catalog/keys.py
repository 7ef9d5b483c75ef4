"""API keys. A token is shown once, and only a hash of its secret is stored."""

import hashlib
import hmac
import re
import secrets
from collections import abc
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, get_args

from sqlalchemy import Row, func, insert, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.names import checked_collection_name, checked_key_name
from indexer.catalog.tables import keys
from indexer.errors import KeyNotFound
from indexer.filters.expression import Expression
from indexer.filters.json_form import document_expression_of
from indexer.filters.strings import printed, restored
from models.errors import InvalidInput
from models.fields import converted

Scope: TypeAlias = Literal["search", "index", "admin"]
MAX_RATE = 1_000_000
SCOPES: tuple[Scope, ...] = get_args(Scope)

_ID = re.compile("[0-9a-f]{8}")
_TOKEN = re.compile(rf"ssk_({_ID.pattern})_([A-Za-z0-9_-]+)")


@dataclass(frozen=True, slots=True)
class Key:
    """The permissions of a token. ``collections`` is None for all collections, including future ones.

    ``rate`` is the number of requests a minute, or None for any number. ``filter`` holds in everything that the key
    reads and writes; to documents of which it is not true, the key is blind.
    """

    id: str
    name: str
    scopes: tuple[Scope, ...]
    collections: tuple[str, ...] | None
    created_at: datetime
    revoked_at: datetime | None = None
    expires_at: datetime | None = None
    rate: int | None = None
    last_used_at: datetime | None = None
    filter: Expression | None = None

    def allows(self, scope: Scope, collection: str | None = None) -> bool:
        """True if the key permits a scope on a collection; None stands for routes outside collections.

        >>> from datetime import UTC, datetime
        >>> key = Key("0a1b2c3d", "web", ("search",), ("calls",), datetime.now(UTC))
        >>> key.allows("search", "calls"), key.allows("index", "calls"), key.allows("search", "contracts")
        (True, False, False)
        """
        in_scope = scope in self.scopes or "admin" in self.scopes
        in_reach = self.collections is None or collection in self.collections
        return self.revoked_at is None and in_scope and in_reach


def create_key(
    catalog: Catalog,
    name: str,
    scopes: abc.Collection[Scope],
    collections: abc.Collection[str] | None = None,
    *,
    expires_at: datetime | None = None,
    rate: int | None = None,
    filter: object = None,
) -> tuple[Key, str]:
    """Create a key; returns it and its token, which is not stored.

    ``filter`` is an expression about documents, in either form. Raises ``InvalidInput`` unless it is, the key expires
    in the future, if ever, and it allows 1 to ``MAX_RATE`` requests a minute.
    """
    created_at = catalog.clock()
    key = Key(
        id=secrets.token_hex(4),
        name=checked_key_name(name),
        scopes=_checked_scopes(scopes),
        collections=None if collections is None else tuple(map(checked_collection_name, sorted(collections))),
        created_at=created_at,
        expires_at=_checked_expiry(expires_at, created_at),
        rate=_checked_rate(rate),
        filter=None if filter is None else document_expression_of(filter),
    )
    secret = secrets.token_urlsafe(32)
    with catalog.database.write() as connection:
        connection.execute(
            insert(keys).values(
                id=key.id,
                name=key.name,
                secret_hash=_hashed(secret),
                scopes=list(key.scopes),
                collections=None if key.collections is None else list(key.collections),
                created_at=key.created_at,
                expires_at=key.expires_at,
                rate=key.rate,
                filter=None if key.filter is None else printed(key.filter),
            )
        )
    return key, f"ssk_{key.id}_{secret}"


def list_keys(catalog: Catalog) -> tuple[Key, ...]:
    """All keys, the revoked ones too, oldest first."""
    with catalog.database.read() as connection:
        rows = connection.execute(select(keys).order_by(keys.c.created_at, keys.c.id)).all()
    return tuple(map(_key, rows))


def revoke_key(catalog: Catalog, id: str) -> None:
    """Revoke a key from the next request on. Idempotent."""
    with catalog.database.write() as connection:
        # Text that cannot be an id is not sent to the database: not every text can be.
        if not _ID.fullmatch(id) or connection.scalar(select(keys.c.id).where(keys.c.id == id)) is None:
            raise KeyNotFound(f"There is no key {id!r}", hint="`spanseek keys list` shows them.", field="id")
        living = (keys.c.id == id) & keys.c.revoked_at.is_(None)
        connection.execute(update(keys).where(living).values(revoked_at=catalog.clock()))


def key_id(token: str) -> str | None:
    """The id that a token names, whether or not there is such a key; None for what is no token.

    >>> key_id("ssk_0a1b2c3d_" + "x" * 43), key_id("secret")
    ('0a1b2c3d', None)
    """
    parts = _TOKEN.fullmatch(token)
    return parts[1] if parts is not None else None


def authenticate(catalog: Catalog, token: str) -> Key | None:
    """The key of a token, or None if there is none, or it was revoked or has expired."""
    parts = _TOKEN.fullmatch(token)
    if parts is None:
        return None
    with catalog.database.read() as connection:
        row = connection.execute(select(keys).where(keys.c.id == parts[1], keys.c.revoked_at.is_(None))).first()
    if row is None or not hmac.compare_digest(row.secret_hash, _hashed(parts[2])):
        return None
    key = _key(row)
    return None if key.expires_at is not None and key.expires_at <= catalog.clock() else key


def record_uses(catalog: Catalog, ids: abc.Collection[str]) -> None:
    """Write that these keys were used now."""
    with catalog.database.write() as connection:
        connection.execute(update(keys).where(keys.c.id.in_(ids)).values(last_used_at=catalog.clock()))


def any_keys(catalog: Catalog) -> bool:
    """True if there are keys. Revoked and expired ones count, so that anonymous access does not come back."""
    with catalog.database.read() as connection:
        return bool(connection.scalar(select(func.count()).select_from(keys)))


def _hashed(secret: str) -> str:
    # A fast hash is enough for 32 random bytes.
    return hashlib.sha256(secret.encode()).hexdigest()


def _checked_scopes(scopes: abc.Collection[Scope]) -> tuple[Scope, ...]:
    if not scopes or not set(scopes) <= set(SCOPES):
        raise InvalidInput(
            f"{', '.join(scopes) or 'nothing'} is not a set of scopes",
            hint=f"Choose one or more of: {', '.join(SCOPES)}.",
            field="scopes",
        )
    return tuple(scope for scope in SCOPES if scope in scopes)


def _checked_expiry(expires_at: datetime | None, now: datetime) -> datetime | None:
    """The expiry in UTC."""
    if expires_at is None:
        return None
    if expires_at <= now:
        raise _wrong_expiry(expires_at, "has passed")
    try:
        return expires_at.astimezone(UTC)
    except OverflowError as error:
        raise _wrong_expiry(expires_at, "in UTC is after the year 9999") from error


def _wrong_expiry(expires_at: datetime, reason: str) -> InvalidInput:
    return InvalidInput(
        f"A key cannot expire at {expires_at.isoformat(timespec='seconds')}, which {reason}.",
        hint="Name a time in the future, or none.",
        field="expires",
    )


def _checked_rate(rate: int | None) -> int | None:
    if rate is not None and not 1 <= rate <= MAX_RATE:
        raise InvalidInput(
            f"A key cannot allow {rate} requests a minute.",
            hint=f"Choose 1 to {MAX_RATE}, or no limit.",
            field="rate",
        )
    return rate


def _key(row: Row[*tuple[Any, ...]]) -> Key:
    collections = None if row.collections is None else tuple(row.collections)
    filter = None if row.filter is None else restored(row.filter)
    return converted(row, Key, scopes=tuple(row.scopes), collections=collections, filter=filter)
