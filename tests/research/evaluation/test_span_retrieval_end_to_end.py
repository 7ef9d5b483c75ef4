"""What the search and BM25 find in a corpus that is indexed for it, everywhere and within some documents."""

import pytest

from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.types import SpanBounds
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.span_retrieval import bm25_answers, search_answers
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
    answers = search_answers(CORPUS, queries, HashingEncoder(), BOUNDS)
    return [[(hit.document_id, CORPUS.text(hit)) for hit in answer] for answer in answers]


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


def test_bm25_keeps_to_documents_too_and_ranks_what_it_is_given() -> None:
    queries = [query("red parcel missing"), query("red parcel missing", "c"), query("unheard words")]
    sentences = bm25_answers(CORPUS, CORPUS.sentences(), queries)
    assert [[CORPUS.text(hit) for hit in answer] for answer in sentences] == [
        ["a red parcel.", "It went missing.", "we met the red parcel", "no parcel at all"],
        ["no parcel at all"],
        [],
    ]
    parts = bm25_answers(CORPUS, CORPUS.parts(), queries)
    assert parts[0][0] == next(DocumentSpan("b", part.span) for part in CORPUS.parts() if part.document_id == "b")


def test_a_query_that_cannot_be_read_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"Query 7: The query has 3 tokens; at most 2") as refused:
        search_answers(CORPUS, [query("a"), query("a b c")], HashingEncoder(window=2), BOUNDS)
    assert refused.value.field == "queries"
