"""The literal floor against a naive search over texts: Unicode, overlaps, part borders, filters, deletes and merges."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from app.answers import json_values
from app.calibration.label_candidates import LabelCandidatesRequest, sample_label_candidates
from app.calibration.label_files import read_label_rows, write_label_candidates
from app.calibration.preview import preview
from app.requests import ModeName, PreviewRequest, SpanChoice
from app.search.answers import Hit
from app.search.modes.maxsim.hits import PairedExplanation
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.engine.query import Filter
from indexer.indexing.maintenance import optimize
from indexer.phrases import EventFilter, PhraseDraft
from models.ops.span_score import SpanScore
from models.text.units import split
from models.types import Document, Part, SpanBounds
from tests import reference
from tests.examples import examples
from tests.workspace import Workspace

WORDS = ["a", "A", "b", "ß", "SS", "é", "e\u0301", "😀", ".", ", ", "“b”", "don\u2019t", "don't", "中"]
SCORE = SpanScore(0.15, (-0.06, -0.03, 0, 0, 0, 0), (-0.05, -0.02, 0, 0, 0, 0))
BOUNDS = SpanBounds(1, 4)
Place = tuple[str, int, int]

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
documents = st.lists(st.tuples(st.lists(texts, max_size=3), st.integers(1, 2)), min_size=1, max_size=5)
_numbers = count()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("literal"), words=True, span_score=SCORE) as made:
        yield made


@pytest.fixture(scope="module")
def with_nuggets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("nuggets"), words=True, nugget_ratio=0.3) as made:
        yield made


def folded(text: str) -> list[str]:
    return [word for start, end in split(text) if (word := reference.folded(text[start:end]))]


def occurrences(document: Document, query: str) -> list[Place]:
    """The occurrences of a query in a document that do not overlap, of overlapping ones the first."""
    places: list[Place] = []
    offset = 0
    for part in document.parts:
        characters = split(part.text).tolist()
        spans = reference.occurrences([reference.folded(part.text[a:b]) for a, b in characters], folded(query))
        for row in reference.greedy(spans):
            first, last = spans[row]
            places.append((document.id, characters[first][0] + offset, characters[last - 1][1] + offset))
        offset += len(part.text) + 1
    return places


def place(hit: Hit) -> Place:
    return hit.document_id, hit.start, hit.end


class Case:
    """Documents of a collection of its own, in two segments, one of them deleted."""

    def __init__(self, workspace: Workspace, drawn: Any) -> None:
        self.workspace, self.name = workspace, f"c{next(_numbers)}"
        everything = [
            Document(f"d{number}", tuple(map(Part, parts)), {"kind": kind})
            for number, (parts, kind) in enumerate(drawn)
        ]
        for some in (everything[:2], everything[2:]):
            workspace.index(some, name=self.name, bounds=BOUNDS)
        with lease(workspace.catalog, self.name) as held:
            remove(workspace.catalog, held, ["d1"])
        self.documents = [document for document in everything if document.id != "d1"]

    def search(self, query: str, **options: Any) -> tuple[Hit, ...]:
        return self.workspace.search(query, self.name, **{"top_k": 1000, "threshold": 0} | options)

    def merge(self) -> None:
        with lease(self.workspace.catalog, self.name) as held:
            optimize(self.workspace.store, held, lambda seconds: None)


@given(documents, queries)
@settings(max_examples=examples(40), deadline=None, phases=[Phase.generate])
def test_occurrences_rank_first_and_are_exact(workspace: Workspace, drawn: Any, query: str) -> None:
    case = Case(workspace, drawn)
    for _ in range(2):
        expected = sorted(each for document in case.documents for each in occurrences(document, query))
        hits = case.search(query)
        exact = [hit for hit in hits if hit.match]
        assert [place(hit) for hit in exact] == expected
        assert list(hits[: len(exact)]) == exact
        assert all(hit.raw == hit.score == 1 for hit in exact)
        assert all(hit.raw < 1 for hit in hits[len(exact) :])
        characters = [(hit.document_id, at) for hit in hits for at in range(hit.start, hit.end)]
        assert len(characters) == len(set(characters))
        for top_k in (1, 2, 5):
            assert [place(hit) for hit in case.search(query, top_k=top_k)] == [place(hit) for hit in hits[:top_k]]
        assert {place(hit) for hit in case.search(query, threshold=1.0)} == set(expected)
        assert not [hit for hit in case.search(query, ranking="cosine") if hit.match]
        case.merge()


@given(documents, queries)
@settings(max_examples=examples(30), deadline=None, phases=[Phase.generate])
def test_groups_filters_and_boundaries(workspace: Workspace, drawn: Any, query: str) -> None:
    case = Case(workspace, drawn)
    some = [document for document in case.documents if document.metadata == {"kind": 1}]
    of_documents = {document.id: occurrences(document, query) for document in some}
    hits = case.search(query, group_by="document", filter=Filter({"kind": 1}))
    assert len({hit.document_id for hit in hits}) == len(hits)
    assert [place(hit) for hit in hits if hit.match] == [places[0] for places in of_documents.values() if places]
    for boundary in ("clause", "sentence", "part"):
        for hit in case.search(query, spans=SpanChoice(boundaries=boundary)):
            words = folded(hit.text)
            assert bool(hit.match) == bool(folded(query) and reference.occurrences(words, folded(query)))
    for hit in case.search(query, spans=SpanChoice(min_units=2, max_units=3)):
        assert 2 <= len(split(hit.text)) <= 3


@given(documents, queries)
@settings(max_examples=examples(20), deadline=None, phases=[Phase.generate])
def test_documents_with_an_occurrence_rank_first_in_maxsim(with_nuggets: Workspace, drawn: Any, query: str) -> None:
    case = Case(with_nuggets, drawn)
    for _ in range(2):
        expected = sorted(document.id for document in case.documents if occurrences(document, query))
        hits = case.search(query, mode="maxsim", explain=True)
        exact = [hit for hit in hits if hit.match]
        assert [hit.document_id for hit in exact] == expected
        assert list(hits[: len(exact)]) == exact
        assert all(hit.raw == hit.score == 1 for hit in exact)
        assert all(hit.raw < 1 for hit in hits[len(exact) :])
        for hit in hits:
            assert isinstance(hit.explanation, PairedExplanation)
            assert hit.explanation.cosine + hit.explanation.exact == pytest.approx(2 * hit.raw - 1, abs=1e-9)
        for top_k in (1, 2):
            some = case.search(query, mode="maxsim", top_k=top_k)
            assert [hit.document_id for hit in some] == [hit.document_id for hit in hits[:top_k]]
        assert not [hit for hit in case.search(query, mode="maxsim", ranking="cosine") if hit.match]
        request = PreviewRequest(
            case.name, phrases=(query,), mode="maxsim", threshold=1.0, threshold_on="raw", examples=50
        )
        (counted,) = preview(with_nuggets.service, request).phrases
        assert counted.documents == len(expected)
        assert {example.document_id for example in counted.above if example.match} == set(expected)
        case.merge()


@given(documents, st.lists(queries, min_size=2, max_size=3), st.sampled_from([0.6, 0.9, 1.0]))
@settings(max_examples=examples(20), deadline=None, phases=[Phase.generate])
@pytest.mark.slow("many texts")
def test_counts_and_saved_phrases_have_them_all(
    workspace: Workspace, drawn: Any, phrases: list[str], threshold: float
) -> None:
    case = Case(workspace, drawn)
    names = [f"p{number}" for number in range(len(phrases))]
    drafts = [PhraseDraft(name, text, threshold) for name, text in zip(names, phrases, strict=True)]
    workspace.phrases.put(case.name, drafts, backfill=True)
    for name, text in zip(names, phrases, strict=True):
        hits = case.search(text, threshold=threshold)
        request = PreviewRequest(case.name, phrases=(text,), threshold=threshold, floor=threshold)
        (counted,) = preview(workspace.service, request).phrases
        assert counted.spans == len(hits)
        assert counted.documents == len({hit.document_id for hit in hits})
        assert all((example.match == "exact") == (example.raw == 1) for example in (*counted.above, *counted.below))
        matches = workspace.phrases.events(case.name, 1000, None, EventFilter((name,))).events
        assert {(each.document_id, each.start, each.end, each.raw) for each in matches} == {
            (*place(hit), hit.raw) for hit in hits
        }
        exact = {(each.document_id, each.start, each.end) for each in matches if each.exact}
        assert exact == {place(hit) for hit in hits if hit.match}


@pytest.mark.parametrize("mode", ["best_span", "lexical", "hybrid"])
def test_previews_and_label_files_mark_occurrences(workspace: Workspace, tmp_path: Path, mode: ModeName) -> None:
    name = f"exact-{mode}"
    texts = ["My parcel came.", "a parcel, late", "nothing of it", "the late parcel"]
    arriving = [Document(f"d{number}", (Part(text),)) for number, text in enumerate(texts)]
    workspace.index(arriving, name=name, bounds=BOUNDS)
    request = PreviewRequest(
        name, phrases=("my parcel",), mode=mode, threshold=0.99, threshold_on="raw", ranking="span_score"
    )
    (counted,) = preview(workspace.service, request).phrases
    assert [(example.document_id, example.match) for example in counted.above] == [("d0", "exact")]
    assert counted.below
    assert not [example for example in counted.below if example.match]
    candidates = sample_label_candidates(workspace.service, LabelCandidatesRequest(name, ("my parcel",), 20, mode=mode))
    assert {each.span.document_id for each in candidates.candidates if each.exact} == {"d0"}
    assert len(candidates.candidates) > 1
    for file in ("labels.csv", "labels.ndjson"):
        write_label_candidates(tmp_path / file, candidates)
        rows = [row.values for row in read_label_rows(tmp_path / file)]
        assert [str(row.get("exact") or "") for row in rows].count("True") == 1
        assert not [row for row in rows if row["match"]]
    workspace.phrases.put(name, [PhraseDraft("p", "my parcel", 0.3)], backfill=True)
    events = workspace.phrases.events(name, 100).events
    assert {event.document_id for event in events if event.exact} == {"d0"}
    assert json_values(next(event for event in events if event.exact))["exact"] is True
    assert all("exact" not in json_values(event) for event in events if not event.exact)


def test_cosines_of_collections_without_words_are_never_exact(tmp_path: Path) -> None:
    with Workspace(tmp_path, span_score=SCORE) as made:
        made.index([Document("a", (Part("my parcel"),))], bounds=BOUNDS)
        (counted,) = preview(made.service, PreviewRequest("c", phrases=("my parcel",), threshold=0.9)).phrases
        assert [(example.raw, example.match) for example in counted.above] == [(pytest.approx(1, abs=1e-4), None)]
        made.phrases.put("c", [PhraseDraft("p", "my parcel", 0.9)], backfill=True)
        assert [event.exact for event in made.phrases.events("c", 10).events] == [None]
