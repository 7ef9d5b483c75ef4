"""``spanseek serve``."""

from typing import Annotated

import typer

from app.cli.console import settings_with


def serve(
    host: Annotated[
        str | None, typer.Option(help="Address, without it `SPANSEEK_HOST`; any but loopback needs an API key first.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port, without it `SPANSEEK_PORT`.")] = None,
) -> None:
    """Serve the HTTP API."""
    from app.main import serve as run_server
    from app.services import require_data_folder
    from indexer.catalog import schema

    settings = settings_with(host=host, port=port)
    require_data_folder(settings)
    if not settings.database_url:
        schema.upgrade(settings.catalog_url)
    run_server(settings)
