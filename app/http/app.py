"""The web application: creates a FastAPI application from settings, with no side effects at import."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route

from app import __version__
from app.encoders.encoders import Encoders
from app.http import metrics
from app.http.audit import AuditLog, AuditMiddleware
from app.http.auth import AnonymousAccess, AuthenticationMiddleware, collection_aliased, collection_not_found
from app.http.backend import Backend, Limits, Startup
from app.http.cors import add_cors, origins_of
from app.http.hosts import AllowedHosts
from app.http.key_limits import KeyUses, RateLimits
from app.http.metrics import Metrics, Stages
from app.http.middleware import (
    BodyLimitMiddleware,
    DeadlineMiddleware,
    HeadMiddleware,
    MetricsMiddleware,
    RequestLimitMiddleware,
    ServerErrorMiddleware,
)
from app.http.oidc import Issuer
from app.http.openapi import DESCRIPTION, describe_problems, tags_of
from app.http.page import Page, page_router
from app.http.problems import add_error_handlers
from app.http.proxies import add_proxies
from app.http.request_ids import RequestIdMiddleware
from app.http.routes import (
    aliases,
    calibrations,
    collections,
    documents,
    export,
    health,
    keys,
    label_candidates,
    matches,
    metadata,
    mining,
    phrases,
    previews,
    restoring,
    search,
    sign_in,
    snapshots,
    spans,
    tasks,
    thresholds,
)
from app.http.sign_in import Provider
from app.http.stages import Observe, Stage
from app.http.tracing import Tracing, TracingMiddleware
from app.services import Services, make_encoders, make_executor, open_store
from app.settings import Settings, settings_classes
from indexer.catalog.keys import record_uses
from indexer.engine.executor import Executor
from indexer.engine.warm import warm_up
from indexer.errors import CollectionAliased, CollectionNotFound
from indexer.patience import later
from models.entry_points import entry_points_of
from models.errors import SpanseekError

_log = logging.getLogger(__name__)
# Seconds after which an idle server releases old generations.
_REFRESH_S = 5.0
# Answers from this size on are compressed, at a level that costs a millisecond for 100 kB.
_GZIP_FROM_BYTES = 1_024
_GZIP_LEVEL = 4
_RESOURCES = (
    search,
    mining,
    spans,
    restoring,
    collections,
    aliases,
    documents,
    export,
    metadata,
    phrases,
    matches,
    thresholds,
    previews,
    calibrations,
    label_candidates,
    tasks,
    snapshots,
    keys,
)
_OF_SERVER = (sign_in, health, metrics)

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def create_app(
    settings: Settings,
    *,
    encoders: Encoders | None = None,
    executor: Executor | None = None,
    tracing: Tracing | None = None,
    access: AnonymousAccess | None = None,
) -> FastAPI:
    """The application; it opens and loads when it starts, and reports in ``/health/ready`` what is missing.

    ``encoders``, ``executor`` and ``tracing`` replace those that the settings name, for callers that have them already.
    ``access`` says whether callers without a key are answered; by default, if no key is in use.
    """
    stages = Stages()
    tracing = tracing or (Tracing.load() if settings.telemetry else None)
    encoders = encoders or make_encoders(settings)
    backend = _backend(settings, encoders, executor, _observing(stages, tracing))
    figures = Metrics(backend.waiting, backend.damaged_segments, backend.task_backlog, stages, backend.executor.members)
    audit = AuditLog.of(settings)
    provider = Provider.of(settings)
    for kind in settings_classes()[1:]:
        settings.of(kind)  # what is wrong is refused now, not at first use
    page = Page.load() if provider is None else Page.load(provider.origin)
    routers = [
        *(resource.router for resource in _RESOURCES),
        *(point.load() for point in entry_points_of("spanseek.routes").values()),
        *(resource.router for resource in _OF_SERVER),
        page_router(page),
    ]
    # As they are: routers that are included are built once more, in two seconds of the first request.
    routes = [route for router in routers for route in router.routes]
    app = FastAPI(
        title="Spanseek",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_tags=tags_of(routes),
        lifespan=_lifespan(backend, tracing, audit),
        routes=routes,
        # Clients repeat a DELETE where they are led: that of the document "..", resolved, would be the collection's.
        redirect_slashes=False,
    )
    app.state.backend, app.state.metrics = backend, figures
    app.state.anonymous_access = access or AnonymousAccess()
    app.state.issuer = Issuer.of(settings)
    app.state.rate_limits, app.state.key_uses = RateLimits(), KeyUses()
    origins = origins_of(settings.cors_origins)
    app.state.allowed_hosts = AllowedHosts(settings.allowed_hosts.replace(",", " ").split(), origins)
    app.state.provider = provider
    # Logs and metrics name the routes of requests, also of those that are refused before they are routed.
    app.state.routes = [route for route in routes if isinstance(route, Route)]
    add_error_handlers(app)
    app.add_exception_handler(CollectionNotFound, collection_not_found)  # type: ignore[arg-type]
    app.add_exception_handler(CollectionAliased, collection_aliased)  # type: ignore[arg-type]
    describe_problems(app)
    # The last one added sees requests first.
    app.add_middleware(AuthenticationMiddleware)
    app.add_middleware(
        BodyLimitMiddleware,
        limit=settings.body_limit_bytes,
        uploads=settings.task_backlog_bytes,
        read_s=settings.read_timeout_s,
    )
    app.add_middleware(DeadlineMiddleware, deadline_s=settings.deadline_s, write_deadline_s=settings.write_deadline_s)
    app.add_middleware(ServerErrorMiddleware)
    app.add_middleware(GZipMiddleware, minimum_size=_GZIP_FROM_BYTES, compresslevel=_GZIP_LEVEL)
    add_cors(app, origins)
    app.add_middleware(
        RequestLimitMiddleware, head_bytes=settings.header_limit_bytes, requests=settings.connection_limit
    )
    app.add_middleware(MetricsMiddleware, metrics=figures)
    if audit is not None:
        app.add_middleware(AuditMiddleware, log=audit)
    if tracing is not None:
        app.add_middleware(TracingMiddleware, tracing=tracing)
    app.add_middleware(HeadMiddleware)
    app.add_middleware(RequestIdMiddleware)
    add_proxies(app, settings.root_path, settings.trusted_proxies)
    return app


def _backend(settings: Settings, encoders: Encoders, executor: Executor | None, observe: Observe) -> Backend:
    chosen = executor or make_executor(settings)
    startup = Startup(
        load_encoder=lambda: encoders.load(settings.encoder),
        # The lane of writes waits, and its thread serves others meanwhile.
        open_services=lambda: Services(
            settings, open_store(settings, chosen, patience=lambda: later), encoders=encoders
        ),
        warm_up_engine=lambda: warm_up(chosen),
        executor=chosen,
    )
    # A batch that is larger than the queue would never be accepted.
    batch_limit = min(settings.batch_limit, settings.queue_limit)
    limits = Limits(
        settings.queue_limit,
        settings.deadline_s,
        settings.write_deadline_s,
        batch_limit,
        uploads=settings.upload_limit,
        lease_wait_s=settings.lease_wait_s,
        waits=math.ceil(settings.connection_limit / 2),  # the other half is for searches
    )
    return Backend(startup, limits, observe)


def _observing(stages: Stages, tracing: Tracing | None) -> Observe:
    """The observer of stages: figures, and spans if there are traces."""
    if tracing is None:
        return stages.observe

    def observe(stage: Stage, seconds: float) -> None:
        stages.observe(stage, seconds)
        tracing.observe(stage, seconds)

    return observe


def _lifespan(backend: Backend, tracing: Tracing | None, audit: AuditLog | None) -> Lifespan:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(backend.warm_up)
        refreshing = asyncio.create_task(_keep_fresh(backend, app.state.key_uses))
        try:
            yield
        finally:
            refreshing.cancel()
            await _record_uses(backend, app.state.key_uses)
            await asyncio.to_thread(backend.close)
            if tracing is not None:
                await asyncio.to_thread(tracing.close)
            if audit is not None:
                audit.close()

    return lifespan


async def _keep_fresh(backend: Backend, uses: KeyUses) -> None:
    while True:
        await asyncio.sleep(_REFRESH_S)
        await asyncio.to_thread(backend.refresh)
        await _record_uses(backend, uses)


async def _record_uses(backend: Backend, uses: KeyUses) -> None:
    """Write the last use of keys, off the path of requests; none fails because of it."""
    if ids := uses.due():
        try:
            await backend.write(lambda: record_uses(backend.store.catalog, ids))
        except SpanseekError as error:
            _log.warning("the last use of keys was not written: %s", error)
