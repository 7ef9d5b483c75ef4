"""What browsers, and clients that read compressed answers, ask for: CORS, and gzip."""

import gzip
import json

import pytest

from app.http.app import create_app
from models.errors import InvalidInput

ORIGIN = "https://app.example"
BODY = {"collection": "sample", "text": "cancel my subscription", "top_k": 40}


def ask(client, method: str, path: str, headers: dict[str, str], **options):
    return client.run(client.http.request(method, path, headers=client.headers | headers, **options))


def preflight(client, origin: str, headers: str = "authorization,content-type,x-request-id"):
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": headers, "Origin": origin}
    return ask(client, "OPTIONS", "/search", asked)


@pytest.fixture
def cors(settings, start):
    return start(settings.model_copy(update={"cors_origins": f"{ORIGIN}, http://localhost:3000"}))


def test_without_the_setting_no_other_site_is_let_in(client, problem) -> None:
    answer = ask(client, "POST", "/search", {"Origin": ORIGIN}, json=BODY)
    problem(answer, 403, "origin_not_allowed")
    assert not any(name.startswith("access-control") for name in answer.headers)
    assert preflight(client, ORIGIN).status_code == 405


def test_an_origin_of_the_setting_may_ask_and_read(cors) -> None:
    allowed = preflight(cors, ORIGIN)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == ORIGIN
    assert {"authorization", "content-type", "x-request-id", "traceparent", "tracestate"} <= {
        name.strip().lower() for name in allowed.headers["access-control-allow-headers"].split(",")
    }
    answer = ask(cors, "POST", "/search", {"Origin": ORIGIN}, json=BODY)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "X-Request-ID" in answer.headers["access-control-expose-headers"]
    assert "Origin" in answer.headers["vary"]


def test_its_scripts_can_read_errors(cors, make_key, problem) -> None:
    refused = ask(cors, "POST", "/search", {"Origin": ORIGIN}, json={})
    assert refused.headers["access-control-allow-origin"] == ORIGIN
    make_key("search")
    cors.headers = {"Authorization": "Bearer nonsense"}
    refused = ask(cors, "POST", "/search", {"Origin": ORIGIN}, json=BODY)
    problem(refused, 401, "unauthenticated")
    assert refused.headers["access-control-allow-origin"] == ORIGIN


@pytest.mark.parametrize("origin", ["https://evil.example", "https://app.example.evil.example", "http://app.example"])
def test_other_origins_are_not_let_in(cors, problem, origin) -> None:
    assert preflight(cors, origin).status_code == 400
    answer = ask(cors, "POST", "/search", {"Origin": origin}, json=BODY)
    problem(answer, 403, "origin_not_allowed")
    assert "access-control-allow-origin" not in answer.headers


def test_with_keys_other_origins_get_answers_that_their_scripts_cannot_read(cors, make_key) -> None:
    cors.headers = {"Authorization": f"Bearer {make_key('search')}"}
    answer = ask(cors, "POST", "/search", {"Origin": "https://evil.example"}, json=BODY)
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "origin", ["*", "app.example", "https://app.example/", "https://*.example", "null", "file://x"]
)
def test_what_is_no_origin_is_refused_at_the_start(settings, origin) -> None:
    with pytest.raises(InvalidInput, match="no origin") as refused:
        create_app(settings.model_copy(update={"cors_origins": f"{ORIGIN},{origin}"}))
    assert "SPANSEEK_CORS_ORIGINS" in refused.value.hint


def raw(client, accept: str, path: str = "/search", body: dict[str, object] | None = None):
    """The answer as it was sent: status, headers and the bytes of the body."""

    async def read():
        request = client.http.build_request("POST", path, json=body or BODY, headers={"Accept-Encoding": accept})
        response = await client.http.send(request, stream=True)
        content = b"".join([chunk async for chunk in response.aiter_raw()])
        await response.aclose()
        return response.headers, content

    return client.run(read())


def test_large_answers_are_compressed_for_clients_that_accept_it(client) -> None:
    plain_headers, plain = raw(client, "identity")
    headers, packed = raw(client, "gzip, br")
    assert "content-encoding" not in plain_headers
    assert headers["content-encoding"] == "gzip"
    assert headers["vary"] == plain_headers["vary"] == "Accept-Encoding"
    assert int(headers["content-length"]) == len(packed) < len(plain) / 2
    one, other = json.loads(gzip.decompress(packed)), json.loads(plain)
    assert one["hits"] == other["hits"]


def test_small_answers_are_not(client) -> None:
    headers, content = raw(client, "gzip", body={"collection": "sample", "text": "cancel", "top_k": 1, "threshold": 1})
    assert "content-encoding" not in headers
    assert json.loads(content)["hits"] is not None


def test_head_says_the_length_and_sends_nothing(client) -> None:
    response = client.run(client.http.head("/openapi.json", headers={"Accept-Encoding": "gzip"}))
    assert response.headers["content-encoding"] == "gzip"
    assert response.content == b""
