"""Requests are sent again where that is safe, and nowhere else."""

import asyncio
import gc
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest

from spanseek import ApiError, ConnectionFailed, Retries, SpanseekError, connect, connect_async
from spanseek.asynchronous.transport import AsyncTransport
from spanseek.errors_by_code import BY_CODE, CollectionBusy, InternalError, RateLimited
from spanseek.synchronous.api import Api
from spanseek.synchronous.transport import Transport

ANSWER = {"hits": [], "generation": 1, "threshold": {"value": None, "on": "score", "source": "none"}, "took_ms": 1.0}
ALIASES = {"aliases": []}
Reply = httpx.Response | httpx.TransportError


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr("spanseek.synchronous.transport.sleep", waited.append)
    return waited


def problem(code: str, status: int, retry_after: str | None = None) -> httpx.Response:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return httpx.Response(status, json={"code": code, "detail": "No.", "hint": "Wait."}, headers=headers)


def api(*replies: Reply, sent: list[httpx.Request] | None = None) -> Api:
    waiting = iter(replies)

    def answer(request: httpx.Request) -> httpx.Response:
        if sent is not None:
            sent.append(request)
        reply = next(waiting)
        if isinstance(reply, httpx.TransportError):
            raise reply
        return reply

    return Api(transport(answer))


def transport(answer: Callable[[httpx.Request], httpx.Response]) -> Transport:
    http = httpx.Client(base_url="http://server", transport=httpx.MockTransport(answer))
    return Transport("http://server", lambda: http, Retries())


def search(client: Api) -> object:
    return client.search(collection="c", text="x")


def change(client: Api) -> object:
    return client.change_aliases(aliases={"a": "c"})


@pytest.mark.parametrize("call", [search, change])
def test_a_refusal_is_retried_after_its_time(waits: list[float], call: Callable[[Api], object]) -> None:
    good = httpx.Response(200, json=ALIASES | ANSWER)
    call(api(problem("rate_limited", 429, "7"), problem("collection_busy", 409, "1"), good))
    assert waits == [7.0, 1.0]


def test_an_answer_that_was_lost_is_asked_for_again_only_where_that_does_no_harm(waits: list[float]) -> None:
    lost = httpx.ReadError("reset")
    assert search(api(lost, httpx.Response(200, json=ANSWER))).generation == 1
    assert len(waits) == 1
    with pytest.raises(ConnectionFailed, match=r"http://server: reset"):
        change(api(lost, httpx.Response(200, json=ALIASES)))
    assert len(waits) == 1


def test_a_server_that_was_not_reached_has_done_nothing(waits: list[float]) -> None:
    with pytest.raises(ConnectionFailed):
        change(api(*[httpx.ConnectError("refused")] * 4))
    assert len(waits) == 3
    assert waits[0] < waits[2]


def test_what_does_not_pass_is_not_retried(waits: list[float]) -> None:
    with pytest.raises(InternalError) as caught:
        search(api(problem("internal_error", 500)))
    assert (caught.value.detail, caught.value.hint, caught.value.status) == ("No.", "Wait.", 500)
    with pytest.raises(RateLimited):
        search(api(problem("rate_limited", 429, "600")))  # longer than anybody waits
    assert waits == []


def test_the_last_attempt_raises_its_error(waits: list[float]) -> None:
    with pytest.raises(CollectionBusy):
        search(api(*[problem("collection_busy", 409, "1")] * 4))
    assert waits == [1.0] * 3


def test_a_stream_is_sent_once(waits: list[float]) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"{}\n"

    with pytest.raises(CollectionBusy):
        api(problem("collection_busy", 409, "1")).import_documents("c", pieces())
    assert waits == []
    written = httpx.Response(200, json={"results": [], "generation": 2})
    assert api(problem("collection_busy", 409, "1"), written).put_documents("c", b"{}\n").generation == 2
    assert waits == [1.0]


def test_events_are_read_as_they_are_sent() -> None:
    body = ': hello\n\nid: 7\nevent: matched\ndata: {"a":\ndata: 1}\n\nevent: empty\n\ndata: last\n\ndata: cut off'
    with closing(transport(lambda request: httpx.Response(200, text=body))) as answers:
        events = list(answers.events("GET", "/events", repeatable=True))
    assert events == [{"id": "7", "event": "matched", "data": '{"a":\n1}'}, {"data": "last"}]


def broken(request: httpx.Request) -> httpx.Response:
    def pieces() -> Iterator[bytes]:
        yield b'{"a":1}\n'
        raise httpx.RemoteProtocolError("peer closed connection")

    return httpx.Response(200, content=pieces())


@pytest.mark.parametrize("kind", ["lines", "events", "pieces"])
def test_an_answer_that_breaks_off_is_a_failed_connection(kind: str) -> None:
    with closing(transport(broken)) as answers, pytest.raises(ConnectionFailed, match="http://server: peer closed"):
        list(getattr(answers, kind)("GET", "/x"))


