"""Tables as programs really write them: no row is lost, and the columns mean the same in every format."""

import csv
import io
import json
import math
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import InvalidDocument, SourceUnreadable
from indexer.sources import BadRecord, ReadOptions, Source
from indexer.sources.named_rows import plain
from models.types import Document, Part

openpyxl = pytest.importorskip("openpyxl")

Fields = dict[str, object]
TICKETS: list[Fields] = [
    {"key": "T-1", "title": "Late parcel", "body": "Where is it?", "team": "north", "hours": 4},
    {"key": "T-2", "title": "Refund", "body": "I want my money back.", "team": "south", "hours": 12},
]


def read(path: Path, options: ReadOptions | None = None) -> tuple[list[Document], list[BadRecord], Source]:
    source = Source(path, options)
    records = list(source)
    documents = [record for record in records if isinstance(record, Document)]
    return documents, [record for record in records if isinstance(record, BadRecord)], source


def table(tmp_path: Path, text: str, name: str = "x.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def as_csv(rows: list[Fields], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def as_sheet(rows: list[Fields], path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(list(rows[0]))
    for row in rows:
        book.active.append(list(row.values()))
    book.save(path)


WRITERS: dict[str, Callable[[list[Fields], Path], object]] = {
    "x.csv": as_csv,
    "x.json": lambda rows, path: path.write_text(json.dumps(rows)),
    "x.ndjson": lambda rows, path: path.write_text("".join(json.dumps(row) + "\n" for row in rows)),
    "x.parquet": lambda rows, path: pq.write_table(pa.Table.from_pylist(rows), path),
    "x.xlsx": as_sheet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_columns_mean_the_same_in_every_format(name: str, tmp_path: Path) -> None:
    WRITERS[name](TICKETS, tmp_path / name)
    options = ReadOptions(id_column="key", text_column="title, body", metadata_columns=("team", "hours"))
    (first, second), bad, _ = read(tmp_path / name, options)
    assert not bad
    assert [(part.text, part.metadata) for part in first.parts] == [
        ("Late parcel", {"column": "title"}),
        ("Where is it?", {"column": "body"}),
    ]
    assert second.id == "T-2"
    assert second.metadata == {"team": "south", "hours": 12}


@pytest.mark.parametrize("name", WRITERS)
def test_rows_of_one_id_are_grouped_in_every_format(name: str, tmp_path: Path) -> None:
    turns: list[Fields] = [
        {"call": 7, "turn": 2, "text": "I am sorry.", "queue": "billing", "speaker": "agent"},
        {"call": 7, "turn": 1, "text": "You charged me twice.", "queue": "billing", "speaker": "caller"},
        {"call": 8, "turn": 1, "text": "Hello?", "queue": "sales", "speaker": "caller"},
    ]
    WRITERS[name](turns, tmp_path / name)
    documents, bad, _ = read(tmp_path / name, ReadOptions(id_column="call", part_column="turn"))
    assert not bad
    assert [(one.id, one.metadata) for one in documents] == [("7", {"queue": "billing"}), ("8", {"queue": "sales"})]
    assert [(part.text, part.metadata) for part in documents[0].parts] == [
        ("You charged me twice.", {"turn": 1, "speaker": "caller"}),
        ("I am sorry.", {"turn": 2, "speaker": "agent"}),
    ]


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_a_column_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    WRITERS[name](TICKETS, tmp_path / name)
    with pytest.raises(SourceUnreadable, match="columns are key, title, body, team, hours"):
        read(tmp_path / name, ReadOptions(row_ids=True, text_column="message"))


@pytest.mark.parametrize("name", ["x.json", "x.ndjson"])
def test_a_field_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    WRITERS[name](TICKETS, tmp_path / name)
    _, bad, _ = read(tmp_path / name, ReadOptions(row_ids=True, text_column="message"))
    assert bad[0].reason.startswith("it has no field message; its fields are key, title, body, team, hours: name")


MANY = "".join(f"{number},late parcel {number}\n" for number in range(3, 31))


@pytest.mark.parametrize(
    ("text", "texts", "said"),
    [
        ('id,text\n1,good row\n2,"never ends\n' + MANY, 30, "1 row with quotes that do not close"),
        ('id,text\n1,good row\n2,"never ends\n3,"cancel my plan"\n4,last row\n', 4, "quotes that do not close"),
        ('id,text\n1,"she said \\"no\\" and left"\n2,ok\n', 2, "quotes that a backslash escapes"),
        ('id,text\n1, "a, b"\n2,ok\n', 2, "blanks before a quote"),
        ("sep=;\nid;text\n1;late parcel\n", 1, "delimiter semicolon"),
    ],
)
def test_no_row_of_a_broken_table_is_lost(tmp_path: Path, text: str, texts: int, said: str) -> None:
    documents, bad, source = read(table(tmp_path, text))
    assert (len(documents), bad) == (texts, [])
    assert said in source.notices["x.csv"]


def test_quotes_of_a_table_without_quoting_are_text(tmp_path: Path) -> None:
    text = 'id\ttext\n1\tgood row\n2\t"Tis broken\n3\tcancel my plan\n4\tand that is that"\n5\tlast row\n'
    documents, bad, source = read(table(tmp_path, text, "x.tsv"))
    assert [one.text for one in documents][1:4] == ['"Tis broken', "cancel my plan", 'and that is that"']
    assert not bad
    assert "read as it stands" in source.notices["x.tsv"]
    given, _, _ = read(table(tmp_path, 'id,text\n1,"a"\n'), ReadOptions(quote="none"))
    assert given[0].text == '"a"'


def test_quotes_around_several_lines_are_kept(tmp_path: Path) -> None:
    documents, bad, _ = read(table(tmp_path, 'id,text\n1,"first line\nsecond, line"\n2,x\n'))
    assert ([one.text for one in documents], bad) == (["first line\nsecond, line", "x"], [])


def test_columns_of_one_name_are_a_list(tmp_path: Path) -> None:
    path = table(tmp_path, "id,text,Label,Label,Comment,Comment\n1,late parcel,x,y,first,second\n2,ok,,z,,\n")
    (first, second), _, _ = read(path)
    assert first.metadata == {"Label": ["x", "y"], "Comment": ["first", "second"]}
    assert second.metadata == {"Label": ["z"]}
    (first, _), _, _ = read(path, ReadOptions(text_column="Comment"))
    assert [part.text for part in first.parts] == ["first", "second"]


def test_long_numbers_stay_as_they_are_written(tmp_path: Path) -> None:
    path = table(
        tmp_path, "id,text,order,share,price\na,x,1234567890123456789,0.12345678901234567891,2.50\nb,x,1,0.5,3\n"
    )
    (first, _), _, _ = read(path)
    assert first.metadata == {"order": "1234567890123456789", "share": "0.12345678901234567891", "price": 2.5}


def test_documents_that_others_replace_are_counted(tmp_path: Path) -> None:
    _, _, source = read(table(tmp_path, "id,text\n7,first\n7,second\n7,third\n8,other\n"))
    assert (source.replaced, source.documents) == (2, 4)


def test_records_within_an_object(tmp_path: Path) -> None:
    path = table(tmp_path, '{"page": 1, "tickets": [{"id": 1, "text": "Late."}], "next": null}', "x.json")
    documents, _, source = read(path)
    assert [(one.id, one.text) for one in documents] == [("1", "Late.")]
    assert source.notices == {"x.json": "records from tickets"}
    two = table(tmp_path, '{"tickets": [{"id": 1, "text": "a"}], "users": [{"id": 2, "text": "b"}]}', "two.json")
    with pytest.raises(SourceUnreadable, match="records under tickets and users") as refused:
        read(two)
    assert "--records tickets" in refused.value.hint
    documents, _, _ = read(two, ReadOptions(records="users"))
    assert documents[0].id == "2"
    with pytest.raises(SourceUnreadable, match="no records under orders"):
        read(two, ReadOptions(records="orders"))


def test_a_document_in_parts_is_no_wrapper(tmp_path: Path) -> None:
    documents, _, _ = read(table(tmp_path, '{"id": 1, "parts": [{"text": "a"}, {"text": "b"}]}', "x.json"))
    assert len(documents[0].parts) == 2


def test_a_row_that_holds_objects_is_no_wrapper(tmp_path: Path) -> None:
    path = table(tmp_path, '{"number": 1, "body": "Late.", "comments": [{"by": "Ann"}]}', "x.json")
    (row,), _, _ = read(path, ReadOptions(text_column="body", row_ids=True))
    assert (row.text, row.metadata) == ("Late.", {"number": 1, "comments": [{"by": "Ann"}]})


def test_records_of_an_array_are_not_chosen(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="no object with records") as refused:
        read(table(tmp_path, '[{"id": 1, "text": "a"}]', "x.json"), ReadOptions(records="tickets"))
    assert "--records" in refused.value.hint


def test_a_table_of_too_many_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="20,002 columns; at most 10,000"):
        read(table(tmp_path, "id,text," + ",".join(f"c{n}" for n in range(20_000)) + "\n"))


def test_rows_without_a_text_are_passed_over_and_the_others_keep_their_numbers(tmp_path: Path) -> None:
    path = table(tmp_path, "id,text\n,\n1,first\n,,\n,no id\n")
    documents, bad, _ = read(path)
    assert [one.text for one in documents] == ["first"]
    assert [one.where for one in bad] == ["x.csv:5"]
    numbered, _, _ = read(path, ReadOptions(row_ids=True))
    assert [one.id for one in numbered] == ["x.csv:2", "x.csv:4"]


@pytest.mark.parametrize("name", ["x.json", "x.ndjson", "x.parquet"])
def test_a_null_text_is_an_empty_one(name: str, tmp_path: Path) -> None:
    rows: list[Fields] = [{"key": "1", "Text": "late"}, {"key": "2", "Text": None}]
    WRITERS[name](rows, tmp_path / name)
    documents, bad, _ = read(tmp_path / name, ReadOptions(id_column="key"))
    assert ([(one.id, one.text) for one in documents], bad) == ([("1", "late"), ("2", "")], [])


def test_values_that_json_lacks_lose_no_row(tmp_path: Path) -> None:
    row = {
        "id": "1",
        "text": b"late",
        "n": math.nan,
        "far": math.inf,
        "took": timedelta(hours=26),
        "photo": b"\xff\xd8",
    }
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "x.parquet")
    documents, bad, _ = read(tmp_path / "x.parquet")
    assert (documents, bad) == ([Document("1", (Part("late"),), {"took": "26:00:00"})], [])


