"""A small collection, and the application over it, asked through ASGI in this process."""

import asyncio
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from pydantic import TypeAdapter

from app.http.app import create_app
from app.services import open_store
from app.settings import Settings
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import create_key
from indexer.catalog.schema import upgrade
from indexer.engine.executor import Executor
from indexer.indexing.pipeline import IndexJob
from indexer.types import Recipe
from models.encoders.registry import load_encoder
from models.types import Document, Part, SpanBounds
from plugins.ray.tests.shared_cluster import CLUSTER
from tests.waiting import PATIENCE_S

Answer = TypeVar("Answer")
# TEST_EXECUTOR=ray asks all routes of a server whose segments are read by a cluster.
EXECUTOR = CLUSTER if os.environ.get("TEST_EXECUTOR") == "ray" else None

DOCUMENTS = [
    Document(
        "call-1",
        (
            Part("Good morning, how can I help?", {"speaker": "agent"}),
            Part("I want to cancel my subscription 😀 right now, please.", {"speaker": "customer"}),
        ),
        {"kind": "call", "year": 2024, "open": True},
    ),
    Document(
        "call-2",
        (
            Part("😀👩‍👩‍👧 My parcel never came.", {"speaker": "customer"}),
            Part("Please cancel my subscription as well.", {"speaker": "customer"}),
        ),
        {"kind": "call", "year": 2023, "open": False, "note": None},
    ),
    Document("contract-1", (Part("Either party may cancel the agreement in writing."),), {"kind": "contract"}),
    *(Document(f"filler-{n}", (Part(f"Ticket number {n} says that router {n} is slow."),)) for n in range(40)),
]


def settings_of(data_dir: Path, database_url: str = "") -> Settings:
    # Deadlines that a busy machine meets; tests of deadlines set their own.
    return Settings(
        _env_file=None,
        data_dir=data_dir,
        encoder="hashing",
        database_url=database_url,
        deadline_s=120,
        write_deadline_s=300,
    )


def build(data_dir: Path, documents: Sequence[Document] = DOCUMENTS, database_url: str = "") -> Settings:
    """Settings of a data folder that holds the documents as the collection ``sample``."""
    settings = settings_of(data_dir, database_url)
    upgrade(settings.catalog_url)
    store, encoder = open_store(settings), load_encoder("hashing")
    with closing(store.catalog):
        recipe = Recipe("hashing", encoder.fingerprint, encoder.dim, SpanBounds(1, 8))
        IndexJob(store, encoder, store.catalog.create_collection("sample", recipe)).run(documents)
    return settings


@cache
def documented() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """The paths of the OpenAPI document as patterns, those with fewer parameters first, and what each documents."""
    paths: dict[str, dict[str, Any]] = create_app(Settings(_env_file=None)).openapi()["paths"]
    ordered = sorted(paths, key=lambda path: path.count("{"))
    return [(re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), paths[path]) for path in ordered]


async def check_documented(response: httpx.Response) -> None:
    """Every answer of any test: its status is documented for its route, and it has a request id."""
    assert response.headers["x-request-id"]
    path = response.request.url.raw_path.partition(b"?")[0].decode()
    method = response.request.method.lower().replace("head", "get")
    for pattern, item in documented():
        if pattern.fullmatch(path) and method in item:
            statuses = item[method]["responses"]
            assert str(response.status_code) in statuses, f"{method} {path}: {response.status_code}"
            return


