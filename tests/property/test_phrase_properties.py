"""What saved phrases match is what searches with their thresholds find, however the documents came and went."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from indexer.catalog.calibrations import add_calibration, deactivate_calibration
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.engine.wanted import Filter
from indexer.phrases import PhraseDraft
from indexer.tuning import CalibrationDraft
from indexer.upkeep import optimize
from models.types import Document, Part, SpanBounds
from tests.strategies import knots
from tests.workspace import Workspace

WORDS = ["parcel", "late", "cancel", "my", "plan", "please", "😀"]
FILTERS = [Filter(), Filter({"kind": 1}), Filter({}, {"speaker": "agent"}), Filter({"kind": True})]
EVERYTHING = 10**9

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


def searched(workspace: Workspace, name: str) -> Found:
    """What a search for the phrase with its threshold finds."""
    phrase = workspace.phrases.get("c", name)
    if phrase.threshold is None:
        return set()
    hits = workspace.search(
        phrase.text,
        top_k=EVERYTHING,
        threshold=phrase.threshold.value,
        threshold_on=phrase.threshold.on,
        filter=phrase.filter,
    )
    return {(name, hit.document_id, hit.start, hit.end, hit.text, hit.score, hit.raw) for hit in hits}


def standing(workspace: Workspace) -> Found:
    """What a reader of all events knows to stand, with every event checked on the way."""
    known: dict[int, Any] = {}
    cursor, last = None, 0
    while True:
        page = workspace.phrases.events("c", 3, cursor)
        for event in page.events:
            assert event.number == last + 1
            last = event.number
            if event.kind == "matched":
                assert event.id not in known
                known[event.id] = event
            else:
                gone = known.pop(event.id)
                assert (event.phrase, event.document_id, event.span) == (gone.phrase, gone.document_id, gone.span)
                assert event.text is None
        cursor = page.cursor
        if not page.more:
            break
    assert workspace.phrases.events("c", 3, cursor).events == ()
    return {(e.phrase, e.document_id, e.span.start, e.span.end, e.text, e.score, e.raw) for e in known.values()}


@settings(max_examples=40)
@given(st.lists(documents, max_size=12), st.lists(phrases, min_size=1, max_size=3), knots, st.sampled_from([3, 500]))
def test_new_documents_are_matched_as_they_would_be_found(arriving, drafts, drawn, segment_units) -> None:
    with TemporaryDirectory() as folder, Workspace(Path(folder)) as made:
        recipe = made.collection(bounds=SpanBounds(1, 4)).recipe
        points = tuple((float(raw), float(score)) for raw, score in drawn)
        scale = CalibrationDraft("best_span", recipe.fingerprint, recipe.bounds, points, "isotonic", 20)
        add_calibration(made.catalog, "c", scale, activate=True)
        made.thresholds.set("c", "best_span", 0.7, "score", "")
        made.phrases.put("c", list(map(draft, drafts)))
        made.index(map(document, arriving), bounds=SpanBounds(1, 4), segment_units=segment_units)
        expected = {found for name in {name for name, *_ in drafts} for found in searched(made, name)}
        assert standing(made) == expected
