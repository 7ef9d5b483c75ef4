"""The tools of the Model Context Protocol, asked by the client of its SDK."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

import spanseek
from spanseek.errors_by_code import Unauthenticated
from tests.client.homes import Homes

Client = pytest.importorskip("mcp.client").Client
server = pytest.importorskip("spanseek.mcp.server")
MCPError = pytest.importorskip("mcp").MCPError
Stdio = pytest.importorskip("mcp.client.stdio").StdioServerParameters


def asked(homes: Homes, ask: Callable[[Any], Awaitable[Any]]) -> Any:
    """What a question is answered by a server in this process, over the collections of the connected home."""

    async def run() -> Any:
        async with spanseek.connect_async(homes.connected.url) as db, Client(server.make_server(db)) as client:
            return await ask(client)

    return asyncio.run(run())


def told(homes: Homes, tool: str, **arguments: Any) -> Any:
    """The structured answer of a tool."""
    answer = asked(homes, lambda client: client.call_tool(tool, arguments))
    assert not answer.is_error, answer.content
    return answer.structured_content


def test_all_tools_only_read_and_describe_their_arguments(homes: Homes) -> None:
    tools = asked(homes, lambda client: client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        "collections",
        "search",
        "read",
        "quote",
        "spans",
        "mine",
        "phrases",
        "matches",
    ]
    assert all(tool.annotations.read_only_hint and tool.description and tool.output_schema for tool in tools)
    search = next(tool for tool in tools if tool.name == "search")
    assert search.input_schema["required"] == ["collection", "text"]
    assert "description" in search.input_schema["properties"]["filter"]


def test_a_search_is_small_and_cites(homes: Homes) -> None:
    (hit,) = told(homes, "search", collection="calls", text="took my payment", limit=1, filter='queue = "billing"')[
        "hits"
    ]
    assert (hit["cite"], hit["text"], hit["verdict"], hit["score"]) == ("a[30:45]", "took my payment", "exact", 1.0)
    assert hit["metadata"] == {"queue": "billing", "turn": 2, "speaker": "customer"}
    extract = told(homes, "read", collection="calls", document_id="a", start=hit["start"], characters=15)
    assert (extract["text"], extract["end"], extract["characters"]) == ("took my payment", 45, 51)


def test_a_quotation_is_verified_with_its_place(homes: Homes) -> None:
    found = told(homes, "quote", collection="calls", document_id="b", quotation="Where is  my PARCEL")
    assert (found["verified"], found["cite"], found["text"]) == (True, "b[0:18]", "where is my parcel")
    other = told(homes, "quote", collection="calls", document_id="b", quotation="my parcel is here")
    assert not other["verified"]
    assert other["nearest"]["document_id"] == "b"


@pytest.mark.parametrize(
    ("quotation", "nearest"), [("where is my parcel today " * 80, "b[0:18]"), ("." * 10_000, None), (" ", None)]
)
def test_a_quotation_that_is_no_query_is_not_verified(homes: Homes, quotation: str, nearest: str | None) -> None:
    found = told(homes, "quote", collection="calls", document_id="b", quotation=quotation)
    assert not found["verified"]
    assert (found["nearest"] or {"cite": None})["cite"] == nearest


def test_a_restored_text_verifies_no_quotation(homes: Homes) -> None:
    collection = homes.connected.collection("untold")
    collection.create(store_text=False)
    collection.add([{"id": "x", "text": "Please cancel my plan today."}])
    extract = told(homes, "read", collection="untold", document_id="x")
    assert (extract["restored"], extract["text"]) == (True, "Please cancel my plan today.")  # a guess that is right
    (hit,) = told(homes, "search", collection="untold", text="cancel my plan", limit=1)["hits"]
    assert (hit["restored"], hit["confidence"]) == (True, extract["confidence"])
    found = told(homes, "quote", collection="untold", document_id="x", quotation="cancel my plan")
    assert (found["verified"], found["cite"], found["occurrences"]) == (False, None, 0)
    assert (found["restored"], found["confidence"]) == (True, extract["confidence"])
    assert found["nearest"]["restored"]


def test_given_texts_are_searched_without_a_collection(homes: Homes) -> None:
    first, second = told(homes, "spans", phrases=["cancel my plan"], texts=["I cancel my plan.", "Thanks."], limit=1)[
        "result"
    ]
    assert (first["hits"][0]["cite"], first["hits"][0]["text"]) == ("0[2:16]", "cancel my plan")
    assert [hit["document_id"] for hit in second["hits"]] == ["1"]


def test_saved_phrases_and_their_matches_are_read_on(homes: Homes) -> None:
    collection = homes.connected.collection("watched")
    collection.create()
    homes.connected.api.create_phrase("watched", name="billing", text="charged twice", threshold=0.9)
    collection.add([{"id": "x", "text": "I was charged twice."}])
    assert told(homes, "phrases", collection="watched")["result"][0]["text"] == "charged twice"
    page = told(homes, "matches", collection="watched", phrase="billing")
    assert [(line["event"], line["cite"], line["text"]) for line in page["matches"]] == [
        ("matched", "x[6:19]", "charged twice")
    ]
    assert told(homes, "matches", collection="watched", cursor=page["cursor"])["matches"] == []
    assert [event.document_id for event in collection.matches()] == ["x"]
    resource = asked(homes, lambda client: client.read_resource("spanseek://collections/watched/matches"))
    assert '"x[6:19]"' in resource.contents[0].text
    assert "watched" in [line["name"] for line in told(homes, "collections")["result"]]


def test_phrases_are_counted_in_a_whole_collection(homes: Homes) -> None:
    rows = told(homes, "mine", collection="calls", phrases=["took my payment"], threshold=1, count_by="queue")["result"]
    assert [(row["key"], row["value"], row["hits"], row["documents"], row["complete"]) for row in rows] == [
        (None, None, 1, 1, True),
        ("queue", "billing", 1, 1, True),
    ]


def test_an_error_says_what_to_do(homes: Homes) -> None:
    answer = asked(homes, lambda client: client.call_tool("search", {"collection": "none", "text": "x"}))
    assert answer.is_error
    reason = "collection_not_found: There is no collection 'none'"
    assert reason in answer.content[0].text

    async def read(client: Any) -> None:
        with pytest.raises(MCPError, match=reason):
            await client.read_resource("spanseek://collections/none/matches")

    asked(homes, read)


def test_who_has_no_key_is_told_where_it_belongs() -> None:
    refused = Unauthenticated("This server asks for an API key.", "Send the header.", status=401)
    said = "unauthenticated: This server asks for an API key. Start this server with the key in SPANSEEK_KEY."
    assert server._text(refused) == said


async def names(target: Any) -> list[str]:
    async with Client(target) as client:
        assert client.protocol_version == "2026-07-28"
        listed = await client.call_tool("collections", {})
        return [line["name"] for line in listed.structured_content["result"]]


@pytest.mark.ci("starts a process that speaks MCP")
def test_the_command_speaks_over_standard_input_and_output(homes: Homes) -> None:
    command = Stdio(command=sys.executable, args=["-m", "app", "mcp", "--url", homes.connected.url])
    assert "calls" in asyncio.run(names(command))


@pytest.mark.ci("starts a process that speaks MCP")
def test_the_module_speaks_streamable_http_on_loopback(homes: Homes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "spanseek.mcp", "--url", homes.connected.url, "--port", str(port)]
    with subprocess.Popen(command) as process:
        try:
            retrying = httpx.HTTPTransport(retries=12)  # connects as soon as it listens: waits double each time
            with httpx.Client(transport=retrying, timeout=60) as http:
                assert http.get(f"http://127.0.0.1:{port}/", headers={"Host": "evil.example"}).status_code >= 400
            assert "calls" in asyncio.run(names(f"http://127.0.0.1:{port}/mcp"))
        finally:
            process.terminate()


@pytest.mark.parametrize("arrives", [True, False])
def test_a_request_that_does_not_arrive_in_time_is_refused(arrives: bool) -> None:
    """The client never sends the rest of its body; one that does is answered."""
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    pieces = iter([True, False] if arrives else [True])

    async def receive() -> dict[str, Any]:
        for more in pieces:
            return {"type": "http.request", "body": b"x", "more_body": more}
        return await asyncio.Future()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    limit = 600 if arrives else 0.01
    asyncio.run(server.ReadInTime(app, limit)({"type": "http"}, receive, send))
    assert sent[0]["status"] == (200 if arrives else 408)
