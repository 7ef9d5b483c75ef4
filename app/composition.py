"""Composes the services of the command line and the server from settings. Services are composed only here.

Modules are imported by the first command that needs them: numba and FAISS take seconds.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING

from app.encoders.encoders import Encoders
from app.settings import CATALOG_FILE, EXECUTOR_OF, Settings, listed
from indexer.catalog.collections import Catalog
from indexer.engine.executor import ClusterOptions, Executor, ExecutorOptions
from indexer.engine.executor import make_executor as executor_named
from indexer.errors import CatalogNotInitialised
from indexer.patience import Busy, Patience
from indexer.segments.options import SegmentsOptions, make_segments
from indexer.store import Store
from models.encoders.registry import load_span_score

if TYPE_CHECKING:
    from app.calibration.service import ThresholdService
    from app.collections.aliases import AliasService
    from app.collections.documents import DocumentService
    from app.collections.jobs import CollectionJobs
    from app.collections.on_cluster import OnCluster
    from app.collections.reading import DocumentReader
    from app.collections.recipes import CollectionOptions
    from app.collections.reindexing import Reindexing
    from app.collections.service import CollectionService
    from app.collections.snapshots import SnapshotService
    from app.mining.mining import MiningService
    from app.phrases.service import PhraseService
    from app.search.service import SearchService
    from app.tasks.backfilling import Backfilling
    from app.tasks.service import TaskService
    from app.tasks.worker import TaskWorkers
    from app.texts.comparing import CompareService
    from app.texts.restoring import RestoreService
    from app.texts.spans import SpanService
    from app.texts.summaries import SummaryService
    from app.webhooks.addresses import AddressRules
    from app.webhooks.service import WebhookService
    from app.webhooks.signing import SigningKey
    from app.webhooks.worker import WebhookWorkers


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
    if not settings.segments_url:
        return SegmentsOptions(settings.data_dir / "collections")
    return SegmentsOptions(settings.cache_folder, settings.segments_url, round(settings.segments_cache_gb * 2**30))


def make_executor(settings: Settings) -> Executor:
    """The executor that the settings name. Raises ``ExecutorUnavailable``."""
    options = ExecutorOptions(
        settings.device,
        settings.materialized_limit_mb * 2**20,
        cluster_options(settings),
        segments_options(settings),
    )
    return executor_named(EXECUTOR_OF.get(settings.engine, settings.engine), options)


def cluster_options(settings: Settings) -> ClusterOptions:
    """The options of a Ray cluster."""
    return ClusterOptions(
        settings.ray_address,
        settings.ray_namespace,
        settings.ray_actors,
        settings.ray_replicas,
        settings.ray_deadline_s,
        settings.ray_queue,
        settings.ray_encoders,
    )


def make_encoders(settings: Settings) -> Encoders:
    """The encoders that the settings name."""
    return Encoders(settings.encoder_options)


def make_span_service(settings: Settings, encoders: Encoders) -> "SpanService":
    """The service for spans of texts, which needs no store. It scans, whatever executor reads collections."""
    from app.search.mode import load_modes
    from app.texts.spans import SpanService

    return SpanService(encoders, settings.encoder, load_modes(encoders)["best_span"])


class Services:
    """The services over the collections of one store. They share encoders; each is made at first use.

    ``encoders`` replace those that the settings name, for callers that have them already.
    """

    def __init__(self, settings: Settings, store: Store, *, encoders: Encoders | None = None) -> None:
        self.store = store
        self.encoders = encoders or make_encoders(settings)
        self._settings = settings
        store.verifier, store.texts = self.encoders.verifier, self.encoders.texts

    @cached_property
    def search(self) -> "SearchService":
        """The search."""
        from app.search.mode import load_modes
        from app.search.service import SearchService

        return SearchService(self.store, load_modes(self.encoders), self.encoders.verifier)

    @cached_property
    def spans(self) -> "SpanService":
        """The spans of texts that are not indexed."""
        return make_span_service(self._settings, self.encoders)

    @cached_property
    def collections(self) -> "CollectionService":
        """Creating, describing and deleting collections."""
        from app.collections.service import CollectionService

        settings = self._settings
        left_out = () if settings.words else ("words",)
        return CollectionService(self.store, self.encoders, default_encoder=settings.encoder, left_out=left_out)

    @cached_property
    def aliases(self) -> "AliasService":
        """Names that stand for collections."""
        from app.collections.aliases import AliasService

        return AliasService(self.store)

    @cached_property
    def snapshots(self) -> "SnapshotService":
        """Snapshots of collections."""
        from app.collections.snapshots import SnapshotService

        return SnapshotService(self.store, self.encoders.is_configured)

    def reindexing(self, name: str, options: "CollectionOptions") -> "Reindexing":
        """A job that brings a collection into another recipe."""
        from app.collections.reindexing import Reindexing

        return Reindexing(self.store, self.encoders, self.collections, self.jobs, self.search.modes, name, options)

    @cached_property
    def jobs(self) -> "CollectionJobs":
        """Indexing, deleting, optimizing, purging and matching again."""
        from app.collections.jobs import CollectionJobs

        cluster = self._on_cluster if self._settings.index_engine == "ray" else None
        return CollectionJobs(self.store, self.encoders, segment_units=self._settings.segment_units, cluster=cluster)

    @property
    def _on_cluster(self) -> "OnCluster":
        from app.collections.on_cluster import OnCluster

        return OnCluster(cluster_options(self._settings), segments_options(self._settings))

    @cached_property
    def documents(self) -> "DocumentService":
        """Writing documents and deleting them."""
        from app.collections.documents import DocumentService

        return DocumentService(self.store, self.jobs)

    @cached_property
    def reader(self) -> "DocumentReader":
        """Reading documents back."""
        from app.collections.reading import DocumentReader

        return DocumentReader(self.store, self.encoders)

    @cached_property
    def comparing(self) -> "CompareService":
        """Comparing two texts in all modes."""
        from app.texts.comparing import CompareService

        return CompareService(self.store, self.encoders, self.search.modes, self._settings.encoder)

    @cached_property
    def summaries(self) -> "SummaryService":
        """Summaries of stored and given texts."""
        from app.texts.summaries import SummaryService

        return SummaryService(self.store, self.encoders)

    @cached_property
    def restoring(self) -> "RestoreService":
        """Texts back from vectors."""
        from app.texts.restoring import RestoreService

        return RestoreService(self.store, self.encoders, warn_below=self._settings.restore_warn_below)

    @cached_property
    def tasks(self) -> "TaskService":
        """Tasks: queued, read and cancelled; a server runs them."""
        from app.tasks.service import TaskService

        return TaskService(self.store, backlog=self._settings.task_backlog_bytes)

    def task_workers(self) -> "TaskWorkers":
        """The threads that run tasks, started."""
        from app.tasks.worker import TaskWorkers

        return TaskWorkers(self, self.tasks, threads=self._settings.task_workers, keep_days=self._settings.task_days)

    @cached_property
    def mining(self) -> "MiningService":
        """All hits of many phrases."""
        from app.mining.mining import MiningService

        return MiningService(self.store, self.search)

    @cached_property
    def webhooks(self) -> "WebhookService":
        """Webhooks and their dead letters; a server sends."""
        from app.webhooks.service import WebhookService

        return WebhookService(self.store.catalog, self._signing_key, self._address_rules)

    def webhook_workers(self) -> "WebhookWorkers":
        """The threads that send what webhooks have to send, started."""
        from app.webhooks.sending import Sender
        from app.webhooks.worker import WebhookWorkers

        settings = self._settings
        return WebhookWorkers(
            self.store.catalog,
            self._signing_key,
            Sender(self._address_rules, timeout_s=settings.webhook_timeout_s),
            threads=settings.webhook_workers,
            timeout_s=settings.webhook_timeout_s,
            given_up=timedelta(hours=settings.webhook_hours),
        )

    @cached_property
    def _signing_key(self) -> "SigningKey":
        from app.webhooks.signing import SigningKey

        return SigningKey(self.store.data_dir)

    @cached_property
    def _address_rules(self) -> "AddressRules":
        from app.webhooks.addresses import AddressRules

        return AddressRules.of(listed(self._settings.webhook_networks))

    @cached_property
    def thresholds(self) -> "ThresholdService":
        """Thresholds, calibrations and previews."""
        from app.calibration.service import ThresholdService

        return ThresholdService(self.store, self.search, self.encoders)

    @cached_property
    def backfilling(self) -> "Backfilling":
        """Saving phrases, and matching them with what is there."""
        from app.tasks.backfilling import Backfilling

        return Backfilling(self.store.catalog, self.phrases, self.jobs, self.tasks)

    @cached_property
    def phrases(self) -> "PhraseService":
        """Saved phrases and their matches."""
        from app.phrases.service import PhraseService

        return PhraseService(self.store, self.encoders)
