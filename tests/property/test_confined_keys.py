"""Keys with a filter, on all routes: for them a foreign document is a missing one.

Two servers hold the same documents of a tenant, and one of them others beside. Whatever a key of the tenant asks, both
answer the same. Routes are those of the application: each holds the filter (``HELD``), reads no documents (``OPEN``),
or refuses such keys, which is what ``Caller.require`` does.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.routing import Route

from app.http.app import create_app
from app.http.jwks import Jwks
from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import SCOPES, create_key
from indexer.catalog.schema import upgrade
from tests import issuer
from tests.integration.http.conftest import Client, settings_of

# What is asked: the method is the route's, the path's query and the body are these.
Asked = tuple[str, dict[str, Any] | list[dict[str, Any]] | None]

FOREIGN = "zebrafish"
COLLECTION = "/collections/sample"
TEXTS = [
    "I want to cancel my plan. The parcel is late.",
    "Please cancel the order, the parcel never came.",
    "My router is slow and the bill is wrong.",
]
QUERIES = ["cancel my plan", "parcel is late", "router", FOREIGN, "the bill"]
MODES = ["best_span", "lexical", "hybrid"]
FILTERS = {"metadata": 'tenant = "acme"', "ids": 'document.id starts with "acme/"'}
EXPRESSIONS = [
    None,
    "week >= 3",
    'species = "zebrafish"',
    'tenant = "other"',
    'not tenant = "acme"',
    'week = "three"',
    'document.id starts with "other/"',
    "code exists",
    "code > 5",
]


def own_documents() -> list[dict[str, Any]]:
    return [
        {"id": f"acme/{n}", "text": f"{TEXTS[n % 3]} Ticket {n}.", "metadata": {"tenant": "acme", "week": n % 5}}
        for n in range(24)
    ]


def foreign_documents(kind: str) -> list[dict[str, Any]]:
    """Documents out of reach: some by ids of the tenant's form, or of the tenant's name, as the filter leaves room."""
    prefix, tenant = ("other/", "acme") if kind == "ids" else ("acme/x", "other")
    about = {"tenant": tenant, "species": FOREIGN, "week": "three", "code": 7}
    return [
        {"id": f"{prefix}{n}", "text": f"{TEXTS[n % 3]} The {FOREIGN} is late.", "metadata": about} for n in range(30)
    ]


@dataclass(frozen=True)
class World:
    """A server, the tenant's key and token, which have one filter, and a key without any."""

    client: Client
    tenant: tuple[str, str]
    admin: str

    def ask(self, route: Route, path: str, body: object, token: str) -> tuple[int, Any]:
        (method,) = route.methods - {"HEAD"}
        self.client.headers = {"Authorization": f"Bearer {token}"}
        self.client.app.state.backend.store.present("sample")  # a read may be a quarter of a second behind a write
        request = self.client.http.request(method, path, json=body, headers=self.client.headers)
        response = self.client.run(request)
        if response.headers["content-type"].startswith("application/x-ndjson"):  # in the order of segments
            lines = sorted(response.text.splitlines())
            return response.status_code, list(map(json.loads, lines))
        return response.status_code, response.json()


