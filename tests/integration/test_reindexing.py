"""Reindexing: everything arrives, everything that belongs to the name stays, and no search fails meanwhile."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from app.collections import reindexing
from app.collections.jobs import CollectionJobs
from app.collections.recipes import CollectionOptions
from app.collections.reindexing import Reindexed, Reindexing
from app.collections.service import CollectionService
from app.encoders.encoders import Encoders
from app.phrases.service import PhraseService
from app.requests import SearchRequest
from app.search.mode import load_modes
from app.search.service import SearchService
from indexer.catalog.calibrations import add_calibration, list_calibrations
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.catalog.thresholds import set_threshold, threshold_history
from indexer.errors import CollectionNotFound, RecipeMismatch
from indexer.indexing.pipeline import IndexJob, JobHooks
from indexer.indexing.verification import verify_collection
from indexer.phrases import PhraseChanges, PhraseDraft
from indexer.segments.local import LocalSegments
from indexer.tuning import CalibrationDraft
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.ops.span_score import COSINE
from models.types import Document, Part, SpanBounds
from tests.workspace import Workspace, document

TEXTS = {
    "a": Document(
        "a", (Part("Where is my parcel?", {"speaker": "customer"}), Part("On its way. 😀")), {"kind": "call"}
    ),
    "b": document("b", "Please cancel my plan.", year=2024),
    "c": document("c", "Nothing of the kind,", "at all."),
}
NEW = HashingEncoder(dim=32)
NOT_STOPPED = JobHooks()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path) as made:
        for each in TEXTS.values():
            made.index([each])
        yield made


class Upgraded:
    """The services over a workspace's store, with another encoder of the same name."""

    def __init__(self, workspace: Workspace) -> None:
        self.store = workspace.store
        self.encoders = Encoders.of({"hashing": NEW}, COSINE)
        self.modes = load_modes(self.encoders)
        self.service = SearchService(self.store, self.modes)
        self.phrases = PhraseService(self.store, self.encoders)
        self.collections = CollectionService(self.store, self.encoders, default_encoder="hashing")
        self.jobs = CollectionJobs(self.store, self.encoders, segment_units=500_000)

    def job(self, **options: Any) -> Reindexing:
        asked = CollectionOptions(**options)
        return Reindexing(self.store, self.encoders, self.collections, self.jobs, self.modes, "c", asked)

    def reindex(self, hooks: JobHooks = NOT_STOPPED, **options: Any) -> Reindexed | None:
        job = self.job(**options)
        return job.run(job.documents(), hooks)

    def write(self, *documents: Document) -> None:
        """Write as a server of the previous weights does."""
        target = self.store.catalog.collection("c")
        encoder = NEW if target.recipe.fingerprint == NEW.fingerprint else HashingEncoder()
        IndexJob(self.store, encoder, target, merge=False).run(documents)

    def texts(self) -> set[tuple[str, str]]:
        """The documents by their text."""
        spans = self.service.search(SearchRequest("c", text="parcel", group_by="document", top_k=1000))[0].hits
        snapshot = self.store.snapshot("c")
        segments = [view.segment for view in snapshot.views]
        assert len({hit.document_id for hit in spans}) == len(spans)
        return {
            (segment.document_id(number), segment.long_text(*segment.text_starts[number : number + 2].tolist()))
            for segment, view in zip(segments, snapshot.views, strict=True)
            for number in view.live_documents.nonzero()[0].tolist()
        }


def expected(*changed: Document, without: str = "") -> set[tuple[str, str]]:
    documents = TEXTS | {each.id: each for each in changed}
    return {(id, each.text) for id, each in documents.items() if id not in without}


def test_texts_of_other_weights_are_searched_again(workspace: Workspace) -> None:
    upgraded = Upgraded(workspace)
    with pytest.raises(RecipeMismatch) as caught:
        upgraded.service.search(SearchRequest("c", text="my parcel"))
    assert "spanseek reindex" in caught.value.hint
    before = workspace.catalog.collection("c")
    reindexed = upgraded.reindex(longest=7)
    after = workspace.catalog.collection("c")
    assert reindexed is not None
    assert (reindexed.documents, reindexed.fingerprint) == (3, NEW.fingerprint)
    assert (after.id, after.recipe.dim, after.recipe.bounds) == (before.id, 32, SpanBounds(1, 7))
    assert after.generation == reindexed.generation == before.generation + 1
    assert upgraded.texts() == expected()
    (hit,) = upgraded.service.search(SearchRequest("c", text="my parcel", top_k=1))[0].hits
    assert (hit.document_id, hit.text) == ("a", "my parcel")
    assert (hit.metadata, hit.part_metadata) == ({"kind": "call"}, {"speaker": "customer"})
    assert verify_collection(upgraded.store, after) == []


