"""What the search and BM25 find in a corpus that is indexed for it, everywhere and within some documents."""

from collections.abc import Iterator, Sequence
from typing import cast, get_args

import pytest

from app.encoders.encoders import Encoders
from app.requests import ModeName, SearchRequest
from app.search.answers import Hit
from app.search.service import SearchService
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.types import SpanBounds
from research.evaluation import span_retrieval
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.retrieval_metrics import Ranked
from research.evaluation.span_retrieval import Setup, best_hits, bm25_answers, search_answers
from tests.workspace import document

CORPUS = Corpus(
    [
        document("a", "we met the red parcel", "nothing here", lang="en"),
        document("b", "a red parcel. It went missing."),
        document("c", "no parcel at all"),
    ]
)
BOUNDS = SpanBounds(1, 3)


def query(text: str, *within: str) -> Query:
    return Query("7", text, gold=(), within=within)


def found(*queries: Query) -> list[list[tuple[str, str]]]:
    return [[(hit.document_id, CORPUS.text(hit)) for hit in ranked.spans] for ranked in results(*queries)]


def results(*queries: Query, encoder: HashingEncoder | None = None, mode: ModeName = "best_span") -> list[Ranked]:
    encoders = Encoders.of({"hashing": encoder or HashingEncoder()})
    nugget_ratio = 0.25 if mode == "maxsim" else None
    return search_answers(CORPUS, queries, encoders, Setup("hashing", BOUNDS, mode, nugget_ratio=nugget_ratio))


def test_the_best_span_comes_first() -> None:
    assert found(query("red parcel"))[0][:2] == [("a", "red parcel"), ("b", "red parcel")]


def test_a_query_can_keep_to_some_documents() -> None:
    everywhere, b, c, two = found(
        query("red parcel"), query("red parcel", "b"), query("red parcel", "c"), query("red parcel", "c", "b")
    )
    assert {id for id, _ in everywhere} == {"a", "b", "c"}
    assert b[0] == ("b", "red parcel")
    assert {id for id, _ in b} == {"b"}
    assert c[0] == ("c", "parcel")
    assert {id for id, _ in c} == {"c"}
    assert two[:2] == [("b", "red parcel"), ("c", "parcel")]


def test_answers_within_several_documents_are_those_of_one_search() -> None:
    one, all_three = found(query("red parcel"), query("red parcel", "c", "a", "b"))
    assert len(one) == 10
    assert all_three == one


@pytest.mark.parametrize("mode", get_args(ModeName))
def test_documents_are_ranked_by_their_best_hits_in_every_mode(mode: ModeName, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.nuggets.models.NuggetModels.whiten", lambda self, name, *_: self.trained(name))
    everywhere, within = results(query("red parcel missing"), query("red parcel missing", "c", "a"), mode=mode)
    assert everywhere.documents[0] == "b" if mode == "maxsim" else {*everywhere.documents[:2]} == {"a", "b"}
    assert {*everywhere.documents} == {"a", "b", "c"}
    assert within.documents == tuple(id for id in everywhere.documents if id != "b")
    by_spans = [*dict.fromkeys(span.document_id for span in everywhere.spans)]
    assert by_spans == [*everywhere.documents][: len(by_spans)]


def test_bm25_keeps_to_documents_too_and_ranks_what_it_is_given() -> None:
    queries = [query("red parcel missing"), query("red parcel missing", "c"), query("unheard words")]
    sentences = bm25_answers(CORPUS, CORPUS.sentences(), queries)
    assert [[CORPUS.text(hit) for hit in ranked.spans] for ranked in sentences] == [
        ["a red parcel.", "It went missing.", "we met the red parcel", "no parcel at all"],
        ["no parcel at all"],
        [],
    ]
    parts = bm25_answers(CORPUS, CORPUS.parts(), queries)
    assert parts[0].spans[0] == next(DocumentSpan("b", part.span) for part in CORPUS.parts() if part.document_id == "b")


def test_a_query_that_cannot_be_read_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"Query 7: The query has 3 tokens; at most 2") as refused:
        results(query("a"), query("a b c"), encoder=HashingEncoder(window=2))
    assert refused.value.field == "queries"


def test_the_hits_that_are_read_are_shared_by_the_documents_of_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[SearchRequest] = []

    def answers(service: object, requests: Sequence[SearchRequest]) -> Iterator[tuple[Hit, ...]]:
        asked.extend(requests)
        return iter([()] * len(requests))

    monkeypatch.setattr(span_retrieval, "search_in_batches", answers)
    queries = [query("a"), query("b", "x", "y", "z")]
    setup = Setup("hashing", BOUNDS, verify=20)
    best_hits(cast("SearchService", None), queries, setup, 10, None)
    assert [request.verify for request in asked] == [20, 7, 7, 7]