@pytest.mark.parametrize(("text", "reason"), [(b"\xff", "column text holds bytes"), (7, "column text holds another")])
def test_a_text_that_is_none_is_refused_with_its_column(tmp_path: Path, text: object, reason: str) -> None:
    pq.write_table(pa.Table.from_pylist([{"id": "1", "text": text}]), tmp_path / "x.parquet")
    _, (bad,), _ = read(tmp_path / "x.parquet")
    assert reason in bad.reason


def test_a_column_of_metadata_that_json_has_no_form_for_is_named() -> None:
    with pytest.raises(InvalidDocument, match="column c holds a value that JSON has no form for: complex"):
        plain({"c": 1j})


def test_ids_of_a_table_of_metadata_are_those_of_its_column(tmp_path: Path) -> None:
    path = table(tmp_path, "id,text\n1,late\n")
    for header in ("id,profile", '"id";"profile"', "File,profile"):
        metadata = table(tmp_path, f"{header}\n,\n1,x\n".replace(",", ";" if ";" in header else ","), "m.csv")
        (document,), _, source = read(path, ReadOptions(metadata=metadata))
        assert (document.metadata, source.unmatched_metadata) == ({"profile": "x"}, ())


CELLS = st.text(st.sampled_from('ab,;\t"\\\n\r é'), max_size=6)


