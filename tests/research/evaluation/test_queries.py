"""Queries as files keep them."""

import json
from pathlib import Path
from typing import Any

import pytest

from indexer.errors import SourceUnreadable
from models.errors import InvalidInput
from models.types import CharSpan
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.queries import Query, query_as_json, query_from_json, read_queries
from tests.workspace import document

CORPUS = Corpus([document("a", "a red car"), document("b", "no \u2028 car")])
GOLD = {"document_id": "a", "start": 2, "end": 5}
QUERY = {"id": "q", "text": "scarlet", "gold": [GOLD]}


def read(folder: Path, *values: Any) -> list[Query]:
    path = folder / "queries.ndjson"
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), "utf-8")
    return read_queries(path, CORPUS)


def test_queries_are_read_as_they_are_written(tmp_path: Path) -> None:
    gold = (DocumentSpan("a", CharSpan(2, 5)), DocumentSpan("b", CharSpan(0, 2)))
    queries = [Query("1", "scarlet\u2028or red", gold), Query("2", "none", gold[1:], within=("b", "a"))]
    assert read(tmp_path, *map(query_as_json, queries)) == queries


def test_within_may_be_one_document_or_several() -> None:
    assert query_from_json(QUERY).within == ()
    assert query_from_json(QUERY | {"within": "a"}).within == ("a",)
    assert query_from_json(QUERY | {"within": ["b", "a", "b"]}).within == ("b", "a")


WRONG: dict[str, tuple[Any, str]] = {
    "no text": ({"id": "q", "gold": [GOLD]}, "not a query"),
    "no object": ([1], "not a query"),
    "a text that is none": (QUERY | {"text": 7}, "not a query"),
    "half a character": (QUERY | {"gold": [GOLD | {"start": 1.5}]}, "not a query"),
    "gold without place": (QUERY | {"gold": [{"document_id": "a"}]}, "not a query"),
    "no gold": (QUERY | {"gold": []}, "needs a gold span"),
    "unknown gold": (QUERY | {"gold": [GOLD | {"document_id": "c"}]}, "no document 'c'"),
    "unknown within": (QUERY | {"within": ["a", "d"]}, "no document 'd'"),
    "beyond the end": (QUERY | {"gold": [GOLD | {"end": 10}]}, "2 to 10 is no span of 'a'"),
    "backwards": (QUERY | {"gold": [GOLD | {"start": 6}]}, "6 to 5 is no span of 'a'"),
    "white space": (QUERY | {"gold": [GOLD | {"start": 1, "end": 2}]}, "1 to 2 is no span of 'a'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_query_that_cannot_be_counted_is_named(name: str, tmp_path: Path) -> None:
    value, sentence = WRONG[name]
    with pytest.raises(InvalidInput, match=sentence) as refused:
        read(tmp_path, QUERY, value)
    assert str(refused.value).startswith("queries.ndjson:2: ")
    assert refused.value.hint
    assert refused.value.field == "queries"


def test_empty_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "queries.ndjson"
    path.write_text(f"\n{json.dumps(QUERY)}\n\n")
    assert [query.id for query in read_queries(path, CORPUS)] == ["q"]


def test_a_file_that_is_missing_or_empty(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="cannot be read"):
        read_queries(tmp_path / "nowhere.ndjson", CORPUS)
    with pytest.raises(SourceUnreadable, match="holds no queries"):
        read(tmp_path)
