"""Moments that read the same from every database: aware, and in UTC."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

from sqlalchemy import DateTime, Dialect
from sqlalchemy.types import TypeDecorator

Clock: TypeAlias = Callable[[], datetime]


def utc_now() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """A timestamp with time zone; SQLite, which has none, is given UTC and believed to return it."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuses a naive moment: nobody could say later which one it was."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """SQLite answers without a zone, PostgreSQL in the zone of the session."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