def test_nothing_of_the_built_collection_is_left(workspace: Workspace) -> None:
    upgraded = Upgraded(workspace)
    job = upgraded.job()
    job.run(job.documents(), NOT_STOPPED)
    assert [each.name for each in workspace.catalog.collections()] == ["c"]
    with pytest.raises(CollectionNotFound):
        workspace.catalog.collection(job.target)
    folders = {path.name for path in (workspace.store.data_dir / "collections").iterdir()}
    assert folders == {workspace.catalog.collection("c").id}
    assert len(workspace.catalog.retired_segments(workspace.catalog.collection("c").id)) == len(TEXTS)
    upgraded.write(document("d", "more"))  # the next job removes the retired segments
    assert workspace.folders() == workspace.live()


def test_what_belongs_to_the_name_stays(workspace: Workspace) -> None:
    catalog, upgraded = workspace.catalog, Upgraded(workspace)
    recipe = catalog.collection("c").recipe
    knots = ((0.0, 0.0), (0.9, 0.5), (1.0, 1.0))
    draft = CalibrationDraft("best_span", recipe.fingerprint, recipe.bounds, knots, "isotonic", 20)
    add_calibration(catalog, "c", draft, activate=True)
    set_threshold(catalog, "c", "best_span", 0.6)
    set_threshold(catalog, "c", "maxsim", 0.7, on="raw")
    workspace.phrases.add("c", PhraseDraft("plan", "cancel my plan", threshold=0.8), backfill=True)
    (match,) = workspace.phrases.events("c", limit=10).events
    assert upgraded.reindex() is not None
    assert upgraded.phrases.events("c", limit=10).events == (match,)
    (calibration,) = list_calibrations(catalog, "c")
    assert not calibration.active
    tuning = workspace.store.tunings.present("c", "best_span")
    assert tuning.threshold is not None
    assert (tuning.threshold.value, tuning.threshold.raw, tuning.calibration_id) == (0.6, 0.6, None)
    assert len(threshold_history(catalog, "c", "best_span")) == 2
    assert len(threshold_history(catalog, "c", "maxsim")) == 1
    own = upgraded.phrases.get("c", "plan").own.threshold
    assert own is not None
    assert (own.value, own.raw) == (0.8, 0.8)
    # The phrase is encoded anew: it finds new documents by the new vectors.
    upgraded.write(document("d", "They want to cancel my plan today."))
    assert [event.document_id for event in upgraded.phrases.events("c", limit=10).events] == ["b", "d"]


def test_calibrations_that_still_fit_stay_active(workspace: Workspace) -> None:
    catalog, upgraded = workspace.catalog, Upgraded(workspace)
    assert upgraded.reindex() is not None
    recipe = catalog.collection("c").recipe
    draft = CalibrationDraft("best_span", recipe.fingerprint, recipe.bounds, ((0, 0), (0.9, 0.5), (1, 1)), "x", 20)
    add_calibration(catalog, "c", draft, activate=True)
    set_threshold(catalog, "c", "best_span", 0.6)
    assert upgraded.reindex(words=True) is not None
    (calibration,) = list_calibrations(catalog, "c")
    assert calibration.active
    assert len(threshold_history(catalog, "c", "best_span")) == 1
    assert catalog.collection("c").recipe.representations == ("units", "words")


def test_what_is_written_meanwhile_is_neither_lost_nor_doubled(workspace: Workspace) -> None:
    upgraded, late = Upgraded(workspace), document("late", "Came in late.")
    changed = document("b", "Please keep my plan.")
    writes: list[Callable[[], None]] = [lambda: upgraded.write(late, changed), lambda: _delete(workspace, "c")]

    def write(_: object) -> None:
        while writes:
            writes.pop()()

    assert upgraded.reindex(JobHooks(progress=write)) is not None
    assert not writes
    assert upgraded.texts() == expected(late, changed, without="c")


