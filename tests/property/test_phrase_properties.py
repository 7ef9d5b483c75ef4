"""What saved phrases match is what searches with their thresholds find, however the documents came and went."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.phrases.answers import Event
from indexer.catalog.calibrations import add_calibration
from indexer.catalog.leases import holding, lease
from indexer.catalog.matches import forget_withdrawn, read_events
from indexer.catalog.publish import remove
from indexer.engine.query import Filter
from indexer.indexing.maintenance import optimize
from indexer.phrases import PhraseDraft
from indexer.tuning import CalibrationDraft
from models.ops.span_score import SpanScore
from models.types import Document, Part, SpanBounds
from tests.examples import examples
from tests.strategies import knots
from tests.workspace import Workspace

WORDS = ["parcel", "late", "cancel", "my", "plan", "please", "😀"]
FILTERS = [Filter(), Filter({"kind": 1}), Filter({}, {"speaker": "agent"}), Filter({"kind": True})]
EVERYTHING = 10**9
BOUNDS = SpanBounds(1, 4)
SCORE = SpanScore(0.15, (-0.06, -0.03, 0, 0, 0, 0), (-0.05, -0.02, 0, 0, 0, 0))

# Drawn as plain values: what checks types while tests run rolls dice, and strategies must not.
words = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
parts = st.lists(st.tuples(words, st.sampled_from([{}, {"speaker": "agent"}])), max_size=2)
ids = st.sampled_from([f"d{number}" for number in range(6)])
documents = st.tuples(ids, parts, st.sampled_from([{}, {"kind": 1}, {"kind": 2}]))
names = st.sampled_from(["one", "two", "three"])
thresholds = st.none() | st.sampled_from([0.0, 0.6, 0.8, 1.0]) | st.floats(0, 1)
phrases = st.tuples(
    names,
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    thresholds,
    st.sampled_from(["score", "raw"]),
    st.sampled_from(range(len(FILTERS))),
)


def document(drawn: Any) -> Document:
    id, given_parts, metadata = drawn
    return Document(id, tuple(Part(*part) for part in given_parts), metadata)


def draft(drawn: Any) -> PhraseDraft:
    name, text, threshold, on, number = drawn
    return PhraseDraft(name, text, threshold, on, FILTERS[number])


Found = set[tuple[str, str, int, int, str, float, float]]


class Space:
    """A collection of its own in a workspace that several examples share: making a catalog takes longest."""

    numbers = count()

    def __init__(self, workspace: Workspace) -> None:
        self.made = workspace
        self.name = f"c{next(self.numbers)}"
        self.forgot = False
        self.made.collection(self.name, BOUNDS)

    def index(self, documents: Iterable[Document], **options: Any) -> None:
        self.made.index(documents, name=self.name, bounds=BOUNDS, **options)

    def save(self, *drafts: PhraseDraft, **options: Any) -> None:
        self.made.phrases.put(self.name, drafts, **options)

    def calibrate(self, drawn: Any) -> None:
        recipe = self.made.catalog.collection(self.name).recipe
        points = tuple((float(raw), float(score)) for raw, score in drawn)
        fingerprint = SCORE.fingerprint_of(recipe.fingerprint)
        made = CalibrationDraft("best_span", fingerprint, recipe.bounds, points, "isotonic", 20)
        add_calibration(self.made.catalog, self.name, made, fingerprint=fingerprint, activate=True)

    def threshold(self, value: float | None) -> None:
        self.made.thresholds.set(self.name, "best_span", value, "score", "")

    def delete(self, *ids: str) -> None:
        with lease(self.made.catalog, self.name) as held:
            remove(self.made.catalog, held, ids)

    def forget(self) -> None:
        """Forget all that was withdrawn, however lately."""
        self.forgot = True
        catalog = self.made.catalog
        with lease(catalog, self.name) as held, holding(catalog, held) as (connection, _):
            forget_withdrawn(connection, held.collection_id, catalog.clock())

    def searched(self, name: str) -> Found:
        """What a search for the phrase with its threshold finds."""
        phrase = self.made.phrases.get(self.name, name)
        if phrase.threshold is None:
            return set()
        hits = self.made.search(
            phrase.text,
            self.name,
            top_k=EVERYTHING,
            threshold=phrase.threshold.value,
            threshold_on=phrase.threshold.on,
            filter=phrase.filter,
        )
        return {(name, hit.document_id, hit.start, hit.end, hit.text, hit.score, hit.raw) for hit in hits}

    def standing(self) -> Found:
        """What a reader of all events knows to stand, with every event checked on the way."""
        known: dict[int, Event] = {}
        cursor, events = None, []
        while True:
            page = self.made.phrases.events(self.name, 3, cursor)
            for event in page.events:
                events.append(event)
                if event.event == "matched":
                    assert known.setdefault(event.match, event) is event
                else:
                    gone = known.pop(event.match)
                    assert (event.phrase, event.document_id) == (gone.phrase, gone.document_id)
                    assert (event.start, event.end) == (gone.start, gone.end)
                    assert event.text is None
            cursor = page.cursor
            if not page.more:
                break
        collection = self.made.catalog.collection(self.name)
        stored = read_events(self.made.catalog, collection.id, None, EVERYTHING).events
        assert events == [Event.of(event, collection) for event in stored]
        numbers = [event.number for event in stored]
        assert numbers == (sorted(set(numbers)) if self.forgot else list(range(1, len(numbers) + 1)))
        assert self.made.phrases.events(self.name, 3, cursor).events == ()
        return {(e.phrase, e.document_id, e.start, e.end, e.text, e.score, e.raw) for e in known.values()}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("phrases"), span_score=SCORE, words=True) as made:
        yield made


@settings(max_examples=examples(15))
@given(st.lists(documents, max_size=12), st.lists(phrases, min_size=1, max_size=3), knots, st.sampled_from([3, 500]))
def test_new_documents_are_matched_as_they_would_be_found(workspace, arriving, drafts, drawn, segment_units) -> None:
    space = Space(workspace)
    space.calibrate(drawn)
    space.threshold(0.7)
    space.save(*map(draft, drafts))
    space.index(map(document, arriving), segment_units=segment_units)
    assert space.standing() == {found for name in {name for name, *_ in drafts} for found in space.searched(name)}


def test_occurrences_match_a_phrase_whose_threshold_is_zero(workspace) -> None:
    space = Space(workspace)
    text = " ".join(WORDS[:2])
    space.save(PhraseDraft("one", text, 0.0, "raw"))
    space.index([Document("d", (Part(f"{WORDS[2]} {text.upper()} {WORDS[3]}"),))])
    assert space.standing() == space.searched("one")
    assert 1.0 in {raw for *_, raw in space.standing()}


changes = st.one_of(
    st.tuples(st.just("index"), st.lists(documents, min_size=1, max_size=3)),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("save"), phrases),
    st.tuples(st.just("forget"), names),
    st.tuples(st.just("optimize"), st.none()),
    st.tuples(st.just("forget the withdrawn"), st.none()),
)


@settings(max_examples=examples(10))
@given(st.lists(changes, min_size=2, max_size=8))
def test_standing_matches_are_those_of_documents_and_phrases_as_they_stand(workspace, drawn) -> None:
    """Whatever is indexed, replaced, deleted, merged, saved with a backfill, changed and forgotten, in any order."""
    space = Space(workspace)
    space.threshold(0.8)
    for what, value in drawn:
        if what == "index":
            space.index(map(document, value))
        elif what == "delete":
            space.delete(value)
        elif what == "save":
            space.save(draft(value), backfill=True)
        elif what == "forget the withdrawn":
            space.forget()
        elif what == "forget":
            workspace.phrases.delete(space.name, [value])
        else:
            with lease(workspace.catalog, space.name) as held:
                optimize(workspace.store, held)
        there = [phrase.name for phrase in workspace.phrases.list(space.name, 10).phrases]
        assert space.standing() == {found for name in there for found in space.searched(name)}