class Client:
    """An application, started; every request runs the event loop until it is answered."""

    def __init__(self, settings: Settings, executor: Executor | None = None) -> None:
        self.settings = settings
        self.app = create_app(settings, executor=executor or EXECUTOR)
        self.headers: dict[str, str] = {}
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()

    def __enter__(self) -> "Client":
        with pytest.MonkeyPatch.context() as patched:  # a busy machine takes longer to be ready than probes wait
            patched.setattr("app.http.readiness._MAX_WAIT_S", PATIENCE_S)
            self._runner.run(self._stack.enter_async_context(self.app.router.lifespan_context(self.app)))
        transport = httpx.ASGITransport(self.app)
        self.http = httpx.AsyncClient(
            transport=transport, base_url="http://localhost", event_hooks={"response": [check_documented]}
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self.http.aclose())
        self._runner.run(self._stack.aclose())
        self._runner.close()

    def run(self, coroutine: Any) -> Any:
        return self._runner.run(coroutine)

    def get(self, path: str) -> httpx.Response:
        return self.run(self.http.get(path, headers=self.headers))

    def post(self, path: str, body: object) -> httpx.Response:
        return self.run(self.http.post(path, json=body, headers=self.headers))

    def post_raw(self, path: str, content: Any, content_type: str = "application/json") -> httpx.Response:
        headers = self.headers | {"Content-Type": content_type}
        return self.run(self.http.post(path, content=content, headers=headers))

    def search(self, **body: object) -> dict[str, Any]:
        response = self.post("/search", {"collection": "sample"} | body)
        assert response.status_code == 200, response.text
        return response.json()

    def refused(self, status: int, code: str, **body: object) -> dict[str, Any]:
        return problem(self.post("/search", {"collection": "sample"} | body), status, code)


def problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The answer's body, once it is a proper problem of this status and code."""
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    body = response.json()
    assert (body["status"], body["code"], body["type"]) == (status, code, f"urn:spanseek:error:{code}")
    assert body["title"]
    assert body["detail"]
    return body


def read_answer(kind: type[Answer], response: httpx.Response) -> Answer:
    """The answer's dataclass, once the body is valid for it."""
    assert response.status_code == 200, response.text
    return TypeAdapter(kind).validate_json(response.content, strict=True)


Problem = Callable[[httpx.Response, int, str], dict[str, Any]]


@pytest.fixture(name="problem")
def problem_fixture() -> Problem:
    return problem


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def postgresql(request: pytest.FixtureRequest) -> Any:
    """Every test runs on both catalogs: None stands for SQLite, else the server of PostgreSQL."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres")


@pytest.fixture
def sqlite(postgresql: Any) -> None:
    """For tests of SQLite's own files."""
    if postgresql is not None:
        pytest.skip("PostgreSQL has no files in the data folder")


@pytest.fixture(scope="session")
def built(postgresql: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    folder = tmp_path_factory.mktemp("data")
    if postgresql is None:
        yield build(folder)
        return
    postgresql.execute("CREATE DATABASE http_built TEMPLATE template0")
    built = build(folder, database_url=postgresql.url("http_built"))
    # A database is copied only while nobody is connected to it, and a client of this one runs through the session.
    postgresql.execute("CREATE DATABASE http_copied TEMPLATE http_built")
    yield built
    for name in ("http_copied", "http_built"):  # made again where tests of another catalog come between
        postgresql.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def settings(postgresql: Any, built: Settings, tmp_path: Path) -> Iterator[Settings]:
    """The collection in a folder and a catalog of the test's own, to be changed at will."""
    shutil.copytree(built.data_dir, tmp_path / "data")
    if postgresql is None:
        yield settings_of(tmp_path / "data")
        return
    name = f"http_{uuid.uuid4().hex}"
    postgresql.execute(f"CREATE DATABASE {name} TEMPLATE http_copied")
    yield settings_of(tmp_path / "data", postgresql.url(name))
    postgresql.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def empty_settings(tmp_path: Path) -> Settings:
    """A data folder that is not there yet."""
    return settings_of(tmp_path / "data")


StartClient = Callable[..., Client]


@pytest.fixture
def start() -> Iterator[StartClient]:
    """``start(settings, executor)`` is a client of an application that runs until the test ends."""
    with ExitStack() as stack:
        yield lambda settings, executor=None: stack.enter_context(Client(settings, executor))


@pytest.fixture(scope="session")
def client(built: Settings) -> Iterator[Client]:
    """One application for all tests that only search."""
    with Client(built) as started:
        yield started


@pytest.fixture
def make_key(settings: Settings) -> Callable[..., str]:
    """``make_key("search", collections=["sample"])`` is a new token."""

    def make_key(*scopes: Any, collections: list[str] | None = None) -> str:
        with closing(Catalog(settings.catalog_url)) as catalog:
            return create_key(catalog, "test", scopes, collections)[1]

    return make_key


@pytest.fixture(scope="session")
def documents() -> dict[str, Document]:
    return {document.id: document for document in DOCUMENTS}