@pytest.mark.parametrize(
    ("owner", "step"), [(LocalSegments, "adopt"), (Reindexing, "_encode"), (Reindexing, "_catch_up")]
)
def test_an_interrupted_job_goes_on(
    workspace: Workspace, owner: type, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgraded = Upgraded(workspace)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(owner, step, die)
        with pytest.raises(KeyboardInterrupt):
            upgraded.reindex()
    assert workspace.search("my parcel")[0].text == "my parcel"  # by the previous encoder
    reports: list[int] = []
    assert upgraded.reindex(JobHooks(progress=lambda report: reports.append(report.unchanged))) is not None
    assert max(reports) == len(TEXTS)
    assert upgraded.texts() == expected()
    assert verify_collection(upgraded.store, workspace.catalog.collection("c")) == []


def test_a_stopped_job_leaves_the_collection_as_it_is(workspace: Workspace) -> None:
    upgraded = Upgraded(workspace)
    assert upgraded.reindex(JobHooks(stop=lambda: True)) is None
    assert workspace.search("my parcel")[0].text == "my parcel"
    assert upgraded.reindex() is not None


def test_other_options_begin_anew(workspace: Workspace) -> None:
    upgraded = Upgraded(workspace)
    assert upgraded.reindex(JobHooks(stop=lambda: True), longest=5) is None
    assert upgraded.reindex(longest=6) is not None
    assert workspace.catalog.collection("c").recipe.bounds.longest == 6


def test_phrases_for_likely_matches_need_a_second_look(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    upgraded = Upgraded(workspace)
    monkeypatch.setattr(upgraded.store, "verifier", lambda recipe: object())
    workspace.phrases.add("c", PhraseDraft("plan", "cancel my plan", 0.9, likely_only=True))
    monkeypatch.setattr(upgraded.store, "verifier", lambda recipe: None)
    with pytest.raises(InvalidInput, match="1 saved phrases keep likely matches alone, as 'plan'") as refused:
        upgraded.reindex(longest=7)
    assert refused.value.field == "encoder"
    assert [one.name for one in upgraded.collections.list().collections] == ["c"]
    assert workspace.catalog.collection("c").recipe.bounds.longest != 7
    workspace.phrases.change("c", "plan", PhraseChanges(likely_only=False))
    assert upgraded.reindex(longest=7) is not None


def test_phrases_saved_while_they_are_encoded_are_encoded_too(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgraded, encode = Upgraded(workspace), Reindexing._encode
    drafts = [PhraseDraft("late", "cancel my plan", threshold=0.9)]

    def encode_late(self: Reindexing, *arguments: Any) -> Any:
        vectors = encode(self, *arguments)
        while drafts:
            workspace.phrases.add("c", drafts.pop())
        return vectors

    monkeypatch.setattr(reindexing.Reindexing, "_encode", encode_late)
    reindexed = upgraded.reindex()
    assert reindexed is not None
    assert reindexed.phrases == 1
    upgraded.write(document("d", "They want to cancel my plan today."))
    assert [event.document_id for event in upgraded.phrases.events("c", limit=10).events] == ["d"]


@pytest.mark.ci("long jobs")
def test_searches_go_on(workspace: Workspace) -> None:
    """By vectors of the dimension that the answer's generation has: none fails, and each is of one generation."""
    assert Upgraded(workspace).reindex() is not None
    upgraded, ended = Upgraded(workspace), Event()
    bounds: dict[int, set[int]] = {}
    failures: list[Exception] = []

    def search() -> None:
        while not ended.is_set():
            try:
                (answer,) = upgraded.service.search(SearchRequest("c", text="my parcel today", top_k=50))
                longest = max(len(hit.text.split()) for hit in answer.hits)
                bounds.setdefault(answer.generation, set()).add(longest)
            except Exception as error:  # noqa: BLE001  any failure is one
                failures.append(error)

    threads = [Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for longest in (1, 2, 3, 1, 2, 3):
        assert upgraded.reindex(longest=longest) is not None
    ended.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert all(len(lengths) == 1 for lengths in bounds.values()), bounds


def _delete(workspace: Workspace, id: str) -> None:
    with lease(workspace.catalog, "c") as held:
        remove(workspace.catalog, held, [id])
