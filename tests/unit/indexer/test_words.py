"""Words in segments: folding, the dictionary, occurrences, and words that are added later."""

from itertools import count, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from indexer import kernels
from indexer.catalog.leases import lease
from indexer.engine.views import SegmentView
from indexer.indexing.maintenance import optimize
from indexer.words.files import StoredWords, WordRows, WordWriter
from indexer.words.occurrences import occurrences
from indexer.words.representation import stored_words
from models.text.words import fold, words
from models.types import CharSpan, UnitSpan
from tests import reference, strategies
from tests.examples import examples
from tests.workspace import Workspace, document

_number = count()
terms = st.sampled_from(["", "a", "b", "c"])


@given(strategies.texts)
@example("a.\u0301")
@example("can\u2019t _x_ \u00ad\u0301a\u0301\u200d. ^ $5")
@settings(max_examples=examples(400))
def test_folding_is_that_of_loops(text: str) -> None:
    assert fold(text) == reference.folded(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("STRASSE", "straße"),
        ("Ｃａｆé", "cafe\u0301"),
        ("don\u2019t", "DON'T"),
        ("co\u00adoperate", "cooperate"),
        ("ｶﾞｽ", "ガス"),
        ("\u2764\ufe0f", "\u2764"),
        ("cancel,   my\n\u00a0“plan”!", "cancel my plan"),
        ("well-known", "well known"),
    ],
)
def test_forms_of_the_same_words(one: str, other: str) -> None:
    assert words(one) == words(other) != ()


def test_diacritics_and_words_within_words_differ() -> None:
    assert words("résumé") != words("resume")
    assert words("cancelled") != words("cancel")
    assert words("... — !?") == words("") == ()


@given(st.lists(terms, max_size=40), st.sets(st.integers(1, 39)), st.lists(terms.filter(bool), min_size=1, max_size=4))
@settings(max_examples=examples(400))
def test_occurrences_are_those_of_loops(units: list[str], cuts: set[int], query: list[str]) -> None:
    bounds = sorted({0, len(units)} | {cut for cut in cuts if cut < len(units)})
    expected = [
        (start + i, start + j)
        for start, end in pairwise(bounds)
        for i, j in reference.occurrences(units[start:end], query)
    ]
    numbers = {"": 0, "a": 1, "b": 2, "c": 3}
    of_units = np.array([numbers[unit] for unit in units], np.uint32)
    rows = np.array([numbers[word] for word in query], np.uint32)
    for at in range(len(rows)):
        places = np.flatnonzero(of_units == rows[at]).astype(np.uint32)
        starts, ends = kernels.occurrences(of_units, np.array(bounds), rows, at, places)
        assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == expected


@given(st.lists(st.one_of(terms, st.text("abéß😀", max_size=3)), max_size=60))
@settings(max_examples=examples(200), deadline=None)
def test_the_dictionary_and_the_units_of_every_word(tmp_path_factory: pytest.TempPathFactory, units: list[str]) -> None:
    folder = tmp_path_factory.getbasetemp() / f"words-{next(_number)}"
    folder.mkdir()
    writer = WordWriter(folder)
    writer.append(WordRows(units[:7]))
    writer.append(WordRows(units[7:]))
    stored = StoredWords.open(folder, writer.finish())
    assert len(stored) == sum(map(bool, units))
    dictionary = sorted(set(units) - {""})
    assert [stored.term(number) for number in range(1, stored.terms + 1)] == dictionary
    for number, term in enumerate(dictionary, 1):
        assert stored.number(term) == number
        assert stored.units(number).tolist() == [unit for unit, word in enumerate(units) if word == term]
        assert list(stored.with_prefix(term[:1])) == [n for n, w in enumerate(dictionary, 1) if w.startswith(term[:1])]
    assert stored.number("z") == 0
    assert list(stored.with_prefix("z")) == []
    assert [number and dictionary[number - 1] for number in stored.of_units.tolist()] == [unit or 0 for unit in units]


def spans(view: SegmentView, text: str) -> list[CharSpan]:
    starts, ends = occurrences(view.segment, words(text))
    return [view.segment.char_span(UnitSpan(*span)) for span in zip(starts.tolist(), ends.tolist(), strict=True)]


def test_occurrences_in_documents(tmp_path: Path) -> None:
    long = "x" * 200
    with Workspace(tmp_path, words=True) as workspace:
        workspace.index([document("a", "Cancel my plan. “CANCEL”, my plan!", "cancel", "my plan", f"See {long}.")])
        (view,) = workspace.store.snapshot("c").views
        assert spans(view, "cancel my") == [CharSpan(0, 9), CharSpan(17, 28)]
        assert spans(view, "cancel plan") == spans(view, "?!") == []
        text = view.segment.long_text(0, view.segment.manifest.code_points)
        assert [span.of(text) for span in spans(view, long)] == [long]


def test_words_are_added_to_a_collection_that_has_none(tmp_path: Path) -> None:
    documents = [document("a", "Cancel my plan.", "", "Über alles 😀"), document("b"), document("c", "my plan")]
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    with Workspace(tmp_path / "old") as old, Workspace(tmp_path / "new", words=True) as new:
        new.index(documents)
        for each in (*documents, document("gone", "my plan")):
            old.index([each])
        before = old.search("my plan", threshold=0)
        assert all(stored_words(view.segment) is None for view in old.store.snapshot("c").views)
        assert spans(old.store.snapshot("c").views[0], "my plan") == []
        with lease(old.catalog, "c") as held:
            optimize(old.store, held, lambda seconds: None, words=True)
            optimize(old.store, held, lambda seconds: None, words=True)
        assert old.catalog.collection("c").recipe == new.catalog.collection("c").recipe
        exact = [hit.text for hit in old.search("my plan", threshold=0) if hit.match]
        assert exact == ["my plan"] * 3
        assert {hit.match for hit in before} == {None}
        old.options = new.options
        old.index([document("d", "my plan")])
        found = [span for view in old.store.snapshot("c").views for span in spans(view, "my plan")]
        assert len(found) == 4
