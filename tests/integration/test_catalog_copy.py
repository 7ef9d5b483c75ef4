"""A catalog is copied whole, from SQLite and from PostgreSQL, at one moment."""

from contextlib import closing
from pathlib import Path

from sqlalchemy import select

from indexer.catalog.collections import Catalog
from indexer.catalog.copying import copy_catalog
from indexer.catalog.keys import create_key, list_keys
from indexer.catalog.leases import lease
from indexer.catalog.tables import leases
from indexer.types import Recipe


def test_all_rows_but_leases_are_copied(catalog: Catalog, tmp_path: Path, put) -> None:
    catalog.create_collection("c", Recipe("hashing", "f1", dim=64))
    create_key(catalog, "web", ["search"])
    with lease(catalog, "c") as held:
        put(catalog, held, "a", "b", segment="s1")
        put(catalog, held, "b", "c", segment="s2")
        url = copy_catalog(catalog, tmp_path / "copy.sqlite3")
    with closing(Catalog(url)) as copy:
        assert copy.collections() == catalog.collections()
        assert [key.name for key in list_keys(copy)] == ["web"]
        before, after = catalog.live_generation("c"), copy.live_generation("c")
        assert [live.info for live in after.segments] == [live.info for live in before.segments]
        assert [live.tombstones.tolist() for live in after.segments] == [[1], []]
        with copy.database.read() as connection:
            assert connection.execute(select(leases)).all() == []
