"""The web application: settings in, a FastAPI application out. Nothing happens at import."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import PackageNotFoundError, version

from fastapi import FastAPI

from app.composition import Services, make_engine, open_store
from app.http import metrics
from app.http.backend import Backend, Limits, Startup
from app.http.limits import BodyLimit
from app.http.metrics import Measure, Metrics
from app.http.openapi import DESCRIPTION, TAGS, describe_problems
from app.http.problems import add_error_handlers
from app.http.routes import calibrations, collections, documents, health, matches, phrases, previews, search, thresholds
from app.http.routes import label_candidates as candidates
from app.http.server_errors import Guard
from app.search.encoders import Encoders
from app.settings import Settings
from indexer.engine.base import Engine
from indexer.engine.warm import warm_up

# How often a server that nobody asks anything lets go of old generations.
_REFRESH_S = 5.0

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def create_app(settings: Settings, *, encoders: Encoders | None = None, engine: Engine | None = None) -> FastAPI:
    """The application; it opens and loads when it starts, and says in ``/health/ready`` what it lacks.

    ``encoders`` and ``engine`` replace those that the settings name, for callers that have them already.
    """
    backend = _backend(settings, encoders or Encoders(settings.encoder_options), engine)
    figures = Metrics(backend.waiting)
    app = FastAPI(
        title="Spanseek",
        version=_version(),
        description=DESCRIPTION,
        openapi_tags=TAGS,
        lifespan=_lifespan(backend),
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.backend, app.state.metrics = backend, figures
    matching = phrases, matches
    tuning = thresholds, previews, calibrations, candidates
    for resource in (search, collections, documents, *matching, *tuning, health, metrics):
        app.include_router(resource.router)
    add_error_handlers(app)
    describe_problems(app)
    # The last one added sees requests first.
    app.add_middleware(BodyLimit, limit=settings.body_limit_bytes)
    app.add_middleware(Guard)
    app.add_middleware(Measure, metrics=figures)
    return app


def _backend(settings: Settings, encoders: Encoders, engine: Engine | None) -> Backend:
    chosen = engine or make_engine(settings)
    startup = Startup(
        load_encoder=lambda: encoders.load(settings.encoder),
        open_services=lambda: Services(settings, open_store(settings), encoders=encoders, engine=chosen),
        warm_up_engine=lambda: warm_up(chosen),
    )
    limits = Limits(settings.queue_limit, settings.deadline_s, settings.write_deadline_s, settings.batch_limit)
    return Backend(startup, limits)


def _lifespan(backend: Backend) -> Lifespan:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(backend.warm_up)
        refreshing = asyncio.create_task(_keep_fresh(backend))
        try:
            yield
        finally:
            refreshing.cancel()
            await asyncio.to_thread(backend.close)

    return lifespan


async def _keep_fresh(backend: Backend) -> None:
    while True:
        await asyncio.sleep(_REFRESH_S)
        await asyncio.to_thread(backend.refresh)


def _version() -> str:
    try:
        return version("spanseek")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0"