@given(st.lists(CELLS, min_size=1, max_size=8), st.sampled_from(",;\t|"))
def test_what_the_csv_module_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], delimiter: str
) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([["id", "text", "more"], *([number, text, "x"] for number, text in enumerate(texts))])
    path = table(tmp_path_factory.mktemp("csv"), out.getvalue())
    documents, bad, _ = read(path, ReadOptions(delimiter=delimiter))
    assert ([one.text for one in documents], bad) == (texts, [])


@given(st.lists(CELLS.filter(lambda cell: not set(cell) & set("\t\n\r")), min_size=1, max_size=8))
def test_no_line_of_a_table_without_quoting_is_lost(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    lines = "".join(f"{number}\t{text}\n" for number, text in enumerate(texts))
    documents, bad, _ = read(table(tmp_path_factory.mktemp("tsv"), f"id\ttext\n{lines}", "x.tsv"))
    assert (len(documents), bad) == (len(texts), [])


@given(
    st.lists(st.tuples(st.sampled_from(["", '"']), st.text("ab, é'", max_size=8)), min_size=2, max_size=12),
    st.sampled_from(",;\t|"),
)
def test_quotes_that_do_not_close_swallow_no_row(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], delimiter: str
) -> None:
    texts = [f"{quote}late {text.replace(delimiter, ' ')}" for quote, text in rows]
    lines = "".join(f"{number}{delimiter}{text}\n" for number, text in enumerate(texts))
    path = table(tmp_path_factory.mktemp("stray"), f"id{delimiter}text\n{lines}")
    documents, bad, _ = read(path, ReadOptions(delimiter=delimiter))
    assert ([one.text for one in documents], bad) == (texts, [])
