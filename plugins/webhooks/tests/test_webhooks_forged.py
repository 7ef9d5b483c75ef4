"""Snapshots that nobody made, with webhooks."""

import sqlite3
from pathlib import Path
from typing import Any

from indexer.archives.create import create_archive
from indexer.archives.restore import restore_archive
from spanseek_webhooks.rows import list_webhooks
from tests.forging import forge
from tests.workspace import Workspace, document


def test_a_webhook_that_somebody_put_into_a_snapshot_is_not_restored(tmp_path: Path) -> None:
    """It would send the texts of the restored collection to whoever made the snapshot."""

    def planted(connection: sqlite3.Connection) -> None:
        columns = connection.execute("SELECT name, type FROM pragma_table_info('webhooks')").fetchall()
        values: dict[str, Any] = dict.fromkeys((name for name, _ in columns), 0)
        values |= {"id": "a" * 16, "url": "https://evil.example/", "phrases": "[]", "tags": "[]", "matches": 1}
        values["collection_id"] = connection.execute("SELECT id FROM collections").fetchone()[0]
        values |= dict.fromkeys(("created_at", "changed_at"), "2026-01-01 00:00:00.000000")
        names, places = ", ".join(values), ", ".join("?" for _ in values)
        connection.execute(f"INSERT INTO webhooks ({names}) VALUES ({places})", list(values.values()))

    with Workspace(tmp_path / "data") as made:
        made.index([document("a", "Where is my parcel?")])
        create_archive(made.store, "c", tmp_path / "good.tar")
        forged = forge(tmp_path / "good.tar", tmp_path / "forged.tar", planted)
        restored = restore_archive(made.store, forged, "planted")
        assert list_webhooks(made.catalog, restored.name) == ()
