"""Who may ask for what. A token is shown once; what is stored of it cannot be turned back into it."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection as Some
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

from sqlalchemy import Row, func, insert, select, update

from indexer.catalog.collections import Catalog
from indexer.catalog.names import checked_collection_name, checked_key_name
from indexer.catalog.tables import keys
from models.errors import InvalidInput

Scope: TypeAlias = Literal["search", "index", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

_ID = re.compile("[0-9a-f]{8}")
_TOKEN = re.compile(rf"ssk_({_ID.pattern})_([A-Za-z0-9_-]+)")


@dataclass(frozen=True, slots=True)
class Key:
    """What the holder of a token may do. ``collections`` None means: all of them, those to come too."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    collections: tuple[str, ...] | None
    created_at: datetime
    revoked_at: datetime | None = None

    def allows(self, scope: Scope, collection: str | None = None) -> bool:
        """Whether the key opens this collection; without one, whether it opens what belongs to no collection.

        >>> from datetime import UTC, datetime
        >>> key = Key("0a1b2c3d", "web", ("search",), ("calls",), datetime.now(UTC))
        >>> key.allows("search", "calls"), key.allows("index", "calls"), key.allows("search", "contracts")
        (True, False, False)
        """
        in_scope = scope in self.scopes or "admin" in self.scopes
        in_reach = self.collections is None or collection in self.collections
        return self.revoked_at is None and in_scope and in_reach


def create_key(
    catalog: Catalog, name: str, scopes: Some[Scope], collections: Some[str] | None = None
) -> tuple[Key, str]:
    """A new key and its token. The token can never be shown again."""
    key = Key(
        id=secrets.token_hex(4),
        name=checked_key_name(name),
        scopes=_checked_scopes(scopes),
        collections=None if collections is None else tuple(map(checked_collection_name, sorted(collections))),
        created_at=catalog.clock(),
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
            )
        )
    return key, f"ssk_{key.id}_{secret}"


def list_keys(catalog: Catalog) -> tuple[Key, ...]:
    """All keys, the revoked ones too, oldest first."""
    with catalog.database.read() as connection:
        rows = connection.execute(select(keys).order_by(keys.c.created_at, keys.c.id)).all()
    return tuple(map(_key, rows))


def revoke_key(catalog: Catalog, id: str) -> None:
    """The key opens nothing any more, from the next request on. Once more changes nothing."""
    with catalog.database.write() as connection:
        # What cannot be an id is not even asked for: not every text is one that a database can be asked about.
        if not _ID.fullmatch(id) or connection.scalar(select(keys.c.id).where(keys.c.id == id)) is None:
            raise InvalidInput(f"There is no key {id!r}", hint="`spanseek keys list` shows them.", field="id")
        living = (keys.c.id == id) & keys.c.revoked_at.is_(None)
        connection.execute(update(keys).where(living).values(revoked_at=catalog.clock()))


def authenticate(catalog: Catalog, token: str) -> Key | None:
    """The key this token belongs to, unless it was revoked."""
    parts = _TOKEN.fullmatch(token)
    if parts is None:
        return None
    with catalog.database.read() as connection:
        row = connection.execute(select(keys).where(keys.c.id == parts[1], keys.c.revoked_at.is_(None))).first()
    if row is None or not hmac.compare_digest(row.secret_hash, _hashed(parts[2])):
        return None
    return _key(row)


def any_keys(catalog: Catalog) -> bool:
    """Whether keys are in use. Revoked ones count: revoking the last must not open the doors to everybody."""
    with catalog.database.read() as connection:
        return bool(connection.scalar(select(func.count()).select_from(keys)))


def _hashed(secret: str) -> str:
    # A fast hash is enough: nobody can guess 32 random bytes, however fast they try.
    return hashlib.sha256(secret.encode()).hexdigest()


def _checked_scopes(scopes: Some[Scope]) -> tuple[Scope, ...]:
    if not scopes or not set(scopes) <= set(SCOPES):
        raise InvalidInput(
            f"{', '.join(scopes) or 'nothing'} is not what a key can be good for",
            hint=f"Choose one or more of: {', '.join(SCOPES)}.",
            field="scopes",
        )
    return tuple(scope for scope in SCOPES if scope in scopes)


def _key(row: Row[*tuple[Any, ...]]) -> Key:
    return Key(
        id=row.id,
        name=row.name,
        scopes=tuple(row.scopes),
        collections=None if row.collections is None else tuple(row.collections),
        created_at=row.created_at,
        revoked_at=row.revoked_at,
    )
