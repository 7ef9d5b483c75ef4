"""Documents of tables: whatever library holds them, they are the same."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseek.errors import ColumnMissing, SpanseekError
from spanseek.hits import Hits, TextHits, marked
from spanseek.models import SearchAnswer, SpansAnswer
from spanseek.requests import listed
from spanseek.tables import Columns, documents_of, text_id
from spanseek.uploads import PIECE, lines_of

WORDS = st.sampled_from(["late", "again", "ünïcode", "twice"])
ROWS = st.lists(
    st.fixed_dictionaries(
        {"call": st.sampled_from("abc"), "line": WORDS, "speaker": WORDS | st.none(), "week": st.integers(0, 3)}
    ),
    min_size=1,
    max_size=8,
).map(lambda rows: [{**row, "turn": turn} for turn, row in enumerate(rows)])


def frames() -> list[Any]:
    makers: list[Any] = [
        pytest.param(lambda rows: rows, id="list"),
        pytest.param(pyarrow.Table.from_pylist, id="arrow"),
    ]
    makers.append(pytest.param(lambda rows: pytest.importorskip("pandas").DataFrame(rows), id="pandas"))
    makers.append(pytest.param(lambda rows: pytest.importorskip("polars").DataFrame(rows), id="polars"))
    return makers


def grouped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The naive oracle: documents of the rows' calls, by the rules of the docstring."""

    def values(row: dict[str, Any]) -> dict[str, Any]:
        return {name: row[name] for name in ("speaker", "week") if row[name] is not None}

    calls = {id: [row for row in rows if row["call"] == id] for id in sorted({row["call"] for row in rows})}
    of_parts = {
        name
        for name in ("speaker", "week")
        for turns in calls.values()
        if len({values(row)[name] for row in turns if name in values(row)}) > 1
    }
    documents = []
    for id, turns in calls.items():
        own: dict[str, Any] = {}
        for row in turns:
            own = {name: value for name, value in values(row).items() if name not in of_parts} | own
        parts = [
            {
                "text": row["line"],
                "metadata": {"turn": row["turn"]} | {k: v for k, v in values(row).items() if k in of_parts},
            }
            for row in turns
        ]
        documents.append({"id": id, "parts": parts, "metadata": own})
    return documents


@pytest.mark.parametrize("make", frames())
@given(rows=ROWS)
def test_parts_are_grouped_alike_in_every_library(
    make: Callable[[list[dict[str, Any]]], Any], rows: list[dict[str, Any]]
) -> None:
    columns = Columns("line", "call", "turn")
    assert list(documents_of(make(rows), columns)) == grouped(rows)
    shuffled = sorted(rows, key=lambda row: (-row["week"], -row["turn"]))
    assert list(documents_of(make(shuffled), columns)) == grouped(rows)


@pytest.mark.parametrize("make", frames())
@given(rows=ROWS)
def test_a_row_is_a_document_without_its_empty_cells(
    make: Callable[[list[dict[str, Any]]], Any], rows: list[dict[str, Any]]
) -> None:
    documents = list(documents_of(make(rows), Columns("line", "turn")))
    for row, document in zip(rows, documents, strict=True):
        metadata = {name: row[name] for name in ("call", "speaker", "week") if row[name] is not None}
        assert document == {"id": str(row["turn"]), "text": row["line"], "metadata": metadata}


def test_texts_have_ids_that_follow_from_them() -> None:
    first, second, third = documents_of(["late", "again", "late"], Columns())
    assert first == third
    assert first["id"] != second["id"]
    chosen = list(documents_of([{"line": "late", "week": 1, "day": 2}], Columns("line", metadata=["day"])))
    assert chosen[0]["metadata"] == {"day": 2}


