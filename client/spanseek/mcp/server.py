"""The server of the Model Context Protocol, over standard input and output or over HTTP on loopback."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from importlib.metadata import version
from typing import Any, Final, ParamSpec, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import MCPServerError, ResourceError, ToolError
from mcp_types import ToolAnnotations
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spanseek.asynchronous.client import AsyncClient
from spanseek.errors import ApiError, SpanseekError
from spanseek.errors_by_code import Unauthenticated
from spanseek.mcp.tools import Tools

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_INSTRUCTIONS: Final = (
    "Spanseek finds the phrase, not the page: spans of text that mean the same as a phrase, with exact places. "
    "Search with a phrase as it might be said. Cite by `cite`, and verify with `quote` what you quote."
)
_HOST: Final = "127.0.0.1"
# Seconds within which a request must arrive over HTTP.
READ_S: Final = 30
_MATCHES: Final = "spanseek://collections/{collection}/matches"
_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def make_server(db: AsyncClient) -> "MCPServer[Any]":
    """A server with the tools of ``Tools`` over a client, which stays open."""
    server: MCPServer[Any] = MCPServer(
        "spanseek", instructions=_INSTRUCTIONS, version=version("spanseek-client"), log_level="WARNING"
    )
    tools = Tools(db)
    for tool in (
        tools.collections,
        tools.search,
        tools.read,
        tools.quote,
        tools.spans,
        tools.mine,
        tools.phrases,
        tools.matches,
    ):
        server.add_tool(_told(tool, ToolError), annotations=_READS)
    server.resource(_MATCHES, mime_type="application/json")(_told(tools.matched, ResourceError))
    return server


async def serve(db: AsyncClient, port: int | None = None) -> None:
    """Serve until the client leaves, on standard input and output; with a port, streamable HTTP on loopback.

    HTTP has no keys here, so it listens on 127.0.0.1 alone, at ``/mcp``.
    """
    server = make_server(db)
    if port is None:
        await server.run_stdio_async()
    else:
        import uvicorn

        app = ReadInTime(server.streamable_http_app(host=_HOST, stateless_http=True), READ_S)
        await uvicorn.Server(uvicorn.Config(app, host=_HOST, port=port, log_level="warning")).serve()


class ReadInTime:
    """Answers 408 to a request whose body does not arrive within some seconds."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app, self._seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        until = asyncio.get_running_loop().time() + self._seconds
        is_whole, begun = False, False

        async def receive_in_time() -> Message:
            nonlocal is_whole
            async with asyncio.timeout_at(None if is_whole else until):
                message = await receive()
            is_whole = not message.get("more_body", False)
            return message

        async def send_and_note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive_in_time, send_and_note)
        except TimeoutError:
            if begun:
                raise
            late = PlainTextResponse("The request did not arrive in time.", 408, {"connection": "close"})
            await late(scope, receive, send)


def _told(
    tool: Callable[Arguments, Awaitable[Result]], kind: type[MCPServerError]
) -> Callable[Arguments, Awaitable[Result]]:
    """A tool or a resource whose errors, of a kind that the SDK passes on, tell the model what to do."""

    @wraps(tool)
    async def told(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return await tool(*args, **kwargs)
        except SpanseekError as error:
            raise kind(_text(error)) from error

    return told


def _text(error: SpanseekError) -> str:
    """The code of an error, what is wrong, and what to do."""
    code = f"{error.code}: " if isinstance(error, ApiError) and error.code else ""
    if isinstance(error, Unauthenticated):  # its hint names the header, which only the client sends
        return f"{code}{error.detail} Start this server with the key in SPANSEEK_KEY."
    return f"{code}{error}"
