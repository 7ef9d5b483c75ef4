"""Index, look, index again: nothing lost, nothing twice, nothing kept in memory."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import indexer.indexing.encode
import indexer.indexing.pipeline
import indexer.indexing.segment_maker
from indexer.catalog.leases import lease
from indexer.errors import CollectionBusy, RecipeMismatch
from indexer.indexing.pipeline import IndexReport
from indexer.sources import BadRecord, Record
from models.encoders.hashing import HashingEncoder
from models.types import SpanBounds
from tests.memory import peaks_of
from tests.workspace import Workspace, document, records


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path) as made:
        yield made


@pytest.fixture
def small_pools(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    make_pools_small(workspace, monkeypatch)
    return workspace


def make_pools_small(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen documents are looked up together; eight batches of 32 tokens make a pool, and a segment."""
    monkeypatch.setattr(indexer.indexing.pipeline, "_BATCH_DOCUMENTS", 16)
    monkeypatch.setattr(indexer.indexing.encode, "_FIRST_BATCHES", 8)
    monkeypatch.setattr(indexer.indexing.encode, "_POOL_S", 1e9)
    workspace.encoder = HashingEncoder()
    workspace.encoder.batch_tokens = 32


CALLS = records([("a", "where is my parcel"), ("b", "cancel my subscription now"), ("c", "thank you. Good bye")])


def test_what_is_indexed_is_found(workspace: Workspace) -> None:
    report = workspace.index(CALLS)
    assert (report.documents, report.parts, report.units, report.skipped) == (3, 3, 13, 0)
    assert report.generation == 1
    assert report.bytes_on_disk == workspace.catalog.collection("c").bytes
    (hit, *_) = workspace.search("My Subscription")
    assert (hit.document_id, hit.start, hit.end, hit.text) == ("b", 7, 22, "my subscription")
    assert hit.raw == pytest.approx(1, abs=1e-4)


def test_replaying_a_job_changes_nothing(workspace: Workspace) -> None:
    workspace.index(CALLS)
    before = workspace.search("my parcel"), workspace.folders()
    report = workspace.index(CALLS)
    assert (report.documents, report.unchanged, report.units, report.bytes_on_disk) == (0, 3, 0, 0)
    assert report.generation == 1
    assert (workspace.search("my parcel"), workspace.folders()) == before


def test_a_changed_document_replaces_the_old_one(workspace: Workspace) -> None:
    workspace.index(CALLS)
    report = workspace.index([document("a", "my letter never came", read=True), CALLS[1]])
    assert (report.documents, report.unchanged, report.generation) == (1, 1, 2)
    assert workspace.found("parcel") == set()
    assert workspace.found("letter") == {("a", "letter")}
    assert workspace.catalog.collection("c").documents == 3


def test_changed_metadata_is_a_change(workspace: Workspace) -> None:
    workspace.index([document("a", "x")])
    assert workspace.index([document("a", "x", seen=1)]).documents == 1
    assert workspace.search("x")[0].metadata == {"seen": 1}


def test_of_an_id_that_occurs_twice_the_last_document_counts(workspace: Workspace) -> None:
    twice = records([("a", "first draft"), ("b", "other"), ("a", "second draft")])
    for generation in (1, 1, 1):
        assert workspace.index(twice).generation == generation
        assert workspace.found("draft") == {("a", "draft")}
        assert workspace.found("first") == set()
        assert workspace.found("second") == {("a", "second")}


def test_an_id_that_comes_back_much_later_is_still_the_last(workspace: Workspace) -> None:
    between = [document(f"between {number}", "filler") for number in range(600)]
    twice = [document("a", "first"), *between, document("a", "second")]
    back = [document("a", "second"), *between, document("a", "first")]
    for source, lives, dies in ((twice, "second", "first"), (twice, "second", "first"), (back, "first", "second")):
        workspace.index(source)
        assert workspace.found(lives) == {("a", lives)}
        assert workspace.found(dies) == set()


def test_bad_records_are_counted_and_told(workspace: Workspace) -> None:
    told: list[BadRecord] = []
    bad = BadRecord("x:1", "broken")
    report = workspace.index([bad, *CALLS, bad], bad_record=told.append)
    assert (report.documents, report.skipped, told) == (3, 2, [bad, bad])


def test_an_empty_source_leaves_an_empty_collection(workspace: Workspace) -> None:
    report = workspace.index([])
    assert (report.documents, report.generation, report.bytes_on_disk) == (0, 0, 0)
    assert workspace.search("anything") == ()
    assert workspace.folders() == set()


