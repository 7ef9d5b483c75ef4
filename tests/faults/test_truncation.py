"""Files that are cut while a server has them mapped and reads them: it goes on, says so, and is whole when they are."""

import itertools
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.settings import Settings
from indexer.segments.layout import MANIFEST
from tests.faults.places import ROUNDS
from tests.faults.test_corruption import found, small_is_large, store_of  # noqa: F401  a fixture
from tests.integration.test_damaged_segments import DOCUMENTS, QUERY
from tests.serving import running

CUTS = 200 * ROUNDS or 12
SEARCHERS = 3
_LONGEST_S = 60
_WORDS = {"collection": "c", "text": QUERY, "mode": "lexical", "top_k": 20}
REQUESTS: tuple[tuple[str, str, dict[str, Any] | None], ...] = (
    ("POST", "/search", {"collection": "c", "text": QUERY, "top_k": 20, "total": True}),
    ("POST", "/search", {"collection": "c", "text": QUERY, "mode": "maxsim", "top_k": 20}),
    ("POST", "/search", _WORDS | {"filter": {"expression": "document.number >= 3"}}),
    ("GET", "/collections/c/documents?limit=50", None),
    ("GET", f"/collections/c/documents/d{DOCUMENTS + 7}", None),
)
# What is answered of a file that is cut, besides an answer: it is left out at the next look, in a quarter of a second.
_REFUSED = {"segments_unreachable", "segment_corrupt", "document_not_found"}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("cut") / "data"
    store_of(folder, 0, DOCUMENTS).__exit__(None, None, None)
    return Settings(_env_file=None, data_dir=folder, encoder="hashing", database_url="")


@pytest.fixture
def server(settings: Settings) -> Iterator[tuple[Any, httpx.Client]]:
    with running(settings) as (process, client):
        yield process, client


def ask(client: httpx.Client, number: int) -> httpx.Response:
    method, path, body = REQUESTS[number % len(REQUESTS)]
    return client.request(method, path, json=body)


def reader(client: httpx.Client, stop: threading.Event, told: Counter[str], first: int) -> None:
    """Ask without a pause, and count what was answered."""
    for number in itertools.count(first):
        if stop.is_set():
            return
        answer = ask(client, number)
        code = "" if answer.is_success else answer.json()["code"]
        told[code] += 1
        assert not code or code in _REFUSED, answer.text
        if code == "segments_unreachable":
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_cut_files_do_not_end_the_server(server: tuple[Any, httpx.Client], settings: Settings) -> None:
    process, client = server
    chance, stop, told = random.Random(44), threading.Event(), Counter[str]()
    files = sorted(
        path for path in settings.data_dir.glob("collections/*/*/*") if path.stat().st_size and path.name != MANIFEST
    )
    whole = [ask(client, number).json().get("hits") for number in range(3)]
    threads = [threading.Thread(target=reader, args=(client, stop, told, number)) for number in range(SEARCHERS)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(CUTS):
            cut_and_restored(client, chance.choice(files), chance, whole)
            assert process.poll() is None, "the server has ended"
            assert all(thread.is_alive() for thread in threads)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert told[""] > CUTS


def cut_and_restored(client: httpx.Client, path: Path, chance: random.Random, whole: list[Any]) -> None:
    """Cut a file in its place, wait until its segment is left out, and restore it in its place."""
    body = path.read_bytes()
    os.truncate(path, chance.randrange(len(body)))
    eventually(lambda: path.parent.name in str(ask(client, 1).json().get("degraded")))
    with path.open("r+b") as file:
        file.write(body)
    eventually(lambda: [ask(client, number).json().get("hits") for number in range(3)] == whole)


def eventually(holds: Any) -> None:
    """Return when it holds."""
    end = time.monotonic() + _LONGEST_S
    while not holds():
        assert time.monotonic() < end
