"""``/admin/collections/{collection}/snapshots``: made and restored by tasks, listed, downloaded and deleted."""

from pathlib import Path
from typing import Any

import pytest

from indexer.archives.archive import check_archive
from tests.integration.http.conftest import Client

ROOT = "/admin/collections/sample/snapshots"


@pytest.fixture
def client(settings, start) -> Client:
    return start(settings)


def delete(client: Client, path: str) -> Any:
    return client.run(client.http.delete(path))


@pytest.fixture
def made(client) -> dict[str, Any]:
    """A snapshot of a collection with a phrase."""
    client.post("/collections/sample/documents", [{"id": "a", "text": "A zeppelin landed."}])
    client.post("/collections/sample/phrases", {"name": "airship", "text": "a zeppelin"})
    task = client.post(f"{ROOT}?wait=30", None)
    assert (task.status_code, task.json()["status"]) == (202, "done"), task.text
    return task.json()["result"]


@pytest.mark.smoke
def test_a_snapshot_is_made_listed_downloaded_and_deleted(client, made, tmp_path: Path) -> None:
    assert (made["collection"], made["documents"]) == ("sample", client.get("/collections/sample").json()["documents"])
    assert client.get(ROOT).json() == {"snapshots": [made]}
    sent = client.get(f"{ROOT}/{made['id']}")
    assert (sent.status_code, sent.headers["content-type"]) == (200, "application/x-tar")
    assert len(sent.content) == made["bytes"]
    (tmp_path / "x.tar").write_bytes(sent.content)
    assert check_archive(tmp_path / "x.tar", lambda done, total: None).documents == made["documents"]
    assert delete(client, f"{ROOT}/{made['id']}").json() == made
    assert client.get(ROOT).json() == {"snapshots": []}


@pytest.mark.smoke
def test_a_snapshot_is_restored_also_after_its_collection_is_gone(client, made) -> None:
    path = f"{ROOT}/{made['id']}/restore?wait=30"
    task = client.post(path, {"name": "twin"}).json()
    assert (task["status"], task["kind"], task["result"]["collection"]) == ("done", "restore", "twin")
    assert client.get("/collections/twin/phrases/airship").json()["text"] == "a zeppelin"
    taken = client.post(path, {}).json()
    assert (taken["status"], taken["error"]["code"]) == ("failed", "collection_exists")
    assert delete(client, "/collections/sample").status_code == 200
    assert [each["id"] for each in client.get(ROOT).json()["snapshots"]] == [made["id"]]
    assert client.post(path, {}).json()["status"] == "done"
    query = {"collection": "sample", "text": "A zeppelin landed.", "top_k": 1}
    (hit,) = client.post("/search", query).json()["hits"]
    assert (hit["document_id"], hit["text"]) == ("a", "A zeppelin landed.")


@pytest.mark.parametrize("id", ["0" * 24, "x", "..%2f..%2fcatalog"])
def test_an_id_that_names_no_snapshot(client, made, id: str) -> None:
    for answer in (
        client.get(f"{ROOT}/{id}"),
        delete(client, f"{ROOT}/{id}"),
        client.post(f"{ROOT}/{id}/restore", {"name": "twin"}),
    ):
        assert (answer.status_code, answer.json()["code"]) in {(404, "snapshot_not_found"), (404, "route_not_found")}


def test_collections_that_never_were_have_no_snapshots(client) -> None:
    for answer in (
        client.get("/admin/collections/nobody/snapshots"),
        client.post("/admin/collections/nobody/snapshots", None),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "collection_not_found")
