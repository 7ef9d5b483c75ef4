"""API keys: shown once, stored hashed, good for what they say and no more."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import text

from indexer.catalog.keys import any_keys, authenticate, create_key, list_keys, record_uses, revoke_key
from indexer.errors import KeyNotFound
from models.errors import InvalidInput


def test_a_token_opens_what_its_key_says(catalog, clock):
    key, token = create_key(catalog, "web", ["search"], ["calls"])
    assert re.fullmatch(r"ssk_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", token)
    assert token.startswith(f"ssk_{key.id}_")
    assert authenticate(catalog, token) == key
    assert (key.name, key.scopes, key.collections) == ("web", ("search",), ("calls",))
    assert key.created_at == clock.now


def test_the_secret_is_stored_nowhere(catalog):
    _, token = create_key(catalog, "web", ["search"], None)
    secret = token.split("_", 2)[2]
    with catalog.database.read() as connection:
        row = connection.execute(text("SELECT * FROM keys")).one()
    assert secret not in repr(tuple(row))
    assert re.fullmatch("[0-9a-f]{64}", row.secret_hash)


def test_wrong_tokens_open_nothing(catalog):
    _, token = create_key(catalog, "web", ["search"], None)
    _, other = create_key(catalog, "web", ["search"], None)
    mixed = "_".join([*token.split("_", 2)[:2], other.split("_", 2)[2]])
    for wrong in ("", "ssk", token[:-1], token + "x", token.upper(), mixed, f" {token}", f"{token}\n"):
        assert authenticate(catalog, wrong) is None
    for hostile in ("ssk_\0_x", "ssk_00000000_\ud800", "ssk_00000000_ü", "ssk_' OR 1_x", "ssk_00000000_x"):
        assert authenticate(catalog, hostile) is None


def test_a_revoked_key_opens_nothing(catalog, clock):
    key, token = create_key(catalog, "web", ["admin"], None)
    clock.advance(5)
    revoke_key(catalog, key.id)
    revoked = clock.now
    clock.advance(5)
    revoke_key(catalog, key.id)  # once more changes nothing
    assert authenticate(catalog, token) is None
    assert [listed.revoked_at for listed in list_keys(catalog)] == [revoked]
    assert not list_keys(catalog)[0].allows("search", "calls")


def test_a_key_that_does_not_exist_cannot_be_revoked(catalog):
    for id in ("nonsense", "00000000", "\0", "\ud800"):
        with pytest.raises(KeyNotFound, match="There is no key") as caught:
            revoke_key(catalog, id)
        assert caught.value.field == "id"


def test_keys_are_listed_oldest_first(catalog, clock):
    made = []
    for name in ("web", "job", "web"):
        made.append(create_key(catalog, name, ["search"], None)[0])
        clock.advance(1)
    assert list(list_keys(catalog)) == made


def test_revoking_the_last_key_does_not_open_the_doors(catalog):
    assert not any_keys(catalog)
    key, _ = create_key(catalog, "web", ["search"], None)
    assert any_keys(catalog)
    revoke_key(catalog, key.id)
    assert any_keys(catalog)


def test_a_key_comes_back_with_all_it_may_do(catalog):
    for collections in (None, [], ["contracts", "calls"]):
        key, token = create_key(catalog, "k", ["admin", "search"], collections)
        assert authenticate(catalog, token) == key
        assert key.scopes == ("search", "admin")
        assert key.collections == (None if collections is None else tuple(sorted(collections)))


def test_unknown_scopes_are_refused(catalog):
    for scopes in ([], ["read"], ["search", "everything"]):
        with pytest.raises(InvalidInput) as caught:
            create_key(catalog, "k", scopes, None)
        assert caught.value.field == "scopes"
    assert not any_keys(catalog)


def test_impossible_names_are_refused(catalog):
    for name in ("", "\0", "\ud800"):
        with pytest.raises(InvalidInput) as caught:
            create_key(catalog, name, ["search"], None)
        assert caught.value.field == "name"


def test_impossible_collections_are_refused(catalog):
    with pytest.raises(InvalidInput) as caught:
        create_key(catalog, "k", ["search"], ["Not A Name"])
    assert caught.value.field == "collection"


def test_a_key_expires(catalog, clock):
    key, token = create_key(catalog, "web", ["search"], expires_at=clock.now + timedelta(seconds=10), rate=60)
    assert authenticate(catalog, token) == key == list_keys(catalog)[0]
    clock.advance(10)
    assert authenticate(catalog, token) is None
    assert any_keys(catalog)


def test_impossible_limits_are_refused(catalog, clock):
    for limits, field in (({"expires_at": clock.now}, "expires"), ({"rate": 0}, "rate"), ({"rate": 1_000_001}, "rate")):
        with pytest.raises(InvalidInput) as caught:
            create_key(catalog, "k", ["search"], **limits)
        assert caught.value.field == field
    assert not any_keys(catalog)


def test_uses_are_recorded(catalog, clock):
    keys = [create_key(catalog, name, ["search"])[0] for name in ("a", "b")]
    clock.advance(3)
    record_uses(catalog, [keys[0].id])
    assert {key.id: key.last_used_at for key in list_keys(catalog)} == {keys[0].id: clock.now, keys[1].id: None}
