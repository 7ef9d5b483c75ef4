"""Back up a store while it is being written to.

The catalog is copied at one moment, then the segments that it names. Merges may remove such a segment meanwhile, so all
of them are pinned by hard links first, which takes milliseconds; what was removed even before that makes the backup
begin again. Searches and writers are not blocked.
"""

import os
import secrets
import shutil
from dataclasses import dataclass
from errno import EEXIST, ENOTDIR, ENOTEMPTY
from pathlib import Path

from indexer.archives.pins import copy_and_pin
from indexer.process_folders import process_folder
from indexer.store import Store
from models.atomic import fsync_tree, make_folder, rename
from models.errors import InvalidInput

CATALOG = "catalog.sqlite3"
COLLECTIONS = "collections"
WHITENINGS = "whitenings"
PINS = "backup-pins"


@dataclass(frozen=True, slots=True)
class Backup:
    """The contents of a backup."""

    folder: Path
    collections: int
    segments: int
    bytes: int


def back_up(store: Store, folder: Path) -> Backup:
    """Copy a store to a new folder that works as a data folder. What is acknowledged before the call is in it.

    Raises ``InvalidInput`` for a folder that exists and is not empty, or lies in the data folder, and ``BackupFailed``
    where segments keep disappearing. A backup whose process was killed has the ending ``.part``.
    """
    final = folder.resolve()
    if final.is_relative_to(store.data_dir.resolve()):
        raise InvalidInput(f"{folder} lies in the data folder.", hint="Name a folder outside of it.", field="folder")
    if final.exists() and (not final.is_dir() or any(final.iterdir())):
        raise _not_empty(final)
    part = final.with_name(f"{final.name}.{secrets.token_hex(4)}.part")
    make_folder(part)
    try:
        segments = _fill(store, part)
        fsync_tree(part)
        _move(part, final)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    collections = len({segment.parent for segment in segments})
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Backup(folder, collections, len(segments), size)


def _move(part: Path, folder: Path) -> None:
    """Rename the backup, unless others have written to the folder meanwhile."""
    try:
        rename(part, folder)
    except OSError as error:
        if error.errno in (EEXIST, ENOTDIR, ENOTEMPTY):
            raise _not_empty(folder) from error
        raise


def _not_empty(folder: Path) -> InvalidInput:
    return InvalidInput(f"{folder} is not an empty folder.", hint="Name a new folder.", field="folder")


def _fill(store: Store, part: Path) -> list[Path]:
    """Copy everything; returns the segments, relative to the folder of collections."""
    # Where the store cannot be written, pins are copies.
    writable = store.data_dir if os.access(store.data_dir, os.W_OK) else part
    with process_folder(writable / PINS) as pins:
        copied = copy_and_pin(store, part / CATALOG, lambda collection: pins / collection.id)
        segments = [Path(collection.id) / live.info.name for collection, each in copied for live in each.segments]
        for segment in segments:
            shutil.copytree(pins / segment, part / COLLECTIONS / segment)
    shutil.rmtree(part / PINS, ignore_errors=True)
    if (store.data_dir / WHITENINGS).is_dir():
        shutil.copytree(store.data_dir / WHITENINGS, part / WHITENINGS)
    return segments
