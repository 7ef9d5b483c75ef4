"""Snapshots that nobody made: those of a collection, with other rows, members or index, and checksums that fit."""

import hashlib
import io
import json
import sqlite3
import tarfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from indexer.archives.archive import CATALOG, INDEX

Change = Callable[[sqlite3.Connection], object]


def members(path: Path) -> dict[str, bytes]:
    """The members of a snapshot, its index first."""
    with tarfile.open(path) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar.getmembers()}  # type: ignore[union-attr]


def forge(
    source: Path,
    target: Path,
    sql: str | Change = "",
    *,
    index: Mapping[str, Any] | None = None,
    files: Mapping[str, bytes | None] | None = None,
) -> Path:
    """Write a snapshot whose rows, index and members are changed; a member that becomes None is left out."""
    held = members(source)
    fields = json.loads(held.pop(INDEX))
    held[CATALOG] = _changed(held[CATALOG], target.with_suffix(".rows"), sql)
    held = {name: data for name, data in (held | dict(files or {})).items() if data is not None}
    entries = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in held.items()}
    body = json.dumps({**fields, "files": entries, **(index or {})}).encode()
    with tarfile.open(target, "w") as tar:
        for name, data in ((INDEX, body), *held.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return target


def _changed(data: bytes, path: Path, change: str | Change) -> bytes:
    path.write_bytes(data)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA foreign_keys=OFF")
        if isinstance(change, str):
            connection.executescript(change)
        else:
            change(connection)
    changed = path.read_bytes()
    path.unlink()
    return changed
