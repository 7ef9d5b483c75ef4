"""The fixtures of the core's tests: catalogs, a server asked in this process, and the command line."""

from tests.e2e.conftest import calls, data, run
from tests.faults.conftest import copies, filled
from tests.integration.conftest import (
    backend,
    catalog,
    clock,
    empty_url,
    migrated_postgres,
    migrated_sqlite,
    postgres,
    url,
)
from tests.integration.http.conftest import built, make_key, postgresql, problem_fixture, settings, start

__all__ = [
    "backend",
    "built",
    "calls",
    "catalog",
    "clock",
    "copies",
    "data",
    "empty_url",
    "filled",
    "make_key",
    "migrated_postgres",
    "migrated_sqlite",
    "postgres",
    "postgresql",
    "problem_fixture",
    "run",
    "settings",
    "start",
    "url",
]
