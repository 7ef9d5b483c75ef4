"""The settings of a job on a cluster: what travels to its actors, and which jobs have any."""

import pickle
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.collections.documents import DocumentService
from app.collections.jobs import CollectionJobs
from app.collections.recipes import CollectionOptions
from app.collections.service import CollectionService
from app.phrases.service import PhraseService
from app.services import Services, open_store
from app.settings import Settings
from indexer.catalog import schema
from indexer.phrases import PhraseDraft
from indexer.segments.options import SegmentsOptions
from indexer.types import Recipe
from models.encoders.registry import EncoderOptions
from models.types import SpanBounds
from spanseek_ray.indexing import Making, OnCluster
from spanseek_ray.settings import ClusterOptions
from tests.fake_encoders import FakeEncoders
from tests.workspace import document

DOCUMENTS = [document(f"d{at}", f"where is needle{at}") for at in range(40)]


@pytest.fixture(params=["folder", "bucket"])
def services(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Services]:
    """Services whose segments lie in a folder or in a bucket, and whose jobs run on a cluster."""
    bucket = {"segments_url": (tmp_path / "bucket").as_uri(), "segments_cache": tmp_path / "cache"}
    settings = Settings(
        _env_file=None,
        data_dir=tmp_path / "data",
        encoder="hashing",
        index_engine="ray",
        segment_units=20,
        grace_s=0,
        **(bucket if request.param == "bucket" else {}),
    )
    settings.data_dir.mkdir()
    schema.upgrade(settings.catalog_url)
    with closing(open_store(settings)) as store:
        yield Services(settings, store)


def test_a_job_writes_where_the_settings_say(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeEncoders(2).install(monkeypatch)
    target = services.get(CollectionService).create("c", CollectionOptions()).collection
    services.get(PhraseService).add("c", PhraseDraft("seven", "needle7", threshold=0.99))
    assert services.get(CollectionJobs).index(target, DOCUMENTS).documents == 40
    assert len(fake.names) > 2
    snapshot = services.store.snapshot("c")
    assert snapshot.damaged == ()
    assert services.store.catalog.collection("c").documents == 40
    assert services.store.segments.names(target.id) == {view.name for view in snapshot.views}
    assert [event.document_id for event in services.get(PhraseService).events("c", 10).events] == ["d7"]


def test_documents_of_a_request_are_encoded_here(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeEncoders(2).install(monkeypatch)
    services.get(CollectionService).create("c", CollectionOptions())
    assert len(services.get(DocumentService).upsert("c", DOCUMENTS[:3]).outcomes) == 3
    assert fake.actors == []


def test_what_travels_holds_in_other_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = Recipe("hashing", "f", 64, SpanBounds())
    options = EncoderOptions("mine", weights=Path("w"), open_backbone=lambda name, device: pytest.fail("opened"))
    making = OnCluster(ClusterOptions(), SegmentsOptions(Path("data"))).making("id", recipe, options)
    arrived = pickle.loads(pickle.dumps(making))
    assert isinstance(arrived, Making)
    assert arrived.segments.folder == tmp_path / "data"
    assert (arrived.encoders.backbone, arrived.encoders.weights) == (str(tmp_path / "mine"), tmp_path / "w")
    assert arrived.encoders.whitenings == tmp_path / "data" / "whitenings"


@pytest.mark.parametrize(("name", "there"), [("cuda:1", "cuda"), ("cuda", "cuda"), ("auto", "auto"), ("cpu", "cpu")])
def test_an_actor_counts_its_gpus_from_0(name: str, there: str) -> None:
    on_cluster = OnCluster(ClusterOptions(), SegmentsOptions(Path("segments")))
    making = on_cluster.making("1", Recipe("hashing", "f", 64, SpanBounds()), EncoderOptions(device=name))
    assert making.encoders.device == there
