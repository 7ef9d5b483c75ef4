"""The tables can be made, unmade and made again, and are the ones the code believes in."""

import logging
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import JSON, inspect, text

from indexer.catalog import schema
from indexer.catalog.branches import all_tables, branches
from indexer.catalog.collections import Catalog
from indexer.catalog.database import Database
from indexer.catalog.schema import check, downgrade, upgrade
from indexer.catalog.tables import metadata
from indexer.errors import CatalogNotInitialised, CatalogUnavailable
from indexer.types import Recipe
from tests.waiting import PATIENCE_S


def tables(url):
    with closing(Database(url)) as database, database.write() as connection:
        names = inspect(connection).get_table_names()
    return {name for name in names if not name.startswith("alembic_version")}


def execute(url, statement):
    with closing(Database(url)) as database, database.write() as connection:
        connection.execute(text(statement))


def test_up_down_and_up_again(empty_url):
    upgrade(empty_url)
    assert tables(empty_url) == {table.name for table in all_tables()}
    downgrade(empty_url, "base")
    assert tables(empty_url) == set()
    upgrade(empty_url)
    assert tables(empty_url) == {table.name for table in all_tables()}


def test_migrations_make_exactly_the_tables_of_the_code(url):
    with closing(Database(url)) as database, database.write() as connection:
        options = {"compare_type": True, "compare_server_default": _defaults_differ}
        context = MigrationContext.configure(connection, opts=options)
        changes = compare_metadata(context, metadata)
    versions = {branch.version_table for branch in branches()}
    assert [each for each in changes if not (each[0] == "remove_table" and each[1].name in versions)] == []


def _defaults_differ(context, inspected, column, *defaults):
    """False for JSON, which PostgreSQL does not compare; the DDL itself is compared below. Else alembic compares."""
    return False if isinstance(column.type, JSON) else None


def test_migrations_make_the_constraints_and_collations_of_the_code(empty_url, backend):
    """What autogenerate does not compare: the DDL itself, but for the order in which tables come."""
    upgrade(empty_url)
    migrated = _described(empty_url, backend)
    downgrade(empty_url, "base")
    with closing(Database(empty_url)) as database, database.write() as connection:
        metadata.create_all(connection)
    assert _described(empty_url, backend) == migrated


def _described(url, backend):
    sqlite = "SELECT sql FROM sqlite_master WHERE name NOT LIKE '%alembic_version%' ORDER BY name"
    postgresql = (
        "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, collation_name"
        " FROM information_schema.columns WHERE table_schema = 'public' AND table_name NOT LIKE '%alembic_version%'"
        " UNION ALL SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), 0, '', ''"
        " FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conname NOT LIKE 'alembic%'"
        " ORDER BY 1, 2"
    )
    with closing(Database(url)) as database, database.write() as connection:
        rows = connection.execute(text(sqlite if backend == "sqlite" else postgresql)).all()
    # SQLite keeps the words of the statement: neither white space nor the order of constraints matters.
    return [tuple(sorted(re.sub("[,()]", " ", str(cell)).split()) if cell else "" for cell in row) for row in rows]


def test_upgrading_twice_keeps_what_is_there(url):
    with closing(Catalog(url)) as catalog:
        catalog.create_collection("calls", Recipe("hashing", "f1", 64))
        upgrade(url)
        assert catalog.collection("calls").name == "calls"


def test_details_of_nuggets_move_into_one_column_and_back(empty_url):
    upgrade(empty_url)
    downgrade(empty_url, "0006")
    plain, with_nuggets = "'[\"units\"]', NULL, NULL, NULL", "'[\"units\", \"nuggets\"]', 'n1@é', 384, 0.1"
    for number, values in enumerate((plain, with_nuggets)):
        execute(
            empty_url,
            "INSERT INTO collections (id, name, encoder, fingerprint, dim, shortest, longest, generation, created_at,"
            " representations, nugget_fingerprint, nugget_dim, nugget_ratio)"
            f" VALUES ('{number}', 'c{number}', 'slice', 'f1', 384, 1, 20, 0, '2026-01-01 00:00:00', {values})",
        )
    upgrade(empty_url)
    with closing(Catalog(empty_url)) as catalog:
        recipes = [collection.recipe for collection in catalog.collections()]
    nuggets = {"fingerprint": "n1@é", "dim": 384, "ratio": 0.1}
    old = Recipe("slice", "f1", 384, text="text.v1")
    assert recipes == [old, replace(old, details={"nuggets": nuggets})]
    downgrade(empty_url, "0006")
    with closing(Database(empty_url)) as database, database.write() as connection:
        statement = text("SELECT representations, nugget_fingerprint, nugget_ratio FROM collections ORDER BY id")
        columns = [(re.findall("[a-z]+", str(row[0])), *row[1:]) for row in connection.execute(statement)]
    assert columns == [(["units"], None, None), (["units", "nuggets"], "n1@é", 0.1)]


@pytest.mark.ci("PostgreSQL")
def test_upgrades_in_several_processes_at_once_make_the_tables_once(empty_url):
    code = "import sys; from indexer.catalog.schema import upgrade; upgrade(sys.argv[1])"
    children = [subprocess.Popen([sys.executable, "-c", code, empty_url]) for _ in range(2)]
    assert [child.wait(PATIENCE_S) for child in children] == [0, 0]
    assert tables(empty_url) == {table.name for table in all_tables()}


def test_upgrades_in_several_threads_at_once_make_the_tables_once(empty_url):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(upgrade, [empty_url] * 4))
    assert tables(empty_url) == {table.name for table in all_tables()}


def test_an_upgrade_that_fails_half_way_leaves_nothing_behind(empty_url):
    execute(empty_url, "CREATE TABLE keys (id INTEGER)")  # the last table that the migration makes
    with pytest.raises(Exception, match="keys"):
        upgrade(empty_url)
    assert tables(empty_url) == {"keys"}


def test_check_passes_when_the_tables_are_up_to_date(catalog):
    check(catalog)


def test_check_says_what_to_do_when_there_are_no_tables(empty_url):
    with closing(Catalog(empty_url)) as catalog:
        with pytest.raises(CatalogNotInitialised, match="no tables") as caught:
            check(catalog)
        assert "spanseek init-db" in caught.value.hint
        with pytest.raises(CatalogNotInitialised) as caught:
            catalog.collections()
        assert "spanseek init-db" in caught.value.hint


def test_check_refuses_tables_of_another_version(empty_url):
    upgrade(empty_url)
    execute(empty_url, "UPDATE alembic_version SET version_num = 'from the future'")
    with closing(Catalog(empty_url)) as catalog, pytest.raises(CatalogNotInitialised, match="from the future"):
        check(catalog)


def test_check_says_that_nobody_answers():
    catalog = Catalog("postgresql://ann:secret@127.0.0.1:1/spanseek")
    with closing(catalog), pytest.raises(CatalogUnavailable, match="at postgresql") as caught:
        check(catalog)
    assert "secret" not in str(caught.value)


def test_migrating_leaves_logging_alone(empty_url):
    before = [*logging.root.handlers], logging.root.level, logging.getLogger("alembic").level
    upgrade(empty_url)
    assert ([*logging.root.handlers], logging.root.level, logging.getLogger("alembic").level) == before


def test_the_version_that_is_checked_is_the_newest_revision() -> None:
    assert ScriptDirectory.from_config(schema._config()).get_heads() == [schema.VERSION]
    for branch in branches():
        assert ScriptDirectory.from_config(schema._config(None, branch)).get_heads() == [branch.version]
