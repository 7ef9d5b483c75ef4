"""Notice when the catalog's file or the data folder is removed or replaced under a running process.

Open files outlive their names: without this check, writes would be acknowledged into a deleted file.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from indexer.errors import DataFolderLost


class WatchedPath:
    """A file or folder that must stay the same one from the first ``remember`` that sees it.

    A folder is kept open, so that no new folder gets its inode number. A file is not: closing a file of SQLite would
    release the locks that the process has on it. The connections keep it open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._first: os.stat_result | None = None
        self._folder: int | None = None

    def remember(self) -> None:
        """Note which file or folder is there, unless one was noted before."""
        if self._first is None:
            self._first = _stat(self._path)
            if self._first is not None and stat.S_ISDIR(self._first.st_mode):
                with suppress(OSError):
                    self._folder = os.open(self._path, os.O_RDONLY)

    def check(self) -> None:
        """Raise ``DataFolderLost`` unless the path names what was noted. Costs two system calls at most."""
        if self._first is None:
            return
        present = _stat(self._path)
        # Compared as it is now: some file systems number a folder anew while it is open.
        first = self._first if self._folder is None else os.fstat(self._folder)
        if present is None or not os.path.samestat(present, first):
            raise DataFolderLost(
                f"{self._path} was {'removed' if present is None else 'replaced'} while this process was using it.",
                hint="Put it back, and this process uses it again. To use what is there now, restart the process.",
            )

    def close(self) -> None:
        """Close the folder."""
        folder, self._folder, self._first = self._folder, None, None
        if folder is not None:
            os.close(folder)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
