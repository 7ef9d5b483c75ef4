"""A server whose segments lie in a bucket: moved there as the documentation says, and unreachable for a while."""

import shutil
from pathlib import Path

import pytest

from app.services import make_executor
from app.settings import Settings
from indexer.engine.executor import Executor

DOCUMENT = {"id": "new", "text": "Please cancel my subscription at once."}


def test_a_bucket_that_goes_away_and_comes_back(settings: Settings, start, problem, tmp_path: Path) -> None:
    mount, gone = tmp_path / "mount", tmp_path / "gone"
    shutil.copytree(settings.data_dir / "collections", mount / "collections")
    shared = settings.model_copy(update={"segments_url": f"file://{mount}", "segments_cache": tmp_path / "first"})
    client = start(shared)
    assert client.search(text="cancel my subscription", top_k=1)["hits"]
    assert client.post("/collections/sample/documents", DOCUMENT).status_code == 200

    mount.rename(gone)
    other = start(shared.model_copy(update={"segments_cache": tmp_path / "second"}))
    other.refused(503, "segments_unavailable", text="cancel my subscription")
    refused = client.post("/collections/sample/documents", DOCUMENT | {"text": "Another text."})
    problem(refused, 503, "segments_unavailable")
    assert refused.headers["retry-after"] == "5"
    assert "new" in {hit["document_id"] for hit in client.search(text="cancel my subscription")["hits"]}

    shutil.rmtree(mount, ignore_errors=True)
    gone.rename(mount)
    assert "new" in {hit["document_id"] for hit in other.search(text="cancel my subscription")["hits"]}
    assert other.post("/collections/sample/documents", DOCUMENT | {"text": "Another text."}).status_code == 200


def test_a_url_that_names_no_bucket(settings: Settings, start, problem) -> None:
    client = start(settings.model_copy(update={"segments_url": "nowhere://bucket"}))
    refused = client.refused(503, "segments_unavailable", text="cancel")
    assert "SPANSEEK_SEGMENTS_URL" in refused["detail"]


@pytest.mark.parametrize("url", ["", "file:///tmp"])
def test_the_cache_lies_in_the_data_folder_unless_it_is_named(settings: Settings, url: str) -> None:
    made = settings.model_copy(update={"segments_url": url})
    assert made.cache_folder == settings.data_dir / "segment-cache"
    assert made.model_copy(update={"segments_cache": Path("/nvme")}).cache_folder == Path("/nvme")


@pytest.mark.slow("starts a cluster")
@pytest.mark.timeout(600)
def test_a_cluster_answers_from_a_bucket_as_one_process(settings: Settings, start, tmp_path: Path) -> None:
    """Actors read where the settings of the server say."""
    mount, cache = tmp_path / "mount", tmp_path / "cache"
    shutil.copytree(settings.data_dir / "collections", mount / "collections")
    shared = settings.model_copy(update={"segments_url": f"file://{mount}", "segments_cache": cache})
    clustered = shared.model_copy(update={"engine": "ray", "ray_address": "local", "ray_deadline_s": 100.0})
    client, single = start(clustered, make_executor(clustered)), start(shared, Executor())
    of_calls = {"text": "cancel", "filter": {"document": {"kind": "call"}}, "total": True}
    for body in ({"text": "cancel my subscription"}, of_calls):
        answers = [each.search(**body) | {"took_ms": 0} for each in (client, single)]
        assert answers[0] == answers[1]
    assert client.post("/collections/sample/documents", DOCUMENT).status_code == 200
    single = start(shared, Executor())  # the one that runs may be a quarter of a second behind
    answers = [each.search(text="cancel my subscription")["hits"] for each in (client, single)]
    assert answers[0] == answers[1]
    assert "new" in {hit["document_id"] for hit in client.search(text=DOCUMENT["text"])["hits"]}
    state = client.get("/admin/cluster").json()
    assert state["executor"] == "ray"
    assert {actor["state"] for actor in state["actors"]} == {"ready"}
    assert state["unreachable_segments"] == 0
