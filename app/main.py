"""The server process: checks its settings and its database, then serves until it is stopped."""

import logging
import math
import os
import resource
import socket
from collections.abc import Callable
from contextlib import closing
from types import FrameType
from typing import Any

import uvicorn

from app.encoders.encoders import Encoders
from app.http.app import create_app
from app.http.auth import AnonymousAccess
from app.http.hosts import is_loopback
from app.logs import FORMATS, JsonFormatter
from app.services import make_encoders, open_store, require_data_folder
from app.settings import Settings
from indexer.catalog import schema
from indexer.catalog.collections import Catalog
from indexer.catalog.keys import any_keys
from indexer.kernels import threading_layer
from models.errors import InvalidInput, SpanseekError

_log = logging.getLogger(__name__)


class AddressUnavailable(SpanseekError):
    """The server cannot listen on the address that the settings name."""

    code = "address_unavailable"


class KeysRequired(SpanseekError):
    """The server would be open to the network without requiring a key."""

    code = "keys_required"


def serve(settings: Settings, encoders: Encoders | None = None) -> None:
    """Serve until SIGTERM or SIGINT, then finish running requests and return.

    ``encoders`` replace those that the settings name, for callers that have loaded them.
    Raises a ``SpanseekError`` with a hint where the server could not answer, or should not.
    """
    prepare(settings)
    if not settings.jwt_issuer:  # else every request needs a token or a key
        with closing(open_store(settings).catalog) as catalog:
            require_keys(settings.host, catalog)
    encoders = encoders or make_encoders(settings)
    encoders.load(settings.encoder)
    with listen(settings.host, settings.port) as listening:
        run(settings, encoders, listening, url_of(listening))


def prepare(settings: Settings) -> None:
    """Set up the process and check the data folder, before anything is loaded. Raises a ``SpanseekError``."""
    set_passive_wait_policy()
    _set_up_logging(settings.log_level, settings.log_format)
    raise_descriptor_limit()
    require_data_folder(settings)
    with closing(open_store(settings).catalog) as catalog:
        schema.check(catalog)


def run(
    settings: Settings,
    encoders: Encoders,
    listening: socket.socket,
    address: str,
    *,
    access: AnonymousAccess | None = None,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Serve on a listening socket until a signal, and call ``started`` once ready. ``access``: as in ``create_app``."""
    _check_threads()
    _log.info("Spanseek serves on %s", address)
    app = create_app(settings, encoders=encoders, access=access)
    config = uvicorn.Config(
        app,
        **server_options(settings),
        timeout_graceful_shutdown=math.ceil(settings.deadline_s),
    )
    _Server(config, address, started, app.state.backend.events.close).run(sockets=[listening])


def server_options(settings: Settings) -> dict[str, Any]:
    """Uvicorn's options.

    Its log of requests is off, as it shows paths and queries; ``MetricsMiddleware`` logs them. Its parser h11 alone
    limits what a head without end takes; a whole head is measured by ``RequestLimitMiddleware``.
    """
    return {
        "http": "h11",
        "ws": "none",
        "h11_max_incomplete_event_size": 2 * settings.header_limit_bytes,
        "timeout_keep_alive": settings.keep_alive_s,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,  # uvicorn believes anybody on this machine; see ``app.http.proxies``
    }


def raise_descriptor_limit() -> None:
    """Let the process open as many files as the system allows it, and say so in the log."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as error:  # macOS has a lower limit than the hard one
        _log.warning("at most %d files may be open; the limit was not raised to %d: %s", soft, hard, error)
    else:
        _log.info("%d files may be open: the limit (ulimit -n) was raised from %d", hard, soft)


def set_passive_wait_policy() -> None:
    """Let OpenMP's threads sleep while they wait, unless the environment sets a policy. Call before OpenMP is loaded.

    Encoder and scan take turns: threads that spin would keep the cores from the other for milliseconds.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def require_keys(host: str, catalog: Catalog) -> None:
    """Raise ``KeysRequired`` if the server would answer the network without a key."""
    if not is_loopback(host) and not any_keys(catalog):
        raise KeysRequired(
            f"There is no API key yet, so anybody who can reach {host} could search.",
            hint="Make one with `spanseek keys create --name NAME --scope search`, or serve on 127.0.0.1.",
        )


def _check_threads() -> None:
    layer = threading_layer()
    if layer == "workqueue":
        _log.warning("numba runs on its workqueue layer: searches take turns. Install tbb or OpenMP.")
    else:
        _log.info("numba runs on its %s layer", layer)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; raises ``AddressUnavailable``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:  # the latter for what is no port
        raise AddressUnavailable(
            f"Cannot listen on {host}, port {port}: {getattr(error, 'strerror', None) or error}",
            hint="Choose another port or host, or stop the server that has it.",
        ) from error
    # Connections inherit it. Without, an answer's body waits for the client to acknowledge its head: 40 ms on Linux.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def url_of(listening: socket.socket) -> str:
    """The URL of a server behind a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """Uvicorn, for which a signal to stop is no failure: the original raises the signal again after it has stopped."""

    def __init__(
        self, config: uvicorn.Config, address: str, started: Callable[[], None], stopping: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._address, self._started, self._stopping = address, started, stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and log the page's address once the server answers."""
        await super().startup(sockets)
        if self.started:
            _log.info("Ready. The page is at %s/", self._address)
            self._started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop after the running requests, and end streams; at a second signal, without waiting for them."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._stopping()


def _set_up_logging(level: str, format: str = "text") -> None:
    levels = logging.getLevelNamesMapping()
    if level.upper() not in levels:
        raise InvalidInput(
            f"There is no log level {level!r}.",
            hint="Set SPANSEEK_LOG_LEVEL to debug, info, warning or error.",
            field="log_level",
        )
    if format not in FORMATS:
        raise InvalidInput(
            f"There is no log format {format!r}.", hint="Set SPANSEEK_LOG_FORMAT to text or json.", field="log_format"
        )
    logging.basicConfig(level=levels[level.upper()], format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if format == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonFormatter())
    # Every readiness check asks for the schema's version, and Alembic would log a line each time.
    logging.getLogger("alembic").setLevel(logging.WARNING)
