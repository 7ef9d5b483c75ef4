"""Saved phrases and their matches in the catalog: one version of the set, one order of the events."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from indexer.catalog.calibrations import add_calibration
from indexer.catalog.collections import Catalog
from indexer.catalog.leases import holding, lease
from indexer.catalog.matches import StalePhrases, forget_withdrawn, read_events, replace_matches
from indexer.catalog.phrase_rows import read_phrase_set
from indexer.catalog.phrases import (
    change_phrase,
    delete_phrases,
    get_phrase,
    list_phrases,
    phrase_threshold_history,
    save_phrases,
    saved_vectors,
    set_phrase_threshold,
    undo_phrase_threshold,
)
from indexer.catalog.publish import publish, remove
from indexer.engine.query import Filter
from indexer.errors import CursorExpired, NothingToUndo, PhraseExists, PhraseNotFound
from indexer.phrases import EventCursor, EventFilter, Match, Matches, PhraseChanges, PhraseDraft
from indexer.tuning import CalibrationDraft
from indexer.types import DocumentRow, Recipe, SegmentInfo
from models.errors import InvalidInput
from models.ops.span_score import COSINE, SpanScore
from models.types import CharSpan, SpanBounds
from tests.waiting import PATIENCE_S

RECIPE = Recipe("hashing", "f1", 3, SpanBounds(1, 8))
CANCEL = PhraseDraft("cancel", "cancel my plan", 0.8, filter=Filter({"kind": True}), note="churn")


def cosine_of(encoder: str, fingerprint: str) -> SpanScore:
    return COSINE


@pytest.fixture(autouse=True)
def collection(catalog):
    return catalog.create_collection("calls", RECIPE)


def save(catalog, *drafts, **options):
    vectors = np.arange(1, 3 * len(drafts) + 1, dtype=np.float32).reshape(-1, 3)
    return save_phrases(catalog, "calls", drafts, vectors, **options)


def matches(catalog, collection, *found) -> Matches:
    """What a matcher would hand over for (phrase, document, start)."""
    version = read_phrase_set(catalog, cosine_of, collection.id).version
    return Matches(version, None, tuple(Match(p, d, CharSpan(at, at + 3), "a\0b", 0.9, 0.9) for p, d, at in found))


def put(catalog, name, ids, matched=None, content="h", retires=()) -> int:
    rows = [DocumentRow(id, ordinal, content) for ordinal, id in enumerate(ids)]
    info = SegmentInfo(name, f"sha of {name}", len(ids), len(ids), 10, 99)
    with lease(catalog, "calls") as held:
        return publish(catalog, held, info, rows, retires, matched)


def events(catalog, collection, after=0, limit=1000, phrases=()):
    filter = EventFilter(tuple(phrases))
    found = read_events(catalog, collection.id, EventCursor(after, 0), limit, filter).events
    return [(event.number, event.kind, event.id, event.phrase, event.document_id, event.reason) for event in found]


def test_phrases_are_kept_as_they_were_given(catalog, clock) -> None:
    assert save(catalog, CANCEL, PhraseDraft("late", "parcel never came")) == ["created", "created"]
    found = get_phrase(catalog, "calls", "cancel")
    assert (found.text, found.filter, found.note) == (CANCEL.text, CANCEL.filter, CANCEL.note)
    assert (found.created_at, found.changed_at) == (clock(), clock())
    assert (found.threshold.value, found.threshold.on, found.own.threshold.raw) == (0.8, "score", 0.8)
    assert [phrase.name for phrase in list_phrases(catalog, "calls", 9)] == ["cancel", "late"]
    assert [phrase.name for phrase in list_phrases(catalog, "calls", 9, "cancel")] == ["late"]
    assert saved_vectors(catalog, "calls", ["late"])["late"][1].tolist() == [4.0, 5.0, 6.0]


def test_saving_again_changes_what_differs_and_nothing_else(catalog, collection) -> None:
    save(catalog, CANCEL)
    version = read_phrase_set(catalog, cosine_of, collection.id).version
    assert save(catalog, CANCEL) == ["unchanged"]
    assert read_phrase_set(catalog, cosine_of, collection.id).version == version
    assert save(catalog, replace(CANCEL, filter=Filter({"kind": 1}))) == ["changed"]  # 1 is not true
    assert save(catalog, replace(CANCEL, filter=Filter({"kind": 1}), threshold=None)) == ["changed"]
    assert get_phrase(catalog, "calls", "cancel").own.threshold is None
    assert len(phrase_threshold_history(catalog, "calls", "cancel")) == 2
    with pytest.raises(PhraseExists):
        save(catalog, PhraseDraft("new", "new"), CANCEL, replace=False)
    assert [phrase.name for phrase in list_phrases(catalog, "calls", 9)] == ["cancel"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "a/b"},
        {"name": "a\0"},
        {"name": "x" * 201},
        {"text": " "},
        {"text": "a\0"},
        {"text": "\ud800"},
        {"note": "x" * 513},
        {"threshold": 1.1},
        {"threshold": float("nan")},
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_half_saved(catalog, wrong) -> None:
    with pytest.raises(InvalidInput):
        save(catalog, PhraseDraft("good", "good"), replace(CANCEL, **wrong))
    assert list_phrases(catalog, "calls", 9) == []


def test_a_set_is_read_again_only_when_it_has_changed(catalog, collection) -> None:
    assert len(read_phrase_set(catalog, cosine_of, collection.id)) == 0
    save(catalog, CANCEL, PhraseDraft("late", "parcel never came"))
    first = read_phrase_set(catalog, cosine_of, collection.id)
    queries = first.queries
    assert read_phrase_set(catalog, cosine_of, collection.id, first) is first
    assert (first.names, first.filters[0]) == (("cancel", "late"), CANCEL.filter)
    knots = ((0.0, 0.0), (0.8, 0.4), (1.0, 1.0))
    draft = CalibrationDraft("best_span", "f1", RECIPE.bounds, knots, "isotonic", 20)
    made = add_calibration(catalog, "calls", draft, activate=True)
    second = read_phrase_set(catalog, cosine_of, collection.id, first)
    assert second.queries is queries
    assert second.tuning.calibration_id == made.id
    assert second.values.tolist() == [0.4, np.inf]  # as it was set under no calibration, its raw says what it means
    set_phrase_threshold(catalog, "calls", "late", 0.5, "raw")
    assert read_phrase_set(catalog, cosine_of, collection.id, second).values.tolist() == [0.4, 0.5]
    delete_phrases(catalog, "calls", ["cancel", "none"])
    assert read_phrase_set(catalog, cosine_of, collection.id, second).names == ("late",)


def test_thresholds_of_a_phrase_are_taken_back(catalog) -> None:
    save(catalog, CANCEL)
    set_phrase_threshold(catalog, "calls", "cancel", 0.5, "raw", "more")
    assert undo_phrase_threshold(catalog, "calls", "cancel").threshold.value == 0.8
    assert undo_phrase_threshold(catalog, "calls", "cancel").threshold is None
    with pytest.raises(NothingToUndo):
        undo_phrase_threshold(catalog, "calls", "cancel")
    with pytest.raises(PhraseNotFound):
        set_phrase_threshold(catalog, "calls", "none", 0.5)
    delete_phrases(catalog, "calls", ["cancel"])
    save(catalog, replace(CANCEL, threshold=None))
    assert phrase_threshold_history(catalog, "calls", "cancel") == ()


def test_matches_come_with_their_documents_and_go_with_them(catalog, collection) -> None:
    save(catalog, CANCEL)
    put(catalog, "s1", ["a", "b"], matches(catalog, collection, ("cancel", "a", 0), ("cancel", "b", 5)))
    put(catalog, "s2", ["a"], matches(catalog, collection, ("cancel", "a", 7)), content="new")
    with lease(catalog, "calls") as held:
        remove(catalog, held, ["b", "none"])
    assert events(catalog, collection) == [
        (1, "matched", 1, "cancel", "a", None),
        (2, "matched", 2, "cancel", "b", None),
        (3, "withdrawn", 1, "cancel", "a", "document_changed"),
        (4, "matched", 4, "cancel", "a", None),
        (5, "withdrawn", 2, "cancel", "b", "document_deleted"),
    ]
    texts = [event.text for event in read_events(catalog, collection.id, None, 9).events]
    assert texts == [None, None, None, "a\0b", None]  # what is deleted is kept nowhere; a NUL is kept
    assert events(catalog, collection, after=3, limit=1) == [(4, "matched", 4, "cancel", "a", None)]
    assert events(catalog, collection, phrases=["none"]) == []


def test_merging_and_publishing_again_change_no_match(catalog, collection) -> None:
    save(catalog, CANCEL)
    found = matches(catalog, collection, ("cancel", "a", 0))
    put(catalog, "s1", ["a"], found)
    put(catalog, "s1", ["a"], found)
    put(catalog, "s2", ["a"], retires=["s1"])
    assert events(catalog, collection) == [(1, "matched", 1, "cancel", "a", None)]


def test_what_was_matched_with_other_phrases_is_not_published(catalog, collection) -> None:
    save(catalog, CANCEL)
    found = matches(catalog, collection, ("cancel", "a", 0))
    change_phrase(catalog, "calls", "cancel", PhraseChanges(note="now"))
    with pytest.raises(StalePhrases):
        put(catalog, "s1", ["a"], found)
    assert (catalog.generation("calls"), events(catalog, collection)) == (0, [])
    assert catalog.content_hashes("calls", "a") == {}


def test_changing_what_a_phrase_asks_and_deleting_it_withdraw_its_matches(catalog, collection) -> None:
    save(catalog, CANCEL, PhraseDraft("late", "late", 0.5))
    found = (("cancel", "a", 0), ("cancel", "b", 0), ("late", "b", 0))
    put(catalog, "s1", ["a", "b"], matches(catalog, collection, *found))
    change_phrase(catalog, "calls", "cancel", PhraseChanges(note="a note changes nothing"))
    set_phrase_threshold(catalog, "calls", "cancel", 0.99)
    assert len(events(catalog, collection)) == 3
    changed = change_phrase(catalog, "calls", "cancel", PhraseChanges(text="end it"), np.ones((1, 3), np.float32))
    assert (changed.text, changed.note) == ("end it", "a note changes nothing")
    assert delete_phrases(catalog, "calls", ["late", "none"]) == {"late"}
    assert [(number, kind, id, reason) for number, kind, id, _, _, reason in events(catalog, collection, after=3)] == [
        (4, "withdrawn", 1, "phrase_changed"),
        (5, "withdrawn", 2, "phrase_changed"),
        (6, "withdrawn", 3, "phrase_deleted"),
    ]


def test_matching_once_more_adds_what_is_missing_and_withdraws_the_rest(catalog, collection) -> None:
    save(catalog, CANCEL)
    put(catalog, "s1", ["a", "b"], matches(catalog, collection, ("cancel", "a", 0), ("cancel", "b", 0)))
    with lease(catalog, "calls") as held:
        again = matches(catalog, collection, ("cancel", "a", 0), ("cancel", "a", 9))
        assert replace_matches(catalog, held, ["cancel"], again) == (1, 1)
        assert replace_matches(catalog, held, ["cancel"], again) == (0, 0)
    assert [found[:3] for found in events(catalog, collection, after=2)] == [(3, "withdrawn", 2), (4, "matched", 4)]


def test_matches_keep_what_the_second_look_said(catalog, collection) -> None:
    save(catalog, replace(CANCEL, likely_only=True))
    assert get_phrase(catalog, "calls", "cancel").likely_only
    assert read_phrase_set(catalog, cosine_of, collection.id).likely_only == (True,)
    found = matches(catalog, collection, ("cancel", "a", 0), ("cancel", "b", 0))
    judged = replace(found.matches[0], probability=0.75, verdict="match")
    put(catalog, "s1", ["a", "b"], replace(found, matches=(judged, found.matches[1])))
    with lease(catalog, "calls") as held:
        # What the phrase is matched with again does not change what stands.
        unlikely = replace(judged, probability=0.5)
        replace_matches(catalog, held, ["cancel"], replace(found, matches=(unlikely,)))
    read = read_events(catalog, collection.id, EventCursor(0, 0), 9, EventFilter()).events
    said = [(event.kind, event.document_id, event.probability, event.verdict) for event in read]
    assert said == [("matched", "a", 0.75, "match"), ("matched", "b", None, None), ("withdrawn", "b", None, None)]
    changed = change_phrase(catalog, "calls", "cancel", PhraseChanges(likely_only=False))
    assert not changed.likely_only
    assert events(catalog, collection, after=3) == [(4, "withdrawn", 1, "cancel", "a", "phrase_changed")]


def forget(catalog, clock, older_than=0.0) -> None:
    with lease(catalog, "calls") as held, holding(catalog, held) as (connection, _):
        forget_withdrawn(connection, held.collection_id, clock() - timedelta(seconds=older_than))


def test_what_was_withdrawn_long_ago_is_forgotten_and_nothing_else(catalog, collection, clock) -> None:
    save(catalog, CANCEL)
    ids = ["a", "b", "c"]
    put(catalog, "s1", ids, matches(catalog, collection, *(("cancel", id, 0) for id in ids)))
    for id in ["a", "b"]:
        clock.advance(60)
        with lease(catalog, "calls") as held:
            remove(catalog, held, [id])
    forget(catalog, clock, older_than=90)
    assert len(events(catalog, collection)) == 5
    forget(catalog, clock, older_than=30)
    kept = [(number, kind, document) for number, kind, _, _, document, _ in read_all(catalog, collection)]
    assert kept == [(2, "matched", "b"), (3, "matched", "c"), (5, "withdrawn", "b")]
    clock.advance(60)
    forget(catalog, clock, older_than=30)
    assert [event[4] for event in read_all(catalog, collection)] == ["c"]
    put(catalog, "s2", ["d"], matches(catalog, collection, ("cancel", "d", 0)))
    assert [event[0] for event in read_all(catalog, collection)] == [3, 6]  # numbers are never given twice


def read_all(catalog, collection):
    """What somebody reads who begins without a cursor, an event at a time."""
    found, cursor, more = [], None, True
    while more:
        page = read_events(catalog, collection.id, cursor, 1)
        found += page.events
        cursor, more = page.cursor, page.more
    return [(event.number, event.kind, event.id, event.phrase, event.document_id, event.reason) for event in found]


def test_a_reader_between_a_match_and_its_forgotten_withdrawal_is_told(catalog, collection, clock) -> None:
    save(catalog, CANCEL)
    put(catalog, "s1", ["a", "b"], matches(catalog, collection, ("cancel", "a", 0), ("cancel", "b", 0)))
    between = read_events(catalog, collection.id, None, 1).cursor
    with lease(catalog, "calls") as held:
        remove(catalog, held, ["a"])
    behind = read_events(catalog, collection.id, between, 9).cursor
    forget(catalog, clock)
    with pytest.raises(CursorExpired, match="too old"):
        read_events(catalog, collection.id, between, 9)
    assert read_events(catalog, collection.id, behind, 9).events == ()
    anew = read_events(catalog, collection.id, None, 1)
    assert [event.document_id for event in anew.events] == ["b"]
    assert read_events(catalog, collection.id, anew.cursor, 9).events == ()


def test_a_reader_of_a_phrase_that_never_matches_is_not_told(catalog, collection, clock) -> None:
    save(catalog, CANCEL, PhraseDraft("quiet", "quiet", 0.9))
    put(catalog, "s1", ["a"], matches(catalog, collection, ("cancel", "a", 0)))
    with lease(catalog, "calls") as held:
        remove(catalog, held, ["a"])
    cursor = read_events(catalog, collection.id, None, 9, EventFilter(("quiet",))).cursor
    forget(catalog, clock)
    assert read_events(catalog, collection.id, cursor, 9, EventFilter(("quiet",))).events == ()


@pytest.mark.ci("many matches")
def test_a_reader_beside_many_writers_skips_and_repeats_nothing(catalog, collection, url) -> None:
    """Publishing, saving and deleting phrases from several connections, while somebody polls."""
    save(catalog, *(PhraseDraft(f"p{number}", "text", 0.5) for number in range(4)))

    def write(number: int) -> None:
        with closing(Catalog(url)) as own:
            for turn in range(6):
                save_phrases(
                    own, "calls", [PhraseDraft(f"p{number}", f"text {turn}", 0.5)], np.ones((1, 3), np.float32)
                )
                with lease(own, "calls") if number == 0 else nullcontext() as held:
                    if held:
                        _publish_whatever_phrases_do(own, held, collection, turn)

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(write, number) for number in range(4)]
        read, cursor = [], None
        while not all(each.done() for each in done):
            page = read_events(catalog, collection.id, cursor, 2)
            read += page.events
            cursor = page.cursor
        for each in done:
            each.result()
    while (page := read_events(catalog, collection.id, cursor, 2)).events:
        read += page.events
        cursor = page.cursor
    assert [event.number for event in read] == list(range(1, len(read) + 1))
    assert sum(event.kind == "matched" for event in read) == 6 * 4
    gone = [event.id for event in read if event.kind == "withdrawn"]
    assert len(set(gone)) == len(gone)


def _publish_whatever_phrases_do(catalog, held, collection, turn) -> None:
    info = SegmentInfo(f"s{turn}", f"sha of s{turn}", 1, 1, 10, 99)
    while True:
        found = matches(catalog, collection, *((f"p{number}", f"d{turn % 2}", 0) for number in range(4)))
        try:
            publish(catalog, held, info, [DocumentRow(f"d{turn % 2}", 0, f"h{turn}")], matched=found)
            return
        except StalePhrases:
            continue


CHILD = """
import os, signal, sys
from indexer.catalog import leases, publish
from indexer.catalog.collections import Catalog
from indexer.phrases import Match, Matches
from indexer.types import DocumentRow, SegmentInfo
from models.types import CharSpan

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "before the commit":
    publish._set_generation = die
with leases.lease(Catalog(sys.argv[1]), "calls") as held:
    found = Matches(1, None, (Match("cancel", "a", CharSpan(0, 3), "abc", 0.9, 0.9),))
    segment = SegmentInfo("s1", "sha of s1", 1, parts=1, units=10, bytes=99)
    publish.publish(Catalog(sys.argv[1]), held, segment, [DocumentRow("a", 0, "h")], matched=found)
    die()
"""


@pytest.mark.parametrize(("moment", "there"), [("before the commit", 0), ("after the commit", 1)])
def test_a_crash_leaves_the_document_and_its_matches_or_neither(url, moment, there) -> None:
    with closing(Catalog(url)) as catalog:
        save(catalog, CANCEL)
        child = subprocess.run([sys.executable, "-c", CHILD, url, moment], timeout=PATIENCE_S, check=False)
        assert child.returncode == -signal.SIGKILL
        assert len(catalog.content_hashes("calls", "a")) == there
        assert len(events(catalog, catalog.collection("calls"))) == there
