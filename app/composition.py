"""Settings made into the objects that the command line and the server share."""

from typing import TYPE_CHECKING

from app.search.encoders import Encoders
from app.settings import Settings
from indexer.catalog.repository import Catalog
from indexer.engine.base import Engine
from indexer.engine.nuggets import DocumentEngine
from indexer.store import Store

if TYPE_CHECKING:
    from app.calibration.service import ThresholdService
    from app.phrases.service import PhraseService
    from app.search.service import SearchService


def open_store(settings: Settings) -> Store:
    """The collections of the data folder, with the catalog that lists them. The caller closes the catalog."""
    catalog = Catalog(settings.catalog_url)
    return Store(
        settings.data_dir,
        catalog,
        grace_s=settings.grace_s,
        candidates_from=settings.candidates_from,
        withdrawn_s=settings.withdrawn_days * 86_400,
    )


def make_engine(settings: Settings) -> Engine:
    """The engine the settings name."""
    if settings.engine == "materialized":
        # Imported here because the others need no FAISS, or only for large collections.
        from indexer.ann.materialized import MaterializedEngine

        return MaterializedEngine(settings.materialized_limit_mb * 2**20)
    # And here because only searching needs numba.
    if settings.engine == "device":
        from indexer.engine.device import DeviceEngine
        from models.backbones import resolve_device

        return DeviceEngine(resolve_device(settings.device))
    if settings.engine == "scan":
        from indexer.engine.scan import ScanEngine

        return ScanEngine()
    from indexer.ann.candidates import CandidateEngine

    return CandidateEngine()


def make_document_engine(settings: Settings) -> DocumentEngine:
    """The engine for mode maxsim that goes with the one the settings name."""
    from indexer.ann.documents import DocumentCandidates
    from indexer.engine.nuggets import NuggetScan

    return DocumentCandidates() if settings.engine == "auto" else NuggetScan()


def make_search(settings: Settings, store: Store) -> "SearchService":
    """The search over a store's collections."""
    from app.search.service import SearchService

    encoders = Encoders(settings.encoder_options)
    return SearchService(store, encoders, make_engine(settings), make_document_engine(settings))


def make_thresholds(settings: Settings, store: Store) -> "ThresholdService":
    """What tunes a store's collections."""
    from app.calibration.service import ThresholdService
    from app.search.service import SearchService

    encoders = Encoders(settings.encoder_options)
    search = SearchService(store, encoders, make_engine(settings), make_document_engine(settings))
    return ThresholdService(store, search, encoders)


def make_phrases(settings: Settings, store: Store) -> "PhraseService":
    """The saved phrases of a store's collections."""
    from app.phrases.service import PhraseService

    return PhraseService(store, Encoders(settings.encoder_options))
