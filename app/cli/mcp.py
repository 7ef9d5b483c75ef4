"""``spanseek mcp``."""

import asyncio
from importlib.util import find_spec
from typing import Annotated

import typer

from app.cli.console import settings_with
from models.errors import InvalidInput


class McpMissing(InvalidInput):
    """The command needs the SDK of the Model Context Protocol, which is not installed."""

    code = "mcp_missing"


def mcp(
    url: Annotated[
        str | None,
        typer.Option(help="Address of a server, its key from `SPANSEEK_KEY`; without one the data folder is opened."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Serve streamable HTTP at `http://127.0.0.1:PORT/mcp`, instead of stdio."),
    ] = None,
) -> None:
    """Serve tools for language models by the Model Context Protocol."""
    if find_spec("mcp") is None:
        raise McpMissing("The command spanseek mcp needs the package mcp.", hint="pip install 'spanseek-client[mcp]'")
    from app.services import require_data_folder
    from spanseek.embedded import ServerNotStarted
    from spanseek.mcp.__main__ import run

    settings = settings_with()
    if url is None:
        require_data_folder(settings)
    if port is not None:
        _check_free(port)
    try:
        asyncio.run(run(url, None if url else settings.data_dir, port))
    except ServerNotStarted as error:
        raise InvalidInput(str(error)) from error


def _check_free(port: int) -> None:
    """Raise ``AddressUnavailable`` for a port that is taken, before a folder is opened."""
    from app.main import listen

    listen("127.0.0.1", port).close()
