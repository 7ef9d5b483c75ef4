"""A server whose disk is full refuses writes, answers searches, and recovers by itself."""

import errno
import shutil
from pathlib import Path

import pytest

from app.settings import Settings
from tests.small_disk import filled, small_disk

PATH = "/collections/sample/documents"
BODY = [{"id": f"new{number}", "text": f"needle{number} " + "hay " * 100} for number in range(200)]


def test_507_until_there_is_room(settings: Settings, start, problem, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 6 << 20) as disk:
        shutil.copytree(settings.data_dir, disk / "data")
        client = start(settings.model_copy(update={"data_dir": disk / "data"}))
        with filled(disk):
            for _ in range(3):
                assert problem(client.post(PATH, BODY), 507, "storage_full")["hint"]
            assert client.search(text="cancel", top_k=1)["hits"]
            assert client.get("/health/ready").status_code == 200
        assert {each["status"] for each in client.post(PATH, BODY).json()["results"]} == {"indexed"}
        assert not [*(disk / "data").glob("collections/*/tmp-*")]


@pytest.mark.parametrize("number", ["ENOSPC", "EDQUOT", "EFBIG"])
def test_whatever_could_not_be_written(
    settings: Settings, start, problem, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    """Also outside of segments, such as the whitening of a new collection's nuggets."""

    def full(*_: object, **__: object) -> None:
        raise OSError(getattr(errno, number), "no room", "a.file")

    client = start(settings)
    monkeypatch.setattr("app.collections.service.sweep_deleted", full)
    assert "a.file" in problem(client.run(client.http.put("/collections/other")), 507, "storage_full")["detail"]


@pytest.mark.parametrize("number", ["EMFILE", "ENFILE", "ENOMEM"])
def test_503_where_no_file_can_be_opened(
    settings: Settings, start, problem, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    def exhausted(path: Path, **named: bool) -> None:
        raise OSError(getattr(errno, number), "too many", str(path))

    client = start(settings)
    with monkeypatch.context() as patched:
        patched.setattr("indexer.segments.mapping.mapped_bytes", exhausted)
        answer = client.post("/search", {"collection": "sample", "text": "cancel"})
        assert problem(answer, 503, "resources_exhausted")["hint"]
        assert answer.headers["Retry-After"] == "1"
        assert client.get("/health/live").status_code == 200
    assert client.search(text="cancel", top_k=1)["hits"]
