"""What a key allows."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from indexer.catalog.keys import Key

NOW = datetime(2024, 5, 17, tzinfo=UTC)


@pytest.mark.parametrize(
    ("scopes", "collections", "scope", "collection", "allowed"),
    [
        (("search",), None, "search", "calls", True),
        (("search",), None, "index", "calls", False),
        (("search",), None, "admin", "calls", False),
        (("search", "index"), None, "index", "calls", True),
        (("index",), None, "search", "calls", False),
        (("admin",), None, "index", "calls", True),
        (("admin",), ("calls",), "admin", "calls", True),
        (("admin",), ("calls",), "search", "contracts", False),
        (("admin",), ("calls",), "admin", None, False),
        (("admin",), None, "admin", None, True),
        (("search",), (), "search", "calls", False),
    ],
)
def test_what_a_key_allows(scopes, collections, scope, collection, allowed):
    key = Key("0a1b2c3d", "web", scopes, collections, created_at=NOW)
    assert key.allows(scope, collection) is allowed
    assert not replace(key, revoked_at=NOW).allows(scope, collection)