@pytest.mark.parametrize("make", frames())
def test_rows_without_an_id_are_documents_of_their_own(make: Callable[[list[dict[str, Any]]], Any]) -> None:
    rows = [{"call": id, "turn": 1, "text": text} for id, text in ((7, "late"), (8, "again"), (None, "twice"))]
    ids = [document["id"] for document in documents_of(make(rows), Columns(id="call"))]
    assert ids == ["7", "8", text_id("twice")]
    with pytest.raises(SpanseekError, match="A part has no 'call'"):
        list(documents_of(make(rows), Columns(id="call", part="turn")))


def test_an_empty_id_of_a_document_of_the_api_follows_from_its_text() -> None:
    empty, absent, number = documents_of([{"id": None, "text": "a"}, {"text": "a"}, {"id": 7, "text": "b"}], Columns())
    assert (empty, number["id"]) == (absent, "7")


def test_a_column_of_texts_is_a_list_of_them() -> None:
    made = [pyarrow.array(["late"]), pyarrow.chunked_array([["late"]])]
    made += [pytest.importorskip(name).Series(["late"]) for name in ("pandas", "polars")]
    expected = list(documents_of(["late"], Columns()))
    assert [list(documents_of(each, Columns())) for each in made] == [expected] * 4


def test_one_object_is_one_document_and_one_text_one_phrase() -> None:
    own = {"id": "a", "text": "late"}
    assert list(documents_of(own, Columns())) == [own]
    assert (listed("late"), listed(own)) == (["late"], [own])


@pytest.mark.parametrize("data", ["calls.csv", b"late", None, 7, [("a", "late")], [None], [7]])
def test_what_has_no_rows_says_so(data: object) -> None:
    with pytest.raises(SpanseekError, match=r"give a file as a Path|A row is a text or an object"):
        list(documents_of(data, Columns()))


def test_the_id_and_an_object_of_metadata_are_no_metadata() -> None:
    row = {"id": "a", "text": "late", "metadata": {"week": 1}, "day": 2}
    assert list(documents_of([row], Columns())) == [{"id": "a", "text": "late", "metadata": {"day": 2, "week": 1}}]
    named = next(iter(documents_of([row | {"call": "b"}], Columns(id="call"))))
    assert (named["id"], named["metadata"]) == ("b", {"id": "a", "day": 2, "week": 1})


def test_documents_of_the_api_are_taken_as_they_are() -> None:
    own = {"id": "a", "parts": [{"text": "x", "metadata": {}}], "metadata": {"k": [1]}}
    assert list(documents_of(iter([own]), Columns())) == [own]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(ColumnMissing, match="no column 'body'; there are line"):
        list(documents_of([{"line": "x"}], Columns("body")))
    with pytest.raises(ColumnMissing, match="read twice"):
        list(documents_of(iter([{"line": "x"}]), Columns("line", "id", "part")))
    with pytest.raises(ColumnMissing, match="column of ids"):
        list(documents_of([{"line": "x"}], Columns("line", part="part")))


@pytest.mark.parametrize("make", frames())
@pytest.mark.parametrize("columns", [Columns("line", "call", "part"), Columns("line", "id", "turn")])
def test_a_missing_column_of_parts_is_named_in_every_library(
    make: Callable[[list[dict[str, Any]]], Any], columns: Columns
) -> None:
    with pytest.raises(ColumnMissing, match=r"no column '(part|id)'; there are line, call, turn"):
        list(documents_of(make([{"line": "late", "call": "a", "turn": 1}]), columns))


@pytest.mark.parametrize("make", frames())
def test_a_part_without_a_number_is_the_last_one(make: Callable[[list[dict[str, Any]]], Any]) -> None:
    rows = [{"line": line, "call": "a", "turn": turn} for line, turn in (("c", None), ("b", 2), ("a", 1))]
    (document,) = documents_of(make(rows), Columns("line", "call", "turn"))
    assert [part["text"] for part in document["parts"]] == ["a", "b", "c"]


