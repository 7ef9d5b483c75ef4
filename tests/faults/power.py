"""A power failure: folders as a disk may have them that lost, zeroed or reordered all that was not synced.

The disk has what was synced: the contents of a file, and the entries of a folder, each at its last fsync. Whatever was
changed since may be there or not, every entry and every page of a file for itself. Only a rename within a folder is
there as a whole or not at all, as on every file system with a journal. Files of SQLite are as they are now: it syncs
each commit itself, and recovers from what it has not.
"""

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.faults.places import Place

_PAGE: Final = 4096
_CATALOG: Final = "catalog.sqlite3"


@dataclass
class Outages:
    """A watcher that builds ``images`` of a power failure at random failpoints, with the steps that were done.

    An image is a folder ``NUMBER-DONE-MOMENT`` below ``folder``.
    """

    folder: Path
    images: int
    moments: int  # of an operation, as counted before
    seed: int

    def begin(self, place: Place) -> None:
        self._disk = Disk(place.folder)
        self._random = random.Random(self.seed)
        chosen = self._random.choices(range(1, self.moments + 1), k=self.images)
        self._images = {number: chosen.count(number) for number in chosen}

    def reached(self, number: int, moment: str, path: Path, done: int) -> None:
        if moment == "after fsync":
            self._disk.synced(path)
        for image in range(self._images.get(number, 0)):
            name = f"{number:04d}.{image}-{done}-{moment.replace(' ', '_')}"
            self._disk.fail(self.folder / name, self._random)


class Disk:
    """What is on the disk for certain, by inode; all that lies in the folder at first is."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._contents: dict[int, bytes] = {}
        self._entries: dict[int, dict[str, int]] = {}
        self._held: dict[int, int] = {}  # open files: the number of one that is removed is not used again meanwhile
        for folder, _, names in os.walk(root):
            for name in names:
                self.synced(Path(folder) / name)
            self.synced(Path(folder))

    def synced(self, path: Path) -> None:
        """What this file, or this folder, has now is on the disk."""
        if not path.exists():
            return
        inode = path.stat().st_ino
        self._hold(path, inode)
        if path.is_dir():
            self._entries[inode] = self._named(path)
        else:
            self._contents[inode] = path.read_bytes()

    def fail(self, target: Path, chance: random.Random) -> None:
        """Build the folder as it may be after the power failed now."""
        present = {path.stat().st_ino: path for path in (self._root, *self._root.rglob("*")) if path.exists()}
        kept = chance.choice([0.0, 0.5, 1.0])  # of the entries that were changed since
        self._folder(self._root.stat().st_ino, target, present, kept, chance)
        for path in self._root.glob(f"{_CATALOG}*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, target / path.name)

    def _hold(self, path: Path, inode: int) -> None:
        if inode not in self._held:
            self._held[inode] = os.open(path, os.O_RDONLY)

    def _named(self, folder: Path) -> dict[str, int]:
        named = {}
        for entry in os.scandir(folder):
            self._hold(Path(entry.path), entry.inode())
            named[entry.name] = entry.inode()
        return named

    def _folder(self, inode: int, target: Path, present: dict[int, Path], kept: float, chance: random.Random) -> None:
        target.mkdir(parents=True)
        for name, entry in self._surviving(inode, present, kept, chance).items():
            path = present.get(entry)
            if entry in self._entries or (path is not None and path.is_dir()):
                self._folder(entry, target / name, present, kept, chance)
            elif not (inode == self._root.stat().st_ino and name.startswith(_CATALOG)):
                (target / name).write_bytes(self._content(entry, path, chance))

    def _surviving(self, inode: int, present: dict[int, Path], kept: float, chance: random.Random) -> dict[str, int]:
        """The entries of a folder: those that were synced, less and more what happened since."""
        old = self._entries.get(inode, {})
        new = self._named(present[inode]) if inode in present else old
        renamed = {each: chance.random() < kept for each in {*old.values()} & {*new.values()}}
        entries = {}
        for name in sorted({*old, *new}):
            before, after = old.get(name), new.get(name)
            moved = next((renamed[each] for each in (after, before) if each in renamed), None)
            entry = after if (chance.random() < kept if moved is None else moved) else before
            if entry is not None:
                entries[name] = entry
        return entries

    def _content(self, inode: int, path: Path | None, chance: random.Random) -> bytes:
        synced = self._contents.get(inode, b"")
        written = synced if path is None else path.read_bytes()
        if written == synced:
            return synced
        way = chance.choice(["dropped", "written", "zeroed", "torn"])
        if way in ("dropped", "written"):
            return synced if way == "dropped" else written
        pages = (slice(begin, begin + _PAGE) for begin in range(0, len(written), _PAGE))
        zeros = bytes(_PAGE)
        choices = [lambda page: zeros[: len(written[page])]]
        choices += [] if way == "zeroed" else [lambda page: written[page], lambda page: synced[page]]
        return b"".join(
            written[page] if written[page] == synced[page] else chance.choice(choices)(page) for page in pages
        )
