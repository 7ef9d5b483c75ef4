"""Dates and times in metadata, as moments that compare whatever their spelling is."""

import re
from datetime import UTC, datetime
from typing import Final

_SPELLING: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d{2}(?::?\d{2})?)?)?", re.ASCII
)


def moment_of(text: str) -> datetime | None:
    """The moment that a date, or a date with a time, of ISO 8601 names, in UTC and without a zone; None for other text.

    A date is its first moment. Without an offset the time is UTC. Digits behind the microseconds are left out.

    >>> moment_of("2025-01-01T01:00+01:00") == moment_of("2025-01-01") == moment_of("2025-01-01 00:00:00Z")
    True
    >>> moment_of("2025-01-01t00:00:00.1234567z") == moment_of("2025-01-01 01:00:00.123456+01")
    True
    >>> moment_of("2025-02-30"), moment_of("20250101")
    (None, None)
    """
    if not _SPELLING.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        return (moment.astimezone(UTC) if moment.tzinfo else moment).replace(tzinfo=None)
    except (ValueError, OverflowError):  # no such day; or a zone leads out of the calendar
        return None
