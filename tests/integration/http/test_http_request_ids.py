"""Every answer has an id: the caller's own, if it is well-formed."""

import logging
import re

import pytest

from app.http.request_ids import HEADER

BODY = {"collection": "sample", "text": "cancel"}


def ask(client, method: str, path: str, id: str | None = None, **options):
    headers = {} if id is None else {HEADER: id}
    return client.run(client.http.request(method, path, headers=headers, **options))


@pytest.mark.smoke
@pytest.mark.parametrize("id", ["7f3a", "trace:1/2-3_4.5", "a" * 128, "AbC=+@"])
def test_a_well_formed_id_is_returned(client, id) -> None:
    assert ask(client, "POST", "/search", id, json=BODY).headers[HEADER] == id


@pytest.mark.parametrize("id", ["", " ", "a b", "a" * 129, "-a", 'a"b', "a\tb"])
def test_another_is_replaced(client, id) -> None:
    assert re.fullmatch(r"[0-9a-f]{32}", ask(client, "POST", "/search", id, json=BODY).headers[HEADER])


def test_ids_are_made_and_no_two_are_equal(client) -> None:
    ids = {ask(client, "GET", "/health/live").headers[HEADER] for _ in range(20)}
    assert len(ids) == 20


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        ("POST", "/search", {"content": b"{"}, 415),
        ("POST", "/search", {"json": {}}, 422),
        ("GET", "/collections/none", {}, 404),
        ("GET", "/nowhere", {}, 404),
        ("PUT", "/search", {}, 405),
        ("HEAD", "/collections", {}, 200),
        ("POST", "/search", {"content": b"x" * 9_000_000}, 413),
    ],
)
def test_errors_have_ids_too(client, method, path, options, status) -> None:
    response = ask(client, method, path, "mine", **options)
    assert (response.status_code, response.headers.get_list(HEADER)) == (status, ["mine"])


def test_the_id_is_in_the_log(client, caplog) -> None:
    with caplog.at_level(logging.INFO, "app.http.middleware"):
        ask(client, "POST", "/search", "trace-1", json=BODY)
    assert any("POST /search 200 trace-1 " in record.message for record in caplog.records)


def test_an_unforeseen_error_is_logged_with_its_id(settings, start, problem, caplog, monkeypatch) -> None:
    client = start(settings)

    async def broken(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(client.app.state.backend.search, "search", broken)
    response = ask(client, "POST", "/search", "trace-2", json=BODY)
    problem(response, 500, "internal_error")
    assert response.headers[HEADER] == "trace-2"
    assert any("POST /search, request trace-2" in record.message for record in caplog.records)
