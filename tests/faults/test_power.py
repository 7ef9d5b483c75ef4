"""The power fails at any moment, and the disk has lost what was not synced: what was promised is there all the same."""

import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from indexer.process_folders import ALIVE
from tests.faults.crashing import Victim
from tests.faults.operations import chosen
from tests.faults.places import ON_SQLITE, ROUNDS, Place
from tests.faults.power import Disk, Outages
from tests.faults.surviving import assert_kept, assert_recovers, prepared, states

_SHORT, _LONG = 2, 50


@pytest.mark.timeout(7200)
@ON_SQLITE
@pytest.mark.parametrize("name", chosen("ingestion", "restore"))
def test_power_fails(name: str, copies: Any, tmp_path: Path) -> None:
    copy = copies(prepared(name))
    expected = states(copy, name)
    with copy() as place:
        moments = len(Victim(place, name, tmp_path / "notes").end().moments)
    images = _LONG * ROUNDS or _SHORT
    with copy() as place:
        Victim(place, name, tmp_path / "notes", Outages(tmp_path / "images", images, moments, seed=44)).end()
    built = sorted((tmp_path / "images").iterdir())
    assert len(built) == images
    for folder in built:
        _, done, _ = folder.name.split("-", 2)
        two_days_later(folder)
        with Place(folder).services() as services:
            assert_kept(services, expected, int(done), f"{name}: {folder.name}")
            assert_recovers(services, name, expected, f"{name}: {folder.name}")
        shutil.rmtree(folder)


def two_days_later(folder: Path) -> None:
    """Folders of backups, snapshots and restores that have lost their locks may be of others for a day."""
    then = time.time() - 2 * 86_400
    for name in ("restoring", "snapshot-pins", "backup-pins"):
        for each in (folder / name).glob("*/"):
            if not (each / ALIVE).exists():
                os.utime(each, (then, then))


def test_what_was_not_synced_may_be_lost(tmp_path: Path) -> None:
    """The model itself: a synced file in a synced folder stays, and every other one may be gone, zeroed or torn."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "old").write_bytes(b"old")
    disk, found = Disk(root), set()
    (root / "old").rename(root / "renamed")
    (root / "new").write_bytes(b"new")
    for number in range(60):
        disk.fail(tmp_path / f"a{number}", random.Random(number))
        found.add(frozenset((path.name, path.read_bytes()) for path in (tmp_path / f"a{number}").iterdir()))
    olds = ({("old", b"old")}, {("renamed", b"old")})
    news: tuple[set[tuple[str, bytes]], ...] = (set(), *({("new", body)} for body in (b"", b"new", bytes(3))))
    assert found == {frozenset(old | new) for old in olds for new in news}
    disk.synced(root / "new")
    disk.synced(root)
    disk.fail(tmp_path / "b", random.Random(0))
    assert {path.name: path.read_bytes() for path in (tmp_path / "b").iterdir()} == {"renamed": b"old", "new": b"new"}
