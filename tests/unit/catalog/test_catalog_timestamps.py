"""Moments read the same from every database."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy.dialects import postgresql, sqlite

from indexer.catalog.sql import UtcDateTime, utc_now

NOON = datetime(2024, 5, 17, 12, tzinfo=UTC)
IN_TOKYO = NOON.astimezone(timezone(timedelta(hours=9)))


@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect()])
def test_a_moment_goes_in_and_comes_out_in_utc(dialect):
    column = UtcDateTime()
    for moment in (column.process_bind_param(IN_TOKYO, dialect), column.process_result_value(IN_TOKYO, dialect)):
        assert moment == NOON
        assert moment.tzinfo is UTC
    assert column.process_bind_param(None, dialect) is column.process_result_value(None, dialect) is None


def test_what_sqlite_answers_is_utc():
    assert UtcDateTime().process_result_value(NOON.replace(tzinfo=None), sqlite.dialect()) == NOON


def test_a_moment_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="no time zone"):
        UtcDateTime().process_bind_param(datetime(2024, 5, 17), sqlite.dialect())


def test_now_is_aware():
    assert utc_now().tzinfo is UTC