def test_an_asynchronous_answer_breaks_off_alike() -> None:
    async def broken(request: httpx.Request) -> httpx.Response:
        async def pieces() -> AsyncIterator[bytes]:
            yield b'{"a":1}\n'
            raise httpx.ReadError("reset")

        return httpx.Response(200, content=pieces())

    async def read() -> None:
        async with httpx.AsyncClient(base_url="http://server", transport=httpx.MockTransport(broken)) as http:
            async for _ in AsyncTransport("http://server", lambda: http, Retries()).lines("GET", "/x"):
                pass

    with pytest.raises(ConnectionFailed, match="http://server: reset"):
        asyncio.run(read())


def test_what_is_no_spanseek_server_says_so() -> None:
    page = httpx.Response(200, text="<html>")
    with pytest.raises(SpanseekError, match="no answer of a Spanseek server"):
        search(api(page))
    with pytest.raises(SpanseekError, match="no answer of a Spanseek server"):
        list(api(page).export_hits(collection="c", text="x"))
    foreign = httpx.Response(422, json={"code": [], "errors": [{"title": "No."}]})
    with pytest.raises(ApiError, match="422"):
        search(api(foreign))


def test_a_closed_client_says_so() -> None:
    db = connect("http://server")
    db.close()
    with pytest.raises(SpanseekError, match="client is closed"):
        db.collections()


def test_a_client_that_another_thread_closes_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    open_api = api(problem("collection_busy", 409, "1"))
    monkeypatch.setattr("spanseek.synchronous.transport.sleep", lambda seconds: open_api._transport.close())
    with pytest.raises(SpanseekError, match="client is closed"):
        search(open_api)
    asked = api()
    monkeypatch.setattr(httpx.Client, "build_request", lambda *_, **__: asked._transport.close())
    with pytest.raises(SpanseekError, match="client is closed"):
        search(asked)


class Ports(BaseHTTPRequestHandler):
    """Answers with the port of the client: one for each connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        port = str(self.client_address[1]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(port)))
        self.end_headers()
        self.wfile.write(port)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def ports() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Ports) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_forked_process_has_connections_of_its_own(ports: str) -> None:
    with connect(ports) as db:
        own = [db._transport.request("GET", "/").text for _ in range(2)]
        child = os.fork()
        if not child:
            others = [db._transport.request("GET", "/").text for _ in range(2)]
            os._exit(own[0] in others or others[0] != others[1])
        assert os.waitpid(child, 0)[1] == 0
        assert {*own, db._transport.request("GET", "/").text} == {own[0]}


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_an_asynchronous_client_outlives_an_event_loop(ports: str) -> None:
    db = connect_async(ports)

    async def ask() -> set[str]:
        return {(await db._transport.request("GET", "/")).text for _ in range(2)}

    async def ask_and_close() -> set[str]:
        async with db:
            return await ask()

    asked = [asyncio.run(ask()), asyncio.run(ask()), asyncio.run(ask_and_close())]
    assert [len(each) for each in asked] == [1, 1, 1]
    assert len(set().union(*asked)) == 3
    with pytest.raises(SpanseekError, match="client is closed"):
        asyncio.run(ask())
    gc.collect()  # the connections of loops that have ended


@pytest.mark.parametrize(
    ("url", "key"), [("http://[::1", None), ("http://server", "ssk_é"), ("http://server", "ssk_1\n")]
)
def test_what_cannot_be_an_address_or_a_key_says_so(url: str, key: str | None) -> None:
    with pytest.raises(SpanseekError, match=r"http://\[::1|An API key"):
        connect(url, key)


def test_the_error_of_a_proxy_has_no_code(waits: list[float]) -> None:
    with pytest.raises(ApiError) as caught:
        search(api(*[httpx.Response(502, text="<html>")] * 4))
    assert (type(caught.value), caught.value.status, len(waits)) == (ApiError, 502, 3)


def test_what_is_none_is_not_sent_unless_it_may_be_null() -> None:
    sent: list[httpx.Request] = []
    with pytest.raises(SpanseekError):
        api(problem("invalid_input", 422), sent=sent).put_threshold("a/b", value=None)
    assert (sent[0].url.raw_path, json.loads(sent[0].content)) == (
        b"/admin/collections/a%2Fb/thresholds",
        {"value": None},
    )
    with pytest.raises(SpanseekError):
        api(problem("invalid_input", 422), sent=sent).list_documents("c", cursor=None, limit=7)
    assert sent[1].url.query == b"limit=7"


def test_an_answer_of_a_later_server_keeps_its_new_fields() -> None:
    later = ANSWER | {"news": {"a": 1}}
    assert search(api(httpx.Response(200, json=later))).news == {"a": 1}


def test_every_code_has_its_class() -> None:
    assert all(kind.code == code and issubclass(kind, ApiError) for code, kind in BY_CODE.items())
