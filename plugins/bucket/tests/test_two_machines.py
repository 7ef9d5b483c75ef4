"""Two servers with a catalog and a bucket in common, and a data folder each: what one writes the other finds."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.settings import Settings
from tests.buckets import serving
from tests.serving import running
from tests.waiting import until

PATH = "/collections/calls"


@pytest.fixture
def machines(migrated_postgres: str, url: str, tmp_path: Path) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    with serving():
        shared = {"database_url": url, "segments_url": "s3://bucket/two", "lease_wait_s": 60, "grace_s": 0}
        settings = [Settings(_env_file=None, data_dir=tmp_path / name, encoder="hashing") for name in ("one", "two")]
        for each in settings:
            each.data_dir.mkdir()
        with running(settings[0], **shared) as (_, first), running(settings[1], **shared) as (_, second):
            yield first, second


def ok(response: httpx.Response) -> dict[str, Any]:
    assert response.is_success, response.text
    answer: dict[str, Any] = response.json()
    return answer


def hits(server: httpx.Client) -> list[str]:
    body = {"collection": "calls", "text": "cancel my subscription", "group_by": "document", "top_k": 50}
    return sorted(hit["document_id"] for hit in ok(server.post("/search", json=body))["hits"])


def files(folder: Path) -> int:
    # Folders may go meanwhile, which ``os.walk`` passes over.
    return sum("vectors.i8" in names for _, _, names in os.walk(folder))


@pytest.mark.slow("two servers and a bucket")
@pytest.mark.parametrize("backend", ["postgresql"])
def test_what_one_machine_writes_the_other_finds(machines, tmp_path: Path) -> None:
    first, second = machines
    ok(first.put(PATH))
    for number in range(4):
        writer, reader = (first, second) if number % 2 else (second, first)
        document = {"id": f"d{number:02}", "text": f"Please cancel my subscription, number {number}."}
        ok(writer.post(f"{PATH}/documents", json=document))
        until(lambda number=number, reader=reader: len(hits(reader)) == number + 1)
    until(lambda: hits(first) == hits(second))
    ok(first.delete(f"{PATH}/documents/d00"))
    until(lambda: "d00" not in hits(second))
    ok(second.delete(PATH))
    until(lambda: first.get(PATH).status_code == 404)
    caches = [tmp_path / name / "segment-cache" for name in ("one", "two")]
    until(lambda: first.get("/health/live").is_success and not any(map(files, caches)))
