"""Atomic file replacement: readers see the old content or the new one, never a part."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to; on exit, the file is synced and renamed to ``path``.

    After an error ``path`` is unchanged, and the partial file is removed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as partial:
    ...         _ = partial.write_text("whole")
    ...     [(each.name, each.read_text()) for each in Path(folder).iterdir()]
    [('a.txt', 'whole')]
    """
    partial = path.with_name(f"{path.name}.partial-{secrets.token_hex(4)}")
    try:
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