def comparable(answer: Any) -> Any:
    """An answer without what counts or times all writes of a collection, which are the same for everybody."""
    if isinstance(answer, list):
        return [comparable(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    own = {
        "took_ms",
        "generation",
        "match",
        "link",
        "at",
        "created_at",
        "changed_at",
        "candidates",
    }  # of equal ones any is drawn
    found = {key: comparable(value) for key, value in answer.items() if key not in own}
    return found | ({"cursor": found["cursor"] is not None} if "cursor" in found else {})


def made(folder: Path, kind: str, others: list[dict[str, Any]], stack: ExitStack) -> World:
    tokens = {"jwt_issuer": issuer.NAME, "jwt_audience": issuer.AUDIENCE, "jwt_filter_claim": "documents"}
    settings = settings_of(folder).model_copy(update=tokens)
    upgrade(settings.catalog_url)
    with closing(Catalog(settings.catalog_url)) as catalog:
        _, admin = create_key(catalog, "all", ["admin"])
        _, key = create_key(catalog, "tenant", SCOPES, filter=FILTERS[kind])
    token = issuer.token(scope=" ".join(SCOPES), documents=FILTERS[kind], exp=int(time.time()) + 3600)
    client = stack.enter_context(Client(settings))
    keys = {"keys": [issuer.public_key("one")]}
    client.app.state.issuer._jwks = Jwks(issuer.NAME, "https://login.example/keys", fetch=lambda _: keys)
    client.headers = {"Authorization": f"Bearer {admin}"}
    assert client.run(client.http.put(COLLECTION, json={}, headers=client.headers)).status_code == 201
    phrase = {"name": "cancel", "text": "cancel my plan", "threshold": 0.6}
    assert client.post(f"{COLLECTION}/phrases", phrase).status_code == 200
    own = own_documents()
    for batch in (others[:15] + own[:12], own[12:] + others[15:]):  # the tenant's in one order in both worlds
        assert client.post(f"{COLLECTION}/documents", batch).status_code == 200
    return World(client, (key, token), admin)


@dataclass(frozen=True)
class Draw:
    """Random parts of a request; of one about the tenant's ``own`` documents, whatever else is random."""

    random: Random
    kind: str
    own: bool = False

    @property
    def id(self) -> str:
        if self.own:
            return f"acme/{self.random.randrange(24)}"
        foreign = [document["id"] for document in foreign_documents(self.kind)]
        return self.random.choice([self.random.choice(foreign), f"acme/{self.random.randrange(24)}", "acme/none"])

    @property
    def filter(self) -> dict[str, Any]:
        if self.own:
            return {"expression": "week >= 1"}
        expression = self.random.choice(EXPRESSIONS)
        document = self.random.choice([{}, {}, {"species": FOREIGN}, {"week": 2}, {"nowhere": 1}])
        return {"document": document} | ({} if expression is None else {"expression": expression})

    @property
    def query(self) -> dict[str, Any]:
        return {
            "text": self.random.choice(QUERIES),
            "mode": self.random.choice(MODES),
            "filter": self.filter,
            "threshold": self.random.choice([0, 0.5]),
        }

    @property
    def hits(self) -> dict[str, Any]:
        explain, grouped = self.random.random() < 0.3, self.random.choice(["span", "document"])
        return self.query | {"explain": explain, "group_by": grouped}

    @property
    def search(self) -> dict[str, Any]:
        return self.hits | {"total": self.random.random() < 0.5, "top_k": 50, "collection": "sample"}

    @property
    def arranged(self) -> dict[str, Any]:
        keys = ["week", "document.id"] if self.own else ["week:desc", "code", "document.id", "species"]
        arranged = {
            "sort": self.random.choice([None, *keys]),
            "collapse": self.random.choice([None, "text", "tenant"]),
            "counts": self.random.choice([[], ["tenant"], ["week:1,3"], [keys[1]]]),
        }
        return self.search | arranged

    @property
    def filtered(self) -> str:
        expression = None if self.own else self.random.choice(EXPRESSIONS)
        return "" if expression is None else f"?filter={expression}"

    @property
    def span(self) -> dict[str, Any]:
        return {"document_id": self.id, "start": 0, "end": 10}


# Routes that hold the filter of a key, each with a random request to it.
HELD: dict[str, Callable[[Draw], Asked]] = {
    "search": lambda draw: ("/search", draw.arranged),
    "search_batch": lambda draw: ("/search/batch", {"queries": [draw.arranged, draw.search]}),
    "search_collections": lambda draw: ("/search/collections", _several(draw.search)),
    "export_hits": lambda draw: ("/search/export", {"collection": "sample"} | draw.hits),
    "summarize": lambda draw: ("/summarize", {"collection": "sample", "document_ids": [draw.id, "acme/none"]}),
    "restore": lambda draw: ("/restore", {"collection": "sample", "spans": [draw.span]}),
    "list_collections": lambda draw: ("/collections", None),
    "get_collection": lambda draw: (COLLECTION, None),
    "list_documents": lambda draw: (f"{COLLECTION}/documents{draw.filtered}", None),
    "get_document": lambda draw: (f"{COLLECTION}/documents/{draw.id}", None),
    "put_documents": lambda draw: (f"{COLLECTION}/documents", [{"id": draw.id, "text": draw.random.choice(TEXTS)}]),
    "delete_documents_by_filter": lambda draw: (
        f"{COLLECTION}/documents/delete",
        {"filter": draw.filter, "dry_run": draw.random.random() < 0.9},
    ),
    "change_document": lambda draw: (
        f"{COLLECTION}/documents/{draw.id}",
        {"metadata": {"tenant": "other"} if draw.random.random() < 0.3 and not draw.own else {"week": 9}},
    ),
    "delete_documents": lambda draw: (f"{COLLECTION}/documents", {"ids": [draw.id]}),
    "delete_document": lambda draw: (f"{COLLECTION}/documents/{draw.id}", None),
    "export_documents": lambda draw: (f"{COLLECTION}/export{draw.filtered}", None),
    "count_metadata": lambda draw: (f"{COLLECTION}/metadata{draw.filtered}", None),
    "read_matches": lambda draw: (f"{COLLECTION}/matches?limit={draw.random.choice([1, 3, 1000])}", None),
    "preview_threshold": lambda draw: (f"/admin{COLLECTION}/thresholds/preview", _previewed(draw)),
    "propose_label_candidates": lambda draw: (f"/admin{COLLECTION}/label-candidates?phrase=parcel&count=20", None),
}
# Routes that hold it and are asked by numbers or without end, which a test of their own does.
MATCHES = {"get_match", "stream_matches"}
# Routes that read no documents of a collection: texts of the request alone, names, the server's health and its page.
OPEN = {"find_spans", "compare", "make_vectors", "list_aliases", "get_sign_in", "live", "ready", "metrics", "index"}
OPEN |= {"asset"}
WHAT_TO_DO = (
    "The route {name} ({path}) is not classified for keys with a filter, and answered {answer}. If it reads or writes "
    "documents, let it take its filter from `caller.confine(...)` and add a random request to HELD. If it cannot hold "
    "a filter, let it call `caller.require(...)`, and give its body an example that is valid. If it reads no documents "
    "at all, add its name to OPEN."
)


def _several(search: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in search.items() if key != "collection"} | {"collections": ["sample"]}


def _previewed(draw: Draw) -> dict[str, Any]:
    query = draw.query
    return {"phrases": [query["text"]], "mode": query["mode"], "filter": query["filter"], "floor": 0.4}


def routes() -> dict[str, Route]:
    return {route.name: route for route in create_app(Settings(_env_file=None)).state.routes}


@pytest.fixture(
    scope="module", params=["metadata", pytest.param("ids", marks=pytest.mark.slow("other collections and seeds"))]
)
def worlds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, ...]]:
    """The tenant alone, and with others beside; both asked with a key of this kind of filter."""
    kind = request.param
    with ExitStack() as stack:
        alone = made(tmp_path_factory.mktemp("alone"), kind, [], stack)
        shared = made(tmp_path_factory.mktemp("shared"), kind, foreign_documents(kind), stack)
        yield kind, alone, shared


