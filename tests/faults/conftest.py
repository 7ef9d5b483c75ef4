"""A store that is filled once, on SQLite and on PostgreSQL, and copied for every round."""

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.places import Place, fill
from tests.integration.conftest import PostgresServer, postgres  # noqa: F401  a fixture

# ``with copy() as place`` gives a copy of a store, any number.
Copy = Callable[[], AbstractContextManager[Place]]


@dataclass(frozen=True)
class Filled:
    """A store that stays as it is, and the name of its database."""

    place: Place
    server: PostgresServer | None
    database: str

    @contextmanager
    def copied(self, parent: Path) -> Iterator["Filled"]:
        """A copy, removed at the end."""
        folder = parent / uuid.uuid4().hex
        with _database(self.server, self.database) as (name, url):
            shutil.copytree(self.place.folder, folder)
            try:
                yield Filled(Place(folder, url), self.server, name)
            finally:
                shutil.rmtree(folder)


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow("PostgreSQL"))])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    server = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    with _database(server) as (name, url):
        place = Place(tmp_path_factory.mktemp("filled"), url)
        fill(place)
        yield Filled(place, server, name)


@pytest.fixture
def copies(filled: Filled, tmp_path: Path) -> Iterator[Callable[..., Copy]]:
    """``copy = copies(prepare)`` gives copies of the store after ``prepare``, a function of a place."""
    with ExitStack() as stack:

        def make(prepare: Callable[[Place], object] = lambda place: None) -> Copy:
            prepared = stack.enter_context(filled.copied(tmp_path))
            prepare(prepared.place)

            @contextmanager
            def copy() -> Iterator[Place]:
                with prepared.copied(tmp_path) as made:
                    yield made.place

            return copy

        yield make


@contextmanager
def _database(server: PostgresServer | None, template: str = "template0") -> Iterator[tuple[str, str]]:
    """A new database, as another one is; none for SQLite, whose file lies in the data folder."""
    if server is None:
        yield "", ""
        return
    name = f"faults_{uuid.uuid4().hex}"
    server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield name, server.url(name)
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")
