"""Which database a URL means, and that its password is never printed."""

import pytest

from indexer.catalog.urls import parsed, printable
from models.errors import InvalidInput


@pytest.mark.parametrize(
    ("given", "driver"),
    [
        ("sqlite:///c.db", "sqlite+pysqlite"),
        ("postgres://db/x", "postgresql+psycopg"),
        ("postgresql://db/x", "postgresql+psycopg"),
        ("postgresql+psycopg://db/x", "postgresql+psycopg"),
    ],
)
def test_each_database_has_one_driver(given, driver):
    assert parsed(given).drivername == driver


@pytest.mark.parametrize("url", ["postgresql://a:s3cret@db/x", "postgresql://db/x?user=a&password=s3cret"])
def test_passwords_are_not_printed(url):
    assert "s3cret" not in printable(parsed(url))
    assert "postgresql+psycopg://" in printable(parsed(url))


@pytest.mark.parametrize("url", ["mysql://a:s3cret@db/x", "sqlite://", "sqlite:///:memory:", "c.db", "pg://a:s3cret:c"])
def test_a_url_that_cannot_be_used_is_refused(url):
    with pytest.raises(InvalidInput, match="catalog") as caught:
        parsed(url)
    assert caught.value.field == "catalog_url"
    assert "sqlite:///" in caught.value.hint
    assert "s3cret" not in str(caught.value)
