"""A store that is thrown away after use: evaluations index into it as any job would."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from indexer.catalog import schema
from indexer.catalog.collections import Catalog
from indexer.store import Store


@contextmanager
def scratch_store() -> Iterator[Store]:
    """An empty store in a temporary folder.

    >>> with scratch_store() as store:
    ...     store.catalog.collections()
    ()
    """
    with TemporaryDirectory(prefix="spanseek-") as folder:
        url = f"sqlite:///{folder}/catalog.sqlite3"
        schema.upgrade(url)
        with closing(Catalog(url)) as catalog:
            yield Store(Path(folder), catalog)