@pytest.mark.parametrize(
    "seed",
    [
        0,
        pytest.param(1, marks=pytest.mark.slow("other collections and seeds")),
        pytest.param(2, marks=pytest.mark.slow("other collections and seeds")),
    ],
)
def test_a_foreign_document_is_as_good_as_missing(worlds: tuple[str, World, World], seed: int) -> None:
    kind, alone, shared = worlds
    random, known = Random(seed), routes()
    answered = set()
    for number, name in enumerate([*HELD, *random.choices(list(HELD), k=40)]):
        path, body = HELD[name](Draw(random, kind, own=seed == 0 and number < len(HELD)))
        (status, own), (of_shared, answer) = (
            world.ask(known[name], path, body, world.tenant[number % 2]) for world in (alone, shared)
        )
        assert (status, comparable(own)) == (of_shared, comparable(answer)), (name, path, body)
        assert f"The {FOREIGN}" not in str(answer), (name, path, body)
        answered |= {name} if status == 200 else set()
    no_answer = {"restore", "summarize"} | ({"put_documents"} if kind == "metadata" else set())
    assert seed or answered >= set(HELD) - no_answer, "every route answers something"
    path = f'{COLLECTION}/documents?filter=species = "{FOREIGN}" and week = "three"'
    _, foreign = shared.ask(known["list_documents"], path, None, shared.admin)
    assert foreign["total"] == len(foreign_documents(kind)), "nothing foreign was changed"


