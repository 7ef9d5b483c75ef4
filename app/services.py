"""The registry of services, and what it makes them of: settings, a store and encoders.

A service is a class with a class method ``of``. The registry knows none by name, so that commands import only what they
call: numba and FAISS take seconds.
"""

from collections.abc import Callable
from functools import partial
from threading import RLock
from typing import Any, Protocol, Self, TypeVar, cast

from app.encoders.encoders import Encoders
from app.settings import CATALOG_FILE, EXECUTOR_OF, Settings
from indexer.catalog.collections import Catalog
from indexer.engine.executor import Executor, ExecutorOptions
from indexer.engine.executor import make_executor as executor_named
from indexer.errors import CatalogNotInitialised
from indexer.machine import use_device
from indexer.patience import Busy, Patience
from indexer.segments.options import SegmentsOptions, make_segments
from indexer.store import Store
from models.encoders.registry import load_span_score


def require_data_folder(settings: Settings, *, create: bool = False) -> None:
    """Raise ``CatalogNotInitialised``, and make nothing, if the data folder is to be there and is not.

    It holds the catalog, unless that is in PostgreSQL. With ``create`` the default folder may be new. One that is named
    must be there: its name may be misspelt.
    """
    is_named = "data_dir" in settings.model_fields_set
    if (create or settings.database_url) and not is_named:
        return
    missing, is_missing = "data folder", not settings.data_dir.exists()
    if not settings.database_url and not settings.data_dir.is_file():  # of a file, opening the catalog says so
        missing, is_missing = "catalog in the data folder", not (settings.data_dir / CATALOG_FILE).exists()
    if is_missing:
        raise CatalogNotInitialised(
            f"There is no {missing} {settings.data_dir.absolute()}",
            hint="Check SPANSEEK_DATA_DIR; `spanseek init-db` makes a new data folder.",
        )


def open_store(
    settings: Settings, executor: Executor | None = None, *, patience: Callable[[], Busy] | None = None
) -> Store:
    """The collections of the data folder, with the catalog that lists them. The caller closes the store.

    ``executor`` and ``patience``, that of a writer with others, replace those that the settings name.
    """
    use_device(settings.device)
    segments = make_segments(segments_options(settings))
    patience = patience or partial(Patience, settings.lease_wait_s)
    catalog = Catalog(settings.catalog_url, data_dir=settings.data_dir, patience=patience)
    return Store(
        settings.data_dir,
        catalog,
        grace_s=settings.grace_s,
        candidates_from=settings.candidates_from,
        withdrawn_s=settings.withdrawn_days * 86_400,
        open_segments=settings.open_segments,
        segments=segments,
        span_scores=partial(load_span_score, settings.encoder_options),
        executor=lambda: executor or make_executor(settings),
    )


def segments_options(settings: Settings) -> SegmentsOptions:
    """The place of segments by the settings: the data folder, or a bucket."""
    network = settings.network_mounts
    if not settings.segments_url:
        return SegmentsOptions(settings.data_dir / "collections", network=network)
    cache_bytes = round(settings.segments_cache_gb * 2**30)
    return SegmentsOptions(settings.cache_folder, settings.segments_url, cache_bytes, network)


def make_executor(settings: Settings) -> Executor:
    """The executor that the settings name. Raises ``ExecutorUnavailable``."""
    options = ExecutorOptions(settings.device, segments_options(settings), settings.of)
    return executor_named(EXECUTOR_OF.get(settings.engine, settings.engine), options)


def make_encoders(settings: Settings) -> Encoders:
    """The encoders that the settings name."""
    return Encoders(settings.encoder_options)


class Service(Protocol):
    """A class of which a registry makes one object."""

    @classmethod
    def of(cls, services: "Services") -> Self:
        """Make it, over the store, the encoders and the settings, or over other services."""


Made = TypeVar("Made", bound=Service)


class Services:
    """The services over the collections of one store. They share encoders; each is made at first use.

    ``encoders`` replace those that the settings name, for callers that have them already.
    """

    def __init__(self, settings: Settings, store: Store, *, encoders: Encoders | None = None) -> None:
        self.store, self.settings = store, settings
        self.encoders = encoders or make_encoders(settings)
        self._made: dict[type[Any], Any] = {}
        self._lock = RLock()
        store.verifier, store.texts = self.encoders.verifier, self.encoders.texts

    def get(self, kind: type[Made]) -> Made:
        """The service of a class, the same for all callers."""
        with self._lock:
            if kind not in self._made:
                self._made[kind] = kind.of(self)
            return cast("Made", self._made[kind])
