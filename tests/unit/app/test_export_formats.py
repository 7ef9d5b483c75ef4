"""The tables of exports have what the second look says of hits."""

import csv
import io

from openpyxl import load_workbook
from pyarrow import parquet as pq

from app.search.answers import Hit
from app.search.export import parquet, table, workbook

JUDGED = Hit("d", 0, 4, "Text", 0.5, 0.75, "best_span", 1, {}, probability=0.875, verdict="match")
UNJUDGED = Hit("d", 5, 9, "more", 0.5, 0.75, "best_span", 2, {"team": "A"}, {"n": 1})


def test_tables_have_the_verdicts_of_judged_hits() -> None:
    rows = list(csv.DictReader(io.StringIO(b"".join(table(iter((JUDGED, UNJUDGED)))).decode("utf-8-sig"))))
    typed = pq.read_table(io.BytesIO(b"".join(parquet(iter((JUDGED, UNJUDGED)))))).to_pylist()
    assert [(row["probability"], row["verdict"]) for row in rows] == [("0.875", "match"), ("", "")]
    assert [(row["probability"], row["verdict"]) for row in typed] == [(0.875, "match"), (None, None)]
    assert [row["part_metadata"] for row in typed] == [None, '{"n": 1}']


def test_a_workbook_has_numbers_as_such_and_runs_no_formula() -> None:
    formula = Hit("=1+1", 0, 4, "=HYPERLINK(\x00)", 0.5, 0.75, "best_span", 1, {})
    book = load_workbook(io.BytesIO(b"".join(workbook(iter((formula, JUDGED))))))
    head, first, second = (list(row) for row in book.active.iter_rows())
    columns = [cell.value for cell in head]
    assert [first[columns.index(name)].value for name in ("document_id", "text")] == ["=1+1", "=HYPERLINK()"]
    assert {first[columns.index(name)].data_type for name in ("document_id", "text")} == {"s"}
    assert [second[columns.index(name)].value for name in ("probability", "end")] == [0.875, 4]