def test_every_other_route_refuses_a_key_with_a_filter(worlds: tuple[str, World, World]) -> None:
    _, _, shared = worlds
    document = shared.client.app.openapi()
    for name, route in routes().items():
        if name in HELD or name in OPEN or name in MATCHES:
            continue
        status, answer = shared.ask(route, _path(document, route), _example(document, route), shared.tenant[0])
        is_refused = status == 403 and answer["code"] in ("key_confined", "forbidden")
        assert is_refused, WHAT_TO_DO.format(name=name, path=route.path, answer=(status, answer))


def test_matches_of_foreign_documents_are_unknown(worlds: tuple[str, World, World]) -> None:
    _, _, shared = worlds
    known = routes()
    _, all_matches = shared.ask(known["read_matches"], f"{COLLECTION}/matches?limit=1000", None, shared.admin)
    _, told = shared.ask(known["read_matches"], f"{COLLECTION}/matches?limit=1000", None, shared.tenant[0])
    own = {event["link"] for event in told["events"]}
    standing = own - {event["link"] for event in told["events"] if event["event"] == "withdrawn"}
    foreign = {event["link"] for event in all_matches["events"] if event["event"] == "matched"} - own
    assert standing
    assert foreign
    for link in [*sorted(standing)[:5], *sorted(own - standing)[:5], *sorted(foreign)[:5]]:
        status, answer = shared.ask(known["get_match"], link, None, shared.tenant[0])
        assert status == (200 if link in standing else 404)
        assert FOREIGN not in str(answer)
    stream = f"{COLLECTION}/matches/stream?wait=0"
    response = shared.client.run(shared.client.http.get(stream, headers=shared.client.headers))
    assert sorted(own) == sorted(set(re.findall(r'"link":"([^"]+)"', response.text)))


def _path(document: dict[str, Any], route: Route) -> str:
    """The path of a request that is valid: with what stands in it, and the parameters that it needs."""
    values = {"collection": "sample", "table": "hits", "number": "1"}
    (method,) = route.methods - {"HEAD"}
    asked = document["paths"].get(route.path_format, {}).get(method.lower(), {}).get("parameters", ())
    queries = [each for each in asked if each["in"] == "query" and each["required"]]
    needed = {each["name"]: each["schema"]["examples"][0] for each in queries}
    path = re.sub(r"\{(\w+)(:\w+)?\}", lambda name: values.get(name[1], "acme"), route.path)
    return f"{path}?{urlencode(needed)}" if needed else path


def _example(document: dict[str, Any], route: Route) -> object:
    """The first example of a route's body of JSON; None without one."""
    (method,) = route.methods - {"HEAD"}
    operation = document["paths"][re.sub(r":\w+", "", route.path)][method.lower()]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    if "example" in content:
        return content["example"]
    schema = content.get("schema", {})
    schema = next((each for each in schema.get("anyOf", ()) if "$ref" in each), schema)
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema.get("examples", [None])[0]
