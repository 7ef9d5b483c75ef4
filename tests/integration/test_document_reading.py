"""Documents read back from segments, listed, relabelled, and deleted by a filter."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.collections import documents
from app.collections.documents import DocumentService
from app.collections.jobs import CollectionJobs
from app.encoders.encoders import Encoders
from indexer.engine.query import Filter
from indexer.errors import CollectionBusy, DocumentNotFound
from indexer.indexing.verification import verify_collection
from indexer.phrases import PhraseDraft
from indexer.segments.text import offset_in
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.ops.span_score import COSINE
from models.types import Document, Metadata, Part
from tests import strategies
from tests.examples import examples
from tests.workspace import Workspace, document

TURNS = Document(
    "a", (Part("Where is my 😀 parcel?", {"speaker": "customer"}), Part("On its way.")), {"kind": "call", "year": 7}
)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path, words=True) as made:
        made.index([TURNS, document("b", "Please cancel my plan.", year=2024)])
        made.index([document("c", "Nothing.", year=2024), document("b", "Cancel my plan.", year=2025)])
        yield made


def service_of(workspace: Workspace) -> DocumentService:
    encoders = Encoders.of({"hashing": workspace.encoder}, COSINE)
    return DocumentService(workspace.store, CollectionJobs(workspace.store, encoders, segment_units=10**6))


def stored_bytes(workspace: Workspace, id: str) -> dict[str, bytes]:
    """The files of the segment that holds a document alone."""
    (view,) = [view for view in workspace.store.present("c").views if view.live_documents.sum() == 1
               and view.segment.document_id(int(np.flatnonzero(view.live_documents)[0])) == id]  # fmt: skip
    assert view.segment.manifest.documents == 1
    return {path.name: path.read_bytes() for path in view.segment.folder.iterdir()}


@pytest.mark.parametrize(("unit", "ends"), [("codepoint", (21, 33)), ("utf16", (22, 34)), ("byte", (24, 36))])
def test_a_document_is_read_as_it_was_written(workspace, unit, ends) -> None:
    stored = workspace.reader.get("c", "a", unit)
    assert (stored.id, stored.text, stored.metadata, stored.offset_unit) == ("a", TURNS.text, TURNS.metadata, unit)
    assert [part.end for part in stored.parts] == list(ends)
    assert [part.start for part in stored.parts] == [0, ends[0] + 1]
    assert [part.metadata for part in stored.parts] == [{"speaker": "customer"}, {}]


@settings(max_examples=examples(12))
@given(st.lists(st.tuples(strategies.texts, st.sampled_from([1, 700])), min_size=1, max_size=4), st.data())
def test_an_excerpt_is_a_slice_of_the_whole_and_has_the_parts_that_it_touches(drawn, data) -> None:
    parts = tuple(Part(text * times, {"part": row}) for row, (text, times) in enumerate(drawn))
    with TemporaryDirectory() as folder, Workspace(Path(folder)) as workspace:
        workspace.index([document("before", "😀 Hello."), Document("d", parts, {"year": 7}), document("e", "Bye.")])
        for unit in ("codepoint", "utf16", "byte"):
            whole = workspace.reader.get("c", "d", unit)
            sizes = [offset_in(whole.text, end, unit) for end in range(len(whole.text) + 1)]
            start, end = sorted(data.draw(st.integers(0, sizes[-1] + 9)) for _ in range(2))
            read = workspace.reader.excerpt("c", "d", start, end, unit)
            inside = [at for at, size in enumerate(sizes) if start <= size <= end] or [0, 0]
            assert read.text == whole.text[inside[0] : inside[-1]]
            assert (read.metadata, read.length) == (whole.metadata, sizes[-1])
            assert not read.text or read.text_start == sizes[inside[0]]
            stop = (read.text_start or 0) + offset_in(read.text, len(read.text), unit)
            touched = [one for one in whole.parts if one.start < stop and one.end > (read.text_start or 0)]
            assert [one for one in read.parts if one in touched] == touched
            assert len(read.parts) <= len(touched) + 1  # a line break after a part is counted to it


def test_an_excerpt_that_ends_before_it_begins_is_refused(workspace) -> None:
    with pytest.raises(InvalidInput, match="3 to 2"):
        workspace.reader.excerpt("c", "a", 3, 2)
    with pytest.raises(DocumentNotFound):
        workspace.reader.excerpt("c", "d", 0, 2)


def test_a_replaced_document_is_read_once_and_an_unknown_one_not_at_all(workspace) -> None:
    reader = workspace.reader
    assert reader.get("c", "b").text == "Cancel my plan."
    assert [each.id for each in reader.list("c").documents] == ["a", "b", "c"]
    with pytest.raises(DocumentNotFound):
        reader.get("c", "d")
    with pytest.raises(InvalidInput):
        reader.list("c", 0)


@given(
    st.dictionaries(st.text("ab\u00e9\U0001f600", min_size=1, max_size=3), st.integers(0, 2), min_size=1, max_size=12),
    st.integers(1, 5),
    st.none() | st.integers(0, 2),
)
@settings(max_examples=examples(25), deadline=None)
def test_pages_join_up_to_all_documents_in_the_order_of_their_ids(tmp_path_factory, years, limit, year) -> None:
    with Workspace(tmp_path_factory.mktemp("pages")) as workspace:
        for half in (0, 1):
            batch = [document(id, "Text.", year=value) for id, value in list(years.items())[half::2]]
            workspace.index(batch)
        filter = Filter() if year is None else Filter({"year": year})
        expected = sorted(id for id, value in years.items() if year in (None, value))
        reader, cursor, ids = workspace.reader, None, []
        while True:
            page = reader.list("c", limit, cursor, filter)
            assert page.total == len(expected)
            ids += [each.id for each in page.documents]
            cursor = page.cursor
            if cursor is None:
                break
            assert len(page.documents) == limit
        assert ids == expected


def test_a_part_filter_is_passed_by_one_part(workspace) -> None:
    listed = workspace.reader.list("c", filter=Filter(part={"speaker": "customer"}))
    assert ([each.id for each in listed.documents], listed.total) == (["a"], 1)
    both = Filter({"year": 2024}, {"speaker": "customer"})
    assert workspace.reader.list("c", filter=both).documents == ()


def test_changed_metadata_is_found_and_nothing_is_encoded(workspace, monkeypatch) -> None:
    service = service_of(workspace)
    before = [replace(hit, metadata={}) for hit in workspace.search("where is my parcel")]
    monkeypatch.setattr(HashingEncoder, "forward", None)  # any use of it would fail
    changed = service.change("c", "a", {"reviewed": True, "year": 8}, ["kind"])
    assert (changed.status, changed.metadata) == ("changed", {"reviewed": True, "year": 8})
    assert workspace.reader.get("c", "a").metadata == changed.metadata
    assert service.change("c", "a", {"year": 8}).status == "unchanged"
    monkeypatch.undo()
    assert [replace(hit, metadata={}) for hit in workspace.search("where is my parcel")] == before
    assert verify_collection(workspace.store, workspace.store.catalog.collection("c")) == []
    with pytest.raises(DocumentNotFound):
        service.change("c", "d", {"year": 8})


@given(st.lists(st.builds(Part, strategies.texts, strategies.metadata), min_size=1, max_size=3), strategies.metadata,
       strategies.metadata)  # fmt: skip
@settings(max_examples=examples(15), deadline=None)
def test_a_relabelled_document_is_stored_as_an_upload_stores_it(tmp_path_factory, parts, old: Metadata, new) -> None:
    wanted = Document("a", tuple(parts), old | new)
    with Workspace(tmp_path_factory.mktemp("changed"), words=True) as workspace:
        workspace.index([Document("a", tuple(parts), old), document("b", "Another text.")])
        service = service_of(workspace)
        if service.change("c", "a", new).status == "unchanged":
            return
        assert workspace.index([wanted]).unchanged == 1
        relabelled = stored_bytes(workspace, "a")
    with Workspace(tmp_path_factory.mktemp("uploaded"), words=True) as workspace:
        workspace.index([wanted])
        assert stored_bytes(workspace, "a") == relabelled


def test_phrases_with_a_filter_meet_the_new_metadata(workspace) -> None:
    draft = PhraseDraft("cancel", "cancel my plan", threshold=0.9, filter=Filter({"kind": "call"}))
    workspace.phrases.add("c", draft, backfill=True)
    assert not workspace.phrases.events("c", 10).events
    service_of(workspace).change("c", "b", {"kind": "call"})
    assert [event.document_id for event in workspace.phrases.events("c", 10).events] == ["b"]


def test_documents_are_deleted_by_a_filter_and_counted(workspace) -> None:
    service = service_of(workspace)
    filter = Filter({"year": 2024})
    assert service.delete_matching("c", filter, dry_run=True).deleted == 1
    assert len(workspace.reader.list("c").documents) == 3
    deleted = service.delete_matching("c", filter)
    assert (deleted.deleted, deleted.generation) == (1, workspace.store.catalog.generation("c"))
    assert [each.id for each in workspace.reader.list("c").documents] == ["a", "b"]
    assert service.delete_matching("c", filter).deleted == 0
    with pytest.raises(InvalidInput):
        service.delete_matching("c", Filter())


def test_a_writer_waits_for_a_thread_of_its_process_but_not_for_ever(workspace, monkeypatch) -> None:
    monkeypatch.setattr(documents, "TURN_S", 0.01)
    service, tries = service_of(workspace), []
    with service._turn(workspace.store.catalog.collection("c"), lambda error: False):
        with pytest.raises(CollectionBusy):
            service.delete("c", ["a"])
        with pytest.raises(CollectionBusy):
            service.upsert("c", [TURNS], busy=lambda error: bool(tries.append(error) or len(tries) < 3))
    assert len(tries) == 3
    assert service.delete("c", ["a"]).results[0].status == "deleted"