def test_documents_without_units_are_kept(workspace: Workspace) -> None:
    silent = [document("empty", ""), document("blank", " \n", "\t"), document("none")]
    assert workspace.index(silent).units == 0
    assert workspace.search("anything") == ()
    assert workspace.index([*silent, *CALLS]).unchanged == 3
    assert workspace.catalog.collection("c").documents == 6
    assert workspace.found("parcel") == {("a", "parcel")}


def test_segments_are_published_as_they_fill(small_pools: Workspace) -> None:
    workspace = small_pools
    many = [document(f"d{number:04}", f"needle{number} " + "hay " * 9) for number in range(400)]
    generations: list[int] = []
    report = workspace.index(many, segment_units=1, progress=lambda so_far: generations.append(so_far.generation))
    assert generations[-1] == report.generation > 16
    assert generations == sorted(generations)
    assert generations[1] < generations[-2]
    assert workspace.folders() == workspace.live()
    for number in (0, 200, 399):
        assert workspace.found(f"needle{number}") == {(f"d{number:04}", f"needle{number}")}
    assert workspace.index(many, segment_units=1).unchanged == 400


def test_what_was_published_in_small_segments_is_merged(small_pools: Workspace) -> None:
    """Seventeen segments of a size are two full tiers and one segment."""
    workspace = small_pools
    many = [document(f"d{number:04}", "ten words that are of no use to anybody here") for number in range(17 * 24)]
    report = workspace.index(many, segment_units=1)
    assert (report.generation, report.units) == (17 + 2, 10 * len(many))
    assert sorted(one.info.units for one in workspace.catalog.live_generation("c").segments) == [240, 1920, 1920]
    assert workspace.folders() == workspace.live()
    workspace.index([document("d0000", "changed")])
    assert workspace.found("changed") == {("d0000", "changed")}


@pytest.mark.ci("many documents")
def test_stopping_publishes_what_was_read(workspace: Workspace) -> None:
    many = [document(f"d{number:04}", f"needle{number}") for number in range(1_000)]
    given: list[Record] = []
    report = workspace.index((given.append(record) or record for record in many), stop=lambda: len(given) > 400)
    assert report.documents == len(given) - 1 == 400
    assert workspace.found("needle399")
    rest = workspace.index(many)
    assert (rest.documents, rest.unchanged) == (600, 400)
    assert workspace.catalog.collection("c").documents == 1_000
    assert workspace.found("needle399") == {("d0399", "needle399")}


def test_stopping_at_once_publishes_nothing(workspace: Workspace) -> None:
    assert workspace.index(CALLS, stop=lambda: True).generation == 0


def test_a_second_writer_is_told_that_the_collection_is_busy(workspace: Workspace) -> None:
    def meanwhile() -> Iterator[Record]:
        yield CALLS[0]
        with pytest.raises(CollectionBusy, match="is being written to by"):
            workspace.index(CALLS)
        workspace.index(CALLS, name="another")
        yield CALLS[1]

    assert workspace.index(meanwhile()).documents == 2
    with lease(workspace.catalog, "c"), pytest.raises(CollectionBusy):
        workspace.index(CALLS)
    assert workspace.index(CALLS).documents == 1


def test_another_recipe_is_refused(workspace: Workspace) -> None:
    workspace.index(CALLS)
    with pytest.raises(RecipeMismatch, match=r"spans of 1 to 20 units.*spans of 2 to 5 units") as refused:
        workspace.index(CALLS, bounds=SpanBounds(2, 5))
    assert "collection of another name" in refused.value.hint
    workspace.encoder = HashingEncoder(dim=32)
    with pytest.raises(RecipeMismatch, match=r"64 dimensions.*32 dimensions"):
        workspace.collection()


def test_span_bounds_hold(workspace: Workspace) -> None:
    workspace.index(CALLS, bounds=SpanBounds(2, 3))
    hits = workspace.search("my", top_k=100)
    assert {len(hit.text.split()) for hit in hits} <= {2, 3}


def test_what_lies_about_is_swept(workspace: Workspace) -> None:
    workspace.index(CALLS)
    folder = workspace.store.folder(workspace.catalog.collection("c"))
    (folder / "tmp-0-0").mkdir()
    (folder / "tmp-0-0" / "vectors.i8").write_bytes(b"x")
    (folder / "a file of somebody").write_bytes(b"x")
    workspace.index(CALLS)
    assert workspace.folders() == workspace.live() | {"a file of somebody"}


