"""Segments made by encoder actors: nothing lost, nothing twice, and the answers of a job in one process."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.requests import SearchRequest
from indexer.errors import ExecutorUnavailable, RecipeMismatch, SegmentsUnavailable
from indexer.indexing.encode import SplitDocument
from indexer.indexing.segment_maker import LocalMaker
from indexer.phrases import PhraseDraft
from indexer.segments.local import LocalSegments
from indexer.segments.storage import Segments
from indexer.sources import Record
from indexer.types import Collection
from models.types import Document
from spanseek_ray.segment_maker import ClusterMaker
from spanseek_ray.settings import ClusterOptions
from tests.fake_encoders import FakeEncoders
from tests.workspace import Workspace, document

WORDS = ["the", "parcel", "never", "came", "to", "my", "door", "please", "cancel", "invoice", "router", "slow", "again"]


def documents(count: int) -> list[Document]:
    rng = random.Random(7)
    return [document(f"d{at:03}", " ".join(rng.choices(WORDS, k=30)), f"needle{at}", at=at) for at in range(count)]


MANY = documents(120)


@dataclass(frozen=True)
class InProcess:
    """Makers whose actors are those of a fake, and write to ``segments`` of their own. A block has a few documents."""

    workspace: Workspace
    segments: Segments | None = None

    def __call__(self, collection: Collection) -> ClusterMaker:
        store, encoders = self.workspace.store, self.workspace.encoders
        segments, recipe = self.segments or LocalSegments(store.segments.root), collection.recipe

        def make() -> LocalMaker:
            forward = encoders.forward_pass(recipe)
            return LocalMaker(segments, collection.id, recipe, self.workspace.encoder, forward)

        return ClusterMaker(store.segments, collection.id, make, ClusterOptions(), segment_units=50)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path, words=True) as made:
        yield made


def assert_as_one_process(workspace: Workspace, given: list[Document], tmp_path: Path) -> None:
    """Every document once, no file too many, and hits to the bit those of a plain job."""
    assert workspace.catalog.collection("c").documents == len(given)
    assert workspace.folders() == workspace.live()
    plain = tmp_path / "plain"
    plain.mkdir()
    with Workspace(plain, words=True) as single:
        single.index(given)
        for request in ({"text": "please cancel"}, {"text": "my door", "top_k": 1000}, {"text": "needle7"}):
            answers = [each.service.search(SearchRequest("c", **request))[0] for each in (workspace, single)]
            clustered, local = (replace(answer, took_ms=0.0, generation=0, cursor=None) for answer in answers)
            assert clustered == local


def test_a_job_is_that_of_one_process(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeEncoders(3).install(monkeypatch)
    told: list[tuple[int, int]] = []
    report = workspace.index(MANY, maker=InProcess(workspace), progress=lambda r: told.append((r.read, r.encoded)))
    assert (report.documents, report.unchanged, report.skipped, report.parts) == (120, 0, 0, 240)
    assert report.units == sum(live.info.units for live in workspace.catalog.live_generation("c").segments)
    assert told == sorted(told)
    assert told[-1] == (report.read, report.read)
    assert len(fake.names) > 16  # merged into few
    assert len(workspace.live()) < 16
    assert_as_one_process(workspace, MANY, tmp_path)


def test_nothing_to_encode_starts_no_actor(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.index(MANY)
    fake = FakeEncoders(3).install(monkeypatch)
    assert workspace.index(MANY, maker=InProcess(workspace)).unchanged == 120
    assert fake.actors == []


@pytest.mark.ci("long jobs")
@pytest.mark.parametrize("fate", ["dies", "dies when done"])
def test_actors_that_die_lose_nothing(
    fate: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rng = random.Random(5)
    fake = FakeEncoders(
        3, fate=lambda: fate if rng.random() < 0.3 else "returns", choose=lambda calls: rng.randrange(calls)
    ).install(monkeypatch)
    report = workspace.index(MANY, maker=InProcess(workspace))
    assert len(fake.actors) > 6
    assert report.documents == 120
    assert_as_one_process(workspace, MANY, tmp_path)


@pytest.mark.ci("long jobs")
def test_a_job_that_is_given_up_is_resumed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    left = iter(["returns"] * 9)
    FakeEncoders(2, fate=lambda: next(left, "dies when done")).install(monkeypatch)
    with pytest.raises(ExecutorUnavailable):
        workspace.index(MANY, maker=InProcess(workspace))
    published = workspace.catalog.collection("c").documents
    assert 0 < published < 120
    FakeEncoders(2).install(monkeypatch)
    report = workspace.index(MANY, maker=InProcess(workspace))
    assert (report.unchanged, report.documents) == (published, 120 - published)
    assert_as_one_process(workspace, MANY, tmp_path)


def test_of_an_id_that_occurs_twice_the_last_document_counts(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = random.Random(3)
    FakeEncoders(3, choose=lambda calls: late.randrange(calls)).install(monkeypatch)
    twice = [document("a", "first"), *MANY, document("a", "second")]
    workspace.index(twice, maker=InProcess(workspace))
    assert workspace.found("second") == {("a", "second")}
    assert workspace.found("first") == set()


def test_stopping_publishes_what_was_read(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeEncoders(2).install(monkeypatch)
    given: list[Record] = []
    source = (given.append(record) or record for record in MANY)
    report = workspace.index(source, maker=InProcess(workspace), stop=lambda: len(given) > 40)
    assert report.documents == len(given) - 1 == 40
    assert workspace.catalog.collection("c").documents == 40


def test_phrases_are_matched(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.collection()
    workspace.phrases.add("c", PhraseDraft("needle", "needle77", threshold=0.99))
    FakeEncoders(2).install(monkeypatch)
    workspace.index(MANY, maker=InProcess(workspace))
    assert [event.document_id for event in workspace.phrases.events("c", 10).events] == ["d077"]


def test_documents_that_cannot_be_encoded_are_told(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeEncoders(2).install(monkeypatch)
    longest = property(lambda item: 10**6 if item.document.id == "bad" else 1)
    monkeypatch.setattr(SplitDocument, "longest_unit", longest)
    settled: list[str] = []
    bad = document("bad", "unreadable")
    report = workspace.index(
        [bad, document("good", "one two")], maker=InProcess(workspace), settled=lambda o: settled.append(o.status)
    )
    assert (report.skipped, report.documents, sorted(settled)) == (1, 1, ["failed", "indexed"])


def test_errors_of_actors_are_those_of_the_job(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeEncoders(2).install(monkeypatch)

    def mismatched() -> LocalMaker:
        raise RecipeMismatch("The collection was indexed with other weights.")

    def maker(collection: Collection) -> ClusterMaker:
        return ClusterMaker(workspace.store.segments, collection.id, mismatched, ClusterOptions())

    with pytest.raises(RecipeMismatch):
        workspace.index(MANY, maker=maker)
    assert fake.alive == []


def test_a_segment_that_is_elsewhere_is_not_published(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    FakeEncoders(2).install(monkeypatch)
    elsewhere = LocalSegments(tmp_path / "another machine")
    with pytest.raises(SegmentsUnavailable, match="An actor has written the segment"):
        workspace.index(MANY, maker=InProcess(workspace, elsewhere))
    assert workspace.catalog.collection("c").documents == 0
