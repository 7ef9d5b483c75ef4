"""``spanseek serve``."""

from typing import Annotated

import typer

from app.cli.console import settings_with
from indexer.catalog import schema


def serve(
    host: Annotated[str | None, typer.Option(help="Address; any but loopback needs an API key first.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port.")] = None,
) -> None:
    """Serve the HTTP API."""
    # Imported here, because only this command needs the web server.
    from app.serving import serve as run_server

    settings = settings_with(host=host, port=port)
    if not settings.database_url:
        schema.upgrade(settings.catalog_url)
    run_server(settings)
