"""Collections that do not store their texts: hits are restored, and the data folder holds no text."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from sqlalchemy import update

from app.collections.documents import DocumentService
from app.collections.jobs import CollectionJobs
from app.encoders.encoders import Encoders
from app.requests import SpanChoice
from app.search.errors import ModeUnavailable
from app.search.mode import load_modes
from app.tasks.service import TaskService
from app.texts import restoring
from app.texts.requests import SpanRange
from app.texts.restored_answers import GivenVectors, RestoreRequest, StoredSpans
from app.texts.restoring import RestoreService
from app.texts.span_answers import TooManySentences
from indexer.catalog.collections import recipe_columns
from indexer.catalog.leases import lease
from indexer.catalog.tables import collections
from indexer.errors import DocumentNotFound, TextNotStored
from indexer.indexing.maintenance import optimize
from indexer.phrases import PhraseDraft
from indexer.restorable import texts
from indexer.restorable.models import Restoring
from indexer.restorable.representation import restorable_details
from models.encoders.restorable.base import Restorer
from models.errors import InvalidInput
from models.types import Document
from tests.byte_restorer import ByteRestorer
from tests.workspace import Workspace, document, encoders_of

WRONG = "The word quokka is rare."
DOCUMENTS = [
    document("a", "The zebra sleeps. It never wants a xylophone!", "Cancel my plan.", kind="call"),
    document("b", "Please cancel my plan today. " + "A very long sentence " * 20 + "ends.", kind="call"),
    document("c", WRONG, "", "x" * 300),
]
SECRETS = ("zebra", "xylophone", "quokka", "sentence", "xxxxxxxx")


@pytest.fixture
def restorer() -> ByteRestorer:
    return ByteRestorer({WRONG: "The word koala is quite rare."})


@pytest.fixture
def workspace(tmp_path: Path, restorer: ByteRestorer) -> Iterator[Workspace]:
    with Workspace(tmp_path, restorer=restorer, store_text=False) as made:
        made.index(DOCUMENTS[:1])
        made.index(DOCUMENTS[1:])
        yield made


def service_of(workspace: Workspace, restorer: Restorer) -> RestoreService:
    encoders = encoders_of(workspace.encoder, restorer)
    return RestoreService(workspace.store, encoders, warn_below=0.5)


def bytes_below(folder: Path) -> Iterator[bytes]:
    """All files, packed texts unpacked."""
    for path in folder.rglob("*"):
        if path.is_file():
            body = path.read_bytes()
            yield body
            if path.suffix == ".zst":
                yield b"".join(chunk for chunk in zstandard.ZstdDecompressor().read_to_iter(body)) if body else b""


def test_no_text_is_on_the_disk(workspace: Workspace, tmp_path: Path) -> None:
    workspace.phrases.add("c", PhraseDraft("cancel", "cancel my plan", threshold=0.9))
    workspace.index([document("d", "The zebra wants to cancel my plan.")])
    workspace.search("zebra")
    with lease(workspace.catalog, "c") as held:
        optimize(workspace.store, held)
    found = [secret for body in bytes_below(tmp_path) for secret in SECRETS if secret.encode() in body]
    assert found == []
    assert b"cancel my plan" in b"".join(bytes_below(tmp_path))  # the phrase that the operator saved


def test_the_search_for_texts_would_find_them(tmp_path: Path) -> None:
    with Workspace(tmp_path, restorer=ByteRestorer()) as stored:
        stored.index(DOCUMENTS)
        bodies = b"".join(bytes_below(tmp_path))
        assert all(secret.encode() in bodies for secret in SECRETS)


@pytest.mark.parametrize("mode", ["best_span", "restorable"])
def test_hits_are_restored(workspace: Workspace, mode) -> None:
    texts = {each.id: each.text for each in DOCUMENTS}
    hits = workspace.search("cancel my plan", mode=mode, top_k=1000, context=10, explain=True)
    assert {hit.document_id for hit in hits} == {"a", "b", "c"}
    for hit in hits:
        assert hit.restored
        said = texts[hit.document_id][hit.start : hit.end]
        if hit.document_id == "c" and said in WRONG:
            assert (hit.text, hit.confidence) == ("The word koala is quite rare.", 0.25)
        else:
            assert (hit.text, hit.confidence) == (said, 1.0)
        assert hit.context.text[hit.context.start : hit.context.end] == hit.text
    (best, *_) = hits
    assert best.text.rstrip(".").lower().endswith("cancel my plan")
    if mode == "best_span":
        assert [unit.text for unit in best.explanation.units] == best.text.split()


def test_whole_sentences_and_parts_are_restored(workspace: Workspace) -> None:
    for boundaries in ("sentence", "part"):
        hits = workspace.search("the zebra sleeps", spans=SpanChoice(boundaries=boundaries), explain=True)
        assert hits[0].text.startswith("The zebra sleeps.")
    assert hits[0].text == "The zebra sleeps. It never wants a xylophone!"


def test_polarity_and_contexts_stay_within_the_sentence(workspace: Workspace) -> None:
    (hit, *_) = workspace.search("wants a xylophone", context=200)
    assert hit.polarity == "negated"
    assert hit.context.text == "It never wants a xylophone!"


def test_sentences_are_restored_once(workspace: Workspace, restorer: ByteRestorer) -> None:
    workspace.search("cancel my plan", top_k=3)
    before = restorer.restored
    workspace.search("cancel my plan", top_k=3)
    assert restorer.restored == before


def test_documents_are_ranked_by_the_best_sentence_for_each_of_the_query(workspace: Workspace) -> None:
    query = "It never wants a xylophone! Cancel my plan."
    (first, *_) = workspace.search(query, mode="restorable", group_by="document")
    assert (first.document_id, first.raw) == ("a", pytest.approx(1, abs=0.01))
    (sentence, *_) = workspace.search(query, mode="restorable")
    assert sentence.raw < first.raw


@pytest.mark.parametrize(("mode", "error"), [("lexical", ModeUnavailable), ("maxsim", ModeUnavailable)])
def test_modes_that_need_texts_are_refused(workspace: Workspace, mode, error) -> None:
    with pytest.raises(error) as refused:
        workspace.search("cancel", mode=mode)
    assert "by MaxSim. Use mode best_span or restorable." in refused.value.hint


def test_other_offsets_are_refused(workspace: Workspace) -> None:
    with pytest.raises(TextNotStored) as refused:
        workspace.search("cancel", offset_unit="utf16")
    assert refused.value.field == "offset_unit"


def test_a_document_is_read(workspace: Workspace) -> None:
    stored = workspace.reader.get("c", "a")
    assert (stored.text, stored.restored, stored.confidence) == (DOCUMENTS[0].text, True, 1.0)
    assert [stored.text[part.start : part.end] for part in stored.parts] == [part.text for part in DOCUMENTS[0].parts]
    other = workspace.reader.get("c", "c")
    assert (other.text, other.confidence) == ("The word koala is quite rare.\n\n" + "x" * 300, 0.25)
    assert [each.beginning for each in workspace.reader.list("c").documents] == ["", "", ""]
    with pytest.raises(TextNotStored):
        workspace.reader.excerpt("c", "a", 0, 5)


def test_metadata_changes_and_documents_are_replaced(workspace: Workspace, restorer: ByteRestorer) -> None:
    encoders = encoders_of(workspace.encoder, restorer)
    documents = DocumentService(workspace.store, CollectionJobs(workspace.store, encoders, segment_units=10**6))
    assert documents.change("c", "a", {"kind": "mail"}).metadata == {"kind": "mail"}
    assert workspace.reader.get("c", "a").text == DOCUMENTS[0].text
    changed = Document("a", DOCUMENTS[0].parts, {"kind": "mail"})
    assert workspace.index([changed]).documents == 1  # the text is not there to compare with
    assert workspace.index([changed]).unchanged == 1


def test_matches_keep_no_text(workspace: Workspace) -> None:
    workspace.phrases.add("c", PhraseDraft("cancel", "cancel my plan", threshold=0.9))
    workspace.index([document("d", "Cancel my plan.")])
    (event,) = workspace.phrases.events("c", 10).events
    assert (event.document_id, event.text) == ("d", "")


def test_stored_sentences_are_restored(workspace: Workspace, restorer: ByteRestorer) -> None:
    service = service_of(workspace, restorer)
    spans = SpanRange("a", 22, 23), SpanRange("a", 0, 10**6), SpanRange("c", 4, 5)
    first, whole, wrong = service.restore(RestoreRequest(stored=StoredSpans("c", spans))).texts
    assert (first.text, first.start, first.end) == ("It never wants a xylophone!", 18, 45)
    assert whole.text == DOCUMENTS[0].text.replace("\n", " ")
    assert (whole.warning, wrong.confidence) == (None, 0.25)
    assert "0.25" in (wrong.warning or "")
    lenient = service.restore(RestoreRequest(stored=StoredSpans("c", spans[2:]), warn_below=0.2))
    assert lenient.texts[0].warning is None
    for span, error in ((SpanRange("none", 0, 1), DocumentNotFound), (SpanRange("a", 900, 901), InvalidInput)):
        with pytest.raises(error):
            service.restore(RestoreRequest(stored=StoredSpans("c", (span,))))


def test_queries_load_what_restores_their_hits_before_they_are_timed(workspace: Workspace) -> None:
    loaded: list[ByteRestorer] = []
    encoders = Encoders.of({"hashing": workspace.encoder})
    encoders.share(Restoring, Restoring(encoders, lambda: loaded.append(ByteRestorer()) or loaded[0]))
    load_modes(encoders)["best_span"].load(workspace.catalog.collection("c").recipe)
    assert len(loaded) == 1


def test_too_many_sentences_are_refused(workspace: Workspace, restorer: ByteRestorer, monkeypatch) -> None:
    monkeypatch.setattr(restoring, "MAX_SENTENCES", 2)
    whole = RestoreRequest(stored=StoredSpans("c", (SpanRange("a", 0, 10**6),)))
    with pytest.raises(TooManySentences, match="3 sentences"):
        service_of(workspace, restorer).restore(whole)


def test_a_long_document_is_restored_in_pieces(workspace: Workspace, monkeypatch) -> None:
    monkeypatch.setattr(texts, "_AT_ONCE", 1)
    assert workspace.reader.get("c", "b").text == DOCUMENTS[1].text


def test_an_upload_that_began_before_texts_were_given_up_is_not_spooled(tmp_path: Path) -> None:
    with Workspace(tmp_path) as stored:
        stored.collection()
        tasks = TaskService(stored.store, backlog=10**9)
        upload = tasks.upload("c", "ndjson")
        upload.begin()
        upload.write(b'{"id": "a", "text": "The heron waits."}\n')
        details = {"restorable": restorable_details(ByteRestorer(), store_text=False)}
        recipe = replace(stored.catalog.collection("c").recipe, details=details)
        with stored.catalog.database.write() as connection:
            connection.execute(update(collections).values(**recipe_columns(recipe)))
        with pytest.raises(TextNotStored):
            upload.finish()
        upload.abandon()
        assert not [body for body in bytes_below(tmp_path) if b"heron" in body]


def test_vectors_go_there_and_back(workspace: Workspace, restorer: ByteRestorer) -> None:
    service, texts = service_of(workspace, restorer), ["It rains.", "naïve 😀"]
    made = service.vectors(texts)
    memories = tuple(restorer.encode(texts))
    answer = service.restore(RestoreRequest(GivenVectors(memories, made.fingerprint)))
    assert [each.text for each in answer.texts] == texts
    with pytest.raises(InvalidInput) as refused:
        service.restore(RestoreRequest(GivenVectors(memories, "restorable:other")))
    assert refused.value.field == "fingerprint"


def test_a_collection_with_texts_has_no_sentences_to_restore(tmp_path: Path, restorer: ByteRestorer) -> None:
    with Workspace(tmp_path) as plain:
        plain.index(DOCUMENTS[:1])
        with pytest.raises(ModeUnavailable, match="no vectors"):
            service_of(plain, restorer).restore(RestoreRequest(stored=StoredSpans("c", (SpanRange("a", 0, 1),))))


def test_what_reads_texts_says_that_there_are_none(workspace: Workspace) -> None:
    (view, *_) = workspace.store.present("c").views
    with pytest.raises(TextNotStored):
        view.segment.long_text(0, 1)
