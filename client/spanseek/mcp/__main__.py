"""``python -m spanseek.mcp``: tools for a language model, without the product's command."""

import argparse
import asyncio
import os
import signal

from spanseek.asynchronous.client import AsyncClient, connect_async, open_async
from spanseek.mcp.server import serve


def main() -> None:
    """Serve a server's collections, or those of a folder."""
    parser = argparse.ArgumentParser(prog="python -m spanseek.mcp", description="Tools for a language model.")
    parser.add_argument("--url", help="The address of a Spanseek server; its key is taken from SPANSEEK_KEY.")
    parser.add_argument("--folder", help="A data folder, which needs the product, instead of a server.")
    parser.add_argument("--port", type=int, help="Serve streamable HTTP at http://127.0.0.1:PORT/mcp.")
    options = parser.parse_args()
    asyncio.run(run(options.url, options.folder, options.port))


async def run(url: str | None, folder: str | os.PathLike[str] | None, port: int | None) -> None:
    """Serve until the client leaves; of a folder, its process ends with it."""
    async with _client(url, folder) as db:
        if port is None:
            _end_on_interrupt(db)
        await serve(db, port)


def _end_on_interrupt(db: AsyncClient) -> None:
    """End the process at Ctrl-C: a thread waits for standard input, and without this the loop waits for the thread."""
    loop = asyncio.get_running_loop()

    async def end() -> None:
        await db.aclose()
        os._exit(130)

    signal.signal(signal.SIGINT, lambda *_: asyncio.run_coroutine_threadsafe(end(), loop))


def _client(url: str | None, folder: str | os.PathLike[str] | None) -> AsyncClient:
    if folder is not None and url is None:
        return open_async(folder)
    return connect_async(url or "http://127.0.0.1:8000", os.environ.get("SPANSEEK_KEY"))


if __name__ == "__main__":
    main()
