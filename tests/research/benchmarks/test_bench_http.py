"""What the latency benchmark makes of answers."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from models.encoders.hashing import HashingEncoder
from research.benchmarks.http_clients import Throughput, of_rounds, throughput
from research.benchmarks.http_latency import Answered, ask_all, ask_together, encoding_ms, summary


class Handler(BaseHTTPRequestHandler):
    """Answers every search with how long it took, but fails where the text says so."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if asked["text"] == "drop":
            self.close_connection = True
            return
        body = json.dumps({"took_ms": 1.5, "hits": []}).encode()
        self.send_response(500 if asked["text"] == "fail" else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_every_phrase_is_asked(url) -> None:
    answered = ask_all(url, ["late fee", "refund"])
    assert [(answer.took_ms, answer.ok) for answer in answered] == [(1.5, True)] * 2
    assert all(answer.wall_ms > 0 for answer in answered)


def test_failures_are_counted_and_the_rest_goes_on(url) -> None:
    assert [answer.ok for answer in ask_all(url, ["a", "fail", "drop", "b"])] == [True, False, False, True]


def test_clients_share_the_requests(url) -> None:
    answered, seconds = ask_together(url, ["a", "b", "fail"], requests=9, clients=4)
    assert len(answered) == 9
    assert sum(not answer.ok for answer in answered) == 3
    assert seconds > 0


def test_the_overhead_is_what_the_server_does_not_account_for() -> None:
    alone = [Answered(10.0, 8.0, ok=True), Answered(14.0, 11.0, ok=True), Answered(12.0, 11.0, ok=True)]
    together = [Answered(20.0, 8.0, ok=True), Answered(30.0, 8.0, ok=False)]
    figures = summary(100, 3.0, alone, together, clients=2, seconds=0.5)
    assert (figures.p50_ms, figures.took_p50_ms, figures.overhead_p50_ms) == (12.0, 11.0, 2.0)
    assert (figures.clients_p50_ms, figures.errors, figures.requests, figures.requests_per_s) == (25.0, 1, 2, 4.0)


def test_ten_words_are_encoded() -> None:
    assert encoding_ms(HashingEncoder(), ["one two three four five six seven", "eight nine ten eleven"]) > 0


def test_rounds_of_many_clients_have_medians() -> None:
    rounds = [
        throughput("present", 8, [Answered(wall, 1.0, ok=wall < 50) for wall in walls], seconds)
        for walls, seconds in (((10.0, 20.0), 1.0), ((30.0, 60.0), 0.5), ((12.0, 20.0), 0.25))
    ]
    assert of_rounds(rounds) == Throughput("present", 8, 4.0, p50_ms=16.0, p95_ms=19.6, p99_ms=19.92, errors=1)
