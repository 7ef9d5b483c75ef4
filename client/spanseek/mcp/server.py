"""The server of the Model Context Protocol, over standard input and output or over HTTP on loopback."""

from collections.abc import Awaitable, Callable
from functools import wraps
from importlib.metadata import version
from typing import Any, Final, ParamSpec, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import MCPServerError, ResourceError, ToolError
from mcp_types import ToolAnnotations

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
        await server.run_streamable_http_async(host="127.0.0.1", port=port, stateless_http=True)


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
