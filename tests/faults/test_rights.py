"""Every operation, asked with every kind of key and token about an own, a foreign and a missing collection.

Operations are those of the OpenAPI document, so that a new route is tested before anybody thinks of it. For a key that
has some collections a foreign one is answered as a missing one: same status, same words, same headers.
"""

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import httpx
import pytest

from app.http.jwks import Jwks
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import SCOPES, create_key, revoke_key
from indexer.catalog.schema import upgrade
from tests import issuer
from tests.integration.http.conftest import Client, settings_of

OWN, FOREIGN, MISSING = "collection-own", "collection-foe", "collection-nil"
# Operations that nobody needs a key for.
OPEN: Final = {"get_sign_in", "live", "ready", "metrics"}
# An answer has them anew each time.
_VARYING: Final = re.compile(r'"(took_ms|request_id|id|created_at|at)": ?("[^"]*"|[0-9.]+)')


@dataclass(frozen=True)
class Operation:
    """An operation of the document, and a valid body of it, if it has one."""

    method: str
    path: str
    name: str
    body: Any
    media_type: str

    def about(self, collection: str) -> tuple[str, Any]:
        """Its path and body with the name of a collection wherever one is named."""
        values = {"collection": collection, "table": "hits", "number": "1", "alias": "alias-a", "name": "phrase-a"}
        path = re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], "b" * 24), self.path)
        path += "?wait=0" if path.endswith("/stream") else ""
        body = json.loads(json.dumps(self.body)) if self.body is not None else None
        if isinstance(body, dict):
            for key, value in (("collection", collection), ("collections", [collection])):
                if key in body:
                    body[key] = value
            for each in body.get("queries", []):
                each["collection"] = collection
        return path, body


@dataclass(frozen=True)
class World:
    client: Client
    operations: list[Operation]
    keys: dict[str, str]

    def ask(self, operation: Operation, collection: str, key: str) -> httpx.Response:
        path, body = operation.about(collection)
        headers = {"Authorization": f"Bearer {self.keys[key]}"} if self.keys[key] else {}
        content = None if body is None else body if isinstance(body, str) else json.dumps(body)
        headers |= {} if body is None else {"Content-Type": operation.media_type}
        request = self.client.http.request(operation.method, path, content=content, headers=headers)
        response: httpx.Response = self.client.run(request)
        return response


def operations_of(document: dict[str, Any]) -> Iterator[Operation]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            content = operation.get("requestBody", {}).get("content", {})
            media_type, described = next(iter(content.items()), ("", {}))
            yield Operation(method.upper(), path, operation["operationId"], _example(document, described), media_type)


def _example(document: dict[str, Any], described: dict[str, Any]) -> Any:
    if not described or "example" in described:
        return described.get("example")
    if "examples" in described:
        return next(iter(described["examples"].values()))["value"]
    schema = described.get("schema", {})
    schema = next((each for each in schema.get("anyOf", ()) if "$ref" in each), schema)
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema.get("examples", [{}])[0]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    tokens = {"jwt_issuer": issuer.NAME, "jwt_audience": issuer.AUDIENCE, "jwt_collections_claim": "collections"}
    settings = settings_of(tmp_path_factory.mktemp("data")).model_copy(update=tokens)
    upgrade(settings.catalog_url)
    with closing(Catalog(settings.catalog_url)) as catalog:
        keys = {"admin": create_key(catalog, "all", SCOPES)[1]}
        for scope in SCOPES:
            keys[f"own {scope}"] = create_key(catalog, scope, [scope], [OWN])[1]
        keys["own all"] = create_key(catalog, "own", SCOPES, [OWN])[1]
        revoked, keys["revoked"] = create_key(catalog, "revoked", SCOPES)
        revoke_key(catalog, revoked.id)
        clock = catalog.clock
        catalog.clock = lambda: clock() - timedelta(days=2)  # type: ignore[method-assign]
        keys["expired"] = create_key(catalog, "old", SCOPES, expires_at=clock() - timedelta(days=1))[1]
    claims = {"scope": " ".join(SCOPES), "collections": [OWN], "exp": int(time.time()) + 3600}
    keys["own token"] = issuer.token(**claims)
    keys["expired token"] = issuer.token(**claims | {"exp": int(time.time()) - 3600})
    keys |= {"none": "", "made up": "sk-" + "a" * 40}
    with Client(settings) as client:
        published = {"keys": [issuer.public_key("one")]}
        client.app.state.issuer._jwks = Jwks(
            issuer.NAME, "https://login.example/keys", fetch=lambda _: published, wait_s=60.0
        )
        client.headers = {"Authorization": f"Bearer {keys['admin']}"}
        for name in (OWN, FOREIGN):
            assert client.run(client.http.put(f"/collections/{name}", headers=client.headers)).is_success
            assert client.post(f"/collections/{name}/documents", {"id": "a", "text": "It is late."}).is_success
        yield World(client, list(operations_of(client.app.openapi())), keys)


LIMITED: Final = ("own search", "own index", "own admin", "own all", "own token")


def comparable(response: httpx.Response) -> tuple[int, str, dict[str, str]]:
    text = _VARYING.sub("", response.text)
    for name in (FOREIGN, MISSING):
        text = text.replace(name, "NAME")
    varying = {"x-request-id", "date", "server-timing", "content-length"}
    return response.status_code, text, {name: value for name, value in response.headers.items() if name not in varying}


@pytest.mark.parametrize("key", LIMITED)
def test_a_foreign_collection_is_as_good_as_missing(world: World, key: str) -> None:
    unlike, refused = [], 0
    for operation in world.operations:
        foreign, missing = (comparable(world.ask(operation, name, key)) for name in (FOREIGN, MISSING))
        if operation.name not in OPEN and foreign != missing:
            unlike.append((operation.name, foreign[:2], missing[:2]))
        refused += foreign[0] in (403, 404)
    assert unlike == []
    assert refused > len(world.operations) * 0.6, "most operations name a collection, or need a scope, and were refused"
    listed = world.client.run(world.client.http.get("/collections", headers=world.client.headers)).json()
    names = {each["name"] for each in listed["collections"]}
    assert {OWN, FOREIGN} <= names, "nothing foreign was deleted"
    assert MISSING not in names, "nothing was made under another name"


@pytest.mark.parametrize("key", ["none", "made up", "revoked", "expired", "expired token"])
def test_without_a_valid_key_nothing_is_answered(world: World, key: str) -> None:
    """The same 401 for every collection, before anything of the request is read."""
    for operation in world.operations:
        if operation.name in OPEN:
            continue
        answers = [world.ask(operation, name, key) for name in (OWN, FOREIGN, MISSING)]
        assert {answer.status_code for answer in answers} == {401}, f"{operation.name} with the key {key}"
        assert len({json.dumps(comparable(answer)) for answer in answers}) == 1


def test_scopes_are_asked_before_anything_is_looked_up(world: World) -> None:
    """A key that lacks the scope gets the same refusal for its own collection as for any other."""
    for operation in world.operations:
        own = world.ask(operation, OWN, "own search")
        if own.status_code == 403 and own.json()["code"] == "forbidden":
            others = [world.ask(operation, name, "own search") for name in (FOREIGN, MISSING)]
            assert {each.status_code for each in others} <= {403, 404}, operation.name