@pytest.mark.parametrize("as_frame", [False, True])
def test_ids_and_numbers_of_several_types(as_frame: bool) -> None:
    def documents(*cells: tuple[object, object]) -> list[dict[str, Any]]:
        rows = [{"call": id, "turn": turn, "text": f"{id} {turn}"} for id, turn in cells]
        frame = pytest.importorskip("pandas").DataFrame(rows, dtype=object) if as_frame else rows
        return list(documents_of(frame, Columns(id="call", part="turn")))

    (document,) = documents((1, 1), ("1", 3), (1.0, 2))
    assert (document["id"], [part["text"] for part in document["parts"]]) == ("1", ["1 1", "1.0 2", "1 3"])
    with pytest.raises(SpanseekError, match="'turn' gives the parts no order: give all numbers, or all texts"):
        documents((1, 1), (1, {} if as_frame else "2"))  # pandas puts numbers before texts


def test_uploads_are_made_as_they_are_sent() -> None:
    made = 0

    def documents() -> Iterator[dict[str, object]]:
        nonlocal made
        for number in range(5000):
            made += 1
            yield {"id": str(number), "text": "a text of some words " * 10}

    pieces = lines_of(documents())
    first = next(pieces)
    assert PIECE <= len(first) < 2 * PIECE
    assert made == first.count(b"\n") < 2000
    assert first.count(b"\n") + sum(piece.count(b"\n") for piece in pieces) == 5000


def test_what_json_cannot_hold_says_so() -> None:
    with pytest.raises(SpanseekError, match="A value cannot be sent"):
        list(lines_of([{"id": "a", "text": "\ud800"}]))


def hits(*values: object) -> Hits:
    hit = {"start": 2, "end": 8, "text": "<late>", "score": 0.9, "raw": 0.95, "mode": "best_span", "metadata": {"k": 1}}
    context = {"text": "a <late> parcel", "start": 2, "end": 8}
    listed = [
        {**hit, "document_id": "a&b", "rank": 1, "context": context, "part_metadata": {"turn": 3}},
        {**hit, "document_id": "b", "rank": 2, "verdict": "match", "metadata": {}},
        *({**hit, "document_id": "c", "rank": 3, "metadata": {"k": value}} for value in values),
    ]
    threshold = {"value": None, "on": "score", "source": "none"}
    answer = SearchAnswer.model_validate({"hits": listed, "generation": 1, "threshold": threshold, "took_ms": 1})
    return Hits(answer.hits, answer)


def test_hits_draw_themselves_with_marks() -> None:
    found = hits()
    assert marked(found[0]) == "a <mark>&lt;late&gt;</mark> parcel"
    drawn = found._repr_html_()
    assert "<td>a&amp;b</td>" in drawn
    assert drawn.count("<mark>") == 2
    assert "<late>" not in drawn
    assert repr(found).splitlines()[1] == "0.900  b[2:8]  <late>"
    assert [hit.rank for hit in found[:1]] == [1]


def test_a_slice_of_hits_is_hits() -> None:
    some = hits()[1:]
    assert (len(some), some.answer, some[-1].document_id) == (1, hits().answer, "b")
    assert "<td>b</td>" in some._repr_html_()
    assert some.to_arrow().column("document_id").to_pylist() == ["b"]
    of_text = TextHits([], SpansAnswer.model_construct(), "t")[:1]
    assert (type(of_text), of_text.id) == (TextHits, "t")


def test_hits_become_tables() -> None:
    table = hits().to_arrow()
    assert table.column("metadata.k").to_pylist() == [1, None]
    assert table.column("part.turn").to_pylist() == [3, None]
    frame = pytest.importorskip("pandas")
    assert list(hits().to_pandas()["document_id"]) == ["a&b", "b"]
    assert frame.isna(hits().to_pandas()["metadata.k"][1])


@pytest.mark.parametrize("value", ["one", [1], True, 2**70])
def test_values_of_several_types_are_strings_in_arrow(value: object) -> None:
    table = hits(value).to_arrow()
    assert table.column("metadata.k").to_pylist() == ["1", None, value if value == "one" else json.dumps(value)]