def index_in_small_pools(documents: int) -> None:
    source = (document(f"d{number}", f"a call with the number {number}", n=number) for number in range(documents))
    with TemporaryDirectory() as made, Workspace(Path(made)) as workspace, pytest.MonkeyPatch.context() as patched:
        make_pools_small(workspace, patched)
        workspace.index(source, segment_units=300)
        assert workspace.catalog.collection("c").documents == documents


@pytest.mark.ci("many documents")
def test_memory_does_not_grow_with_the_input() -> None:
    small, large = peaks_of(index_in_small_pools, (120,), (400,))
    assert large < 1.3 * small


def test_reading_goes_no_further_than_a_pool_ahead(small_pools: Workspace) -> None:
    read: list[int] = []
    ahead: list[int] = []

    def source() -> Iterator[Record]:
        for number in range(300):
            read.append(number)
            yield document(f"d{number}", "ten words make a text, or so it is said")

    small_pools.index(source(), progress=lambda so_far: ahead.append(len(read) - so_far.documents))
    assert len(ahead) > 10
    assert max(ahead) <= 16


@pytest.mark.ci("many documents")
def test_documents_of_many_parts_are_tokenized_in_batches_of_few(tmp_path: Path, monkeypatch) -> None:
    """A batch's memory is that of its parts: a million of them would take 3 GB."""
    batches: list[int] = []
    real = indexer.indexing.segment_maker.split

    def split(encoder, batch, form):
        batches.append(len(batch))
        return real(encoder, batch, form)

    monkeypatch.setattr(indexer.indexing.segment_maker, "split", split)
    with Workspace(tmp_path) as workspace:
        workspace.index(document(str(number), *[""] * 10_000) for number in range(5))
        workspace.index(document(f"few {number}", "") for number in range(5))
    assert batches == [2, 2, 1, 5]


def test_work_is_published_every_few_seconds(small_pools: Workspace) -> None:
    """A pool takes three seconds here: every second one ends a segment, and a kill loses what came after."""
    workspace, now, published = small_pools, [0.0], []
    many = [document(f"d{number:04}", f"needle{number} " + "hay " * 9) for number in range(400)]

    def progress(report: IndexReport) -> None:
        now[0] += 3.0
        published.append(report.generation)
        if len(published) == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workspace.index(many, publish_s=5.0, clock=lambda: now[0], progress=progress)
    assert published == [0, 0, 1, 1, 2, 2, 3, 3, 4]
    resumed = workspace.index(many)
    assert resumed.unchanged == 8 * 24
    assert resumed.unchanged + resumed.documents == len(many)


def test_pools_take_as_long_as_work_may_wait(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoder that takes a second for 32 tokens gets pools of two seconds after a first one of 32."""
    now, sizes = [0.0], []

    class Slow(HashingEncoder):
        def forward(self, batches):
            for batch in batches:
                now[0] += sum(len(ids) for ids in batch) / 32
                yield from super().forward([batch])

    encoder = Slow()
    encoder.batch_tokens = 32
    many = [document(f"d{number}", "one two three four five six seven") for number in range(24)]
    workspace.index(
        many,
        encoder=encoder,
        publish_s=5.0,
        clock=lambda: now[0],
        progress=lambda report: sizes.append(report.documents),
    )
    assert sizes[:3] == [4, 14, 24]


def test_what_is_read_slowly_is_published_every_few_seconds(workspace: Workspace) -> None:
    """Records that take a second each are looked up, encoded and published after a few."""
    now, published = [0.0], []

    def slowly() -> Iterator[Record]:
        for number in range(30):
            now[0] += 1.0
            published.append(workspace.catalog.collection("c").documents if number else 0)
            yield document(f"d{number}", "late parcel")

    workspace.index(slowly(), publish_s=5.0, clock=lambda: now[0])
    assert all(number - before <= 9 for number, before in enumerate(published))


def test_reasons_that_quote_records_are_told_apart_up_to_a_number(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer.indexing.pipeline, "_KINDS_OF_REASONS", 2)
    bad = [BadRecord(f"x:{number}", f"no field {name}{number}") for number, name in enumerate("abcab")]
    report = workspace.index([*CALLS, *bad])
    assert report.reasons == {"no field aN": 2, "no field bN": 2, "other reasons": 1}
    assert report.to_json()["skipped_by_reason"] == report.reasons
