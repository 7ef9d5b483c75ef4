"""Formats beside NDJSON, CSV and Parquet, and tables as spreadsheets write them."""

import csv
import gzip
import io
import json
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.errors import NoText, SourceUnreadable
from indexer.sources import BadRecord, ReadOptions, Source
from indexer.sources.formats import READERS
from indexer.sources.records import Found, Reading
from models.types import Document, Part
from tests.examples import examples


def read(path: Path, options: ReadOptions | None = None) -> tuple[list[Document], list[BadRecord]]:
    records = list(Source(path, options))
    documents = [record for record in records if isinstance(record, Document)]
    return documents, [record for record in records if isinstance(record, BadRecord)]


def written(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_delimiter_and_encoding_are_detected(tmp_path: Path, delimiter: str, encoding: str, ending: str) -> None:
    out = io.StringIO(newline="")
    rows = csv.writer(out, delimiter=delimiter, lineterminator=ending)
    rows.writerows([["ID", "Größe", "Text"], ["a", "klein", "Kündigung, bitte; sofort | heute"], ["b", "", "¿Qué?"]])
    path = written(tmp_path, "x.csv", out.getvalue().encode(encoding))
    documents, bad = read(path)
    assert bad == []
    assert documents == [
        Document("a", (Part("Kündigung, bitte; sofort | heute"),), {"Größe": "klein"}),
        Document("b", (Part("¿Qué?"),), {}),
    ]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Nie otrzymałem paczki, proszę o zwrot pieniędzy", "cp1250"),
        ("Я хочу вернуть товар и получить деньги обратно", "cp1251"),
        ("商品が届いていません。返金してください。", "cp932"),
        ("Für 5 € „Übung“", "cp1252"),
        ("주문한 상품이 아직 오지 않았습니다. 뷁", "cp949"),
        ("我們的訂單還沒有到。請說一說這個時間。 5 €", "cp950"),
    ],
)
def test_other_encodings_are_detected_and_said(tmp_path: Path, text: str, encoding: str) -> None:
    source = Source(written(tmp_path, "x.csv", f"id;text\n1;{text}\n".encode(encoding)))
    (document,) = source
    assert document == Document("1", (Part(text),))
    said = f"encoding {encoding} (a guess; --encoding says otherwise), delimiter semicolon"
    assert source.notices == {"x.csv": f"{said}; id from id, text from text"}


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        ("商品が届いていません。返金".encode("cp932")[:-1], "商品が届いていません。返\ufffd", "cp932 (a guess;"),
        ("\ufeffI want it".encode("utf-16-le") + b"!", "I want it\ufffd", "utf-16"),
    ],
)
def test_a_text_that_is_cut_within_its_last_sign_is_read(tmp_path: Path, data: bytes, text: str, encoding: str) -> None:
    source = Source(written(tmp_path, "x.txt", data))
    (document,) = source
    assert document == Document("x.txt", (Part(text),))
    notice = source.notices["x.txt"]
    assert notice.startswith(f"encoding {encoding}")
    assert notice.endswith("in which 1 place is not valid and read as \ufffd")


def test_an_encoding_that_is_given_is_used(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", "id,text\n1,İptal ş\n".encode("cp1254"))
    assert read(path, ReadOptions(encoding="cp1254"))[0] == [Document("1", (Part("İptal ş"),))]
    with pytest.raises(SourceUnreadable, match="unknown encoding"):
        read(path, ReadOptions(encoding="cp99999"))


@pytest.mark.parametrize("options", [None, ReadOptions(encoding="windows-1252")])
@pytest.mark.parametrize(
    ("name", "head"),
    [("x.txt", b""), ("x.csv", b"id;text\n1;"), ("x.html", b'<meta charset="latin1">'), ("x.htm", b"")],
)
def test_bytes_without_a_sign_do_not_lose_a_western_text(
    tmp_path: Path, name: str, head: bytes, options: ReadOptions | None
) -> None:
    path = written(tmp_path, name, head + "Größe".encode("cp1252") + b" \x81\x8d\x8f\x90\x9d.")
    (document,), bad = read(path, options)
    assert (document.text, bad) == ("Größe \x81\x8d\x8f\x90\x9d.", [])


def test_single_broken_rows_do_not_change_the_encoding_of_the_others(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", "id,text\n1,schön\n2,".encode() + b"\xff" + "\n3,größer\n".encode())
    documents, bad = read(path)
    assert [document.text for document in documents] == ["schön", "größer"]
    assert bad == [BadRecord("x.csv:3", "the row is not valid UTF-8")]


def test_columns_are_typed_by_all_of_their_cells(tmp_path: Path) -> None:
    rows = [
        "id;text;integer;number;comma;boolean;code;mixed;empty;huge",
        "1;a;7;1.5;3,50;true;007;1;;1234567890123456789",
        "2;b;;2;-1;FALSE;123;x;;1",
    ]
    source = Source(written(tmp_path, "x.csv", "\n".join(rows)))
    first, second = source
    assert first.metadata == {
        "integer": 7, "number": 1.5, "comma": 3.5, "boolean": True, "code": "007", "mixed": "1",
        "huge": "1234567890123456789",
    }  # fmt: skip
    assert second.metadata == {"number": 2.0, "comma": -1.0, "boolean": False, "code": "123", "mixed": "x", "huge": "1"}
    assert "typed columns: integer integer, number number, comma decimal comma" in source.notices["x.csv"]
    assert [type(value) for value in second.metadata.values()] == [float, float, bool, str, str, str]
    texts, _ = read(tmp_path / "x.csv", ReadOptions(typed=False))
    assert texts[0].metadata["integer"] == "7"


def test_columns_are_chosen(tmp_path: Path) -> None:
    path = written(tmp_path, "x.tsv", "Nr\tComment\tAgent\tSecret\n1\tHello\tAnn\tx\n")
    with pytest.raises(SourceUnreadable, match=r"no column id; its columns are Nr, Comment") as refusal:
        read(path)
    assert refusal.value.hint == "Name the right one with --id-column (over HTTP id_column)."
    options = ReadOptions("Nr", "Comment", metadata_columns=("Agent",))
    assert read(path, options) == ([Document("1", (Part("Hello"),), {"Agent": "Ann"})], [])
    with pytest.raises(SourceUnreadable, match="no column Team"):
        read(path, ReadOptions("Nr", "Comment", metadata_columns=("Team",)))
    numbered, _ = read(path, ReadOptions(text_column="Comment", row_ids=True))
    assert numbered[0].id == "x.tsv:1"
    numbered, _ = read(path, ReadOptions(text_column="Comment", row_ids="calls"))
    assert numbered[0].id == "calls:1"


TURNS = """call,turn,speaker,line,queue
b,2,agent,Sure.,sales
a,1,agent,Good morning.,billing
b,1,customer,I want to buy.,sales
a,2,customer,Cancel my plan.,billing
a,10,agent,Done.,billing
"""
TURN_OPTIONS = ReadOptions(id_column="call", text_column="line", part_column="turn")


def test_rows_become_parts_wherever_they_stand(tmp_path: Path) -> None:
    documents, bad = read(written(tmp_path, "x.csv", TURNS), TURN_OPTIONS)
    assert bad == []
    assert documents == [
        Document(
            "b",
            (
                Part("I want to buy.", {"turn": 1, "speaker": "customer"}),
                Part("Sure.", {"turn": 2, "speaker": "agent"}),
            ),
            {"queue": "sales"},
        ),
        Document(
            "a",
            (
                Part("Good morning.", {"turn": 1, "speaker": "agent"}),
                Part("Cancel my plan.", {"turn": 2, "speaker": "customer"}),
                Part("Done.", {"turn": 10, "speaker": "agent"}),
            ),
            {"queue": "billing"},
        ),
    ]


def test_bad_rows_of_a_group_are_named_and_its_others_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", TURNS + "a,3,agent\n,4,agent,x,y\n" + 'a,11,agent,"never closed\n')
    documents, bad = read(path, TURN_OPTIONS)
    assert [len(document.parts) for document in documents] == [2, 3]
    assert [one.where for one in bad] == ["x.csv:7", "x.csv:8", "x.csv:9"]


def test_a_document_of_too_many_rows_is_refused_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexer.sources.grouping.MAX_PARTS", 2)
    documents, (bad,) = read(written(tmp_path, "x.csv", TURNS), TURN_OPTIONS)
    assert [document.id for document in documents] == ["b"]
    assert "more than 2 rows" in bad.reason


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 9), st.text("xyz,;\"'\n", max_size=5)), max_size=12))
@settings(max_examples=examples(60), deadline=None)
def test_grouping_loses_nothing(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, str]]) -> None:
    """Against a dictionary: the parts of each document in the order of their numbers, then of the file."""
    path = tmp_path_factory.mktemp("rows") / "x.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "number", "text"])
        out.writerows(rows)
    expected: dict[str, list[tuple[int, str]]] = {}
    for id, number, text in rows:
        expected.setdefault(id, []).append((number, text))
    documents, bad = read(path, ReadOptions(part_column="number", delimiter=","))
    assert bad == []
    assert [document.id for document in documents] == list(expected)
    for document in documents:
        wanted = sorted(expected[document.id], key=lambda part: part[0])
        assert [(part.metadata["number"], part.text) for part in document.parts] == wanted


def test_json_arrays_and_single_objects(tmp_path: Path) -> None:
    array = [{"id": "a", "text": "x", "metadata": {"n": 1.5}}, 7, {"id": "b", "parts": [{"text": "y"}]}]
    documents, bad = read(written(tmp_path, "x.json", "\ufeff" + json.dumps(array)))
    assert read(written(tmp_path, "x.json", json.dumps(array))) == (documents, bad)
    assert [(one.id, one.text, one.metadata) for one in documents] == [("a", "x", {"n": 1.5}), ("b", "y", {})]
    assert bad == [BadRecord("x.json:2", "a document must be a JSON object")]
    assert read(written(tmp_path, "y.json", '{"id": "a",\n "text": "x"}'))[0] == [Document("a", (Part("x"),))]
    broken = json.dumps(array[:1])[:-1] + ", nonsense"
    documents, (end,) = read(written(tmp_path, "z.json", broken))
    assert [one.id for one in documents] == ["a"]
    assert end.reason.startswith("from here on the file cannot be read: it ends within a value")


def test_pages_become_what_a_browser_would_show(tmp_path: Path) -> None:
    page = """<!DOCTYPE html><html><head><title>Terms &amp; more</title><style>p {}</style></head><body>
    <script>alert("no")</script><!-- no --><h1>Terms</h1><p>The <b>tenant</b> must
    not&nbsp;sublet.<br>Ever.</p><table><tr><td>One</td><td>Two</td></tr></table><pre>a
  b</pre></body></html>"""
    (document,), _ = read(written(tmp_path, "x.html", page))
    assert document.text == "Terms\nThe tenant must not sublet.\nEver.\nOne\nTwo\na\nb"
    assert document.metadata == {"title": "Terms & more"}
    deep = written(tmp_path, "deep.html", "<div>" * 20_000 + "found" + "</div>" * 20_000)
    assert read(deep)[0][0].text == "found"
    broken = written(tmp_path, "broken.html", "<div>" * 20_000 + "found<br>" * 20_000)
    assert read(broken)[0][0].text.split() == ["found"] * 20_000
    _, (bad,) = read(written(tmp_path, "bomb.html", "<p>" * 600_001))
    assert bad.reason == "a page has more than 600,000 tags"


def parquet_of(id: str, text: str) -> bytes:
    data = io.BytesIO()
    pq.write_table(pa.table({"id": [id], "text": [text]}), data)
    return data.getvalue()


def test_a_folder_of_every_format_good_and_broken(tmp_path: Path) -> None:
    """Every good file is read, whatever stands beside it, and every broken one is named; some of it may be read."""
    cues, line = "00:01.000 --> 00:02.000\nCancel it.\n", '{"id": "%s", "text": "Cancel it."}\n'
    good: dict[str, str | bytes] = {
        ".csv": "id;text\ncsv;Cancel it.\n",
        ".htm": "<p>Cancel <b>it</b>.",
        ".html": "<p>Cancel <b>it</b>.",
        ".log": "Cancel it.",
        ".json": f"[{line % 'json'}]",
        ".jsonl": line % "jsonl",
        ".md": "Cancel it.",
        ".ndjson": line % "ndjson",
        ".parquet": parquet_of("parquet", "Cancel it."),
        ".srt": cues,
        ".tsv": "id\ttext\ntsv\tCancel it.\n",
        ".txt": "Cancel it.",
        ".vtt": f"WEBVTT\n\n{cues}",
        ".xhtml": "<p>Cancel <b>it</b>.",
    }
    added = [*entry_points(group="spanseek.documents"), *entry_points(group="spanseek.sources")]
    assert READERS.keys() - {f".{point.name}" for point in added} == good.keys()
    broken: dict[str, str | bytes] = dict.fromkeys(good, b"\xff\x00 nonsense") | {
        ".csv": "id;text\nb;too;many\n",
        **dict.fromkeys((".htm", ".html", ".xhtml"), b'<meta charset="utf-8"><p>Cancel \xff'),
        **dict.fromkeys((".log", ".md", ".txt"), b"\xff\xfe\x00\xd8"),  # half of a pair of UTF-16
        ".tsv": "no such columns\n",
    }
    for ending, data in good.items():
        written(tmp_path, f"{ending[1:]}/good{ending}", data)
        written(tmp_path, f"{ending[1:]}/broken{ending}", broken[ending])
        packed = data if isinstance(data, bytes) else data.encode()
        packed = packed.replace(f'"{ending[1:]}"'.encode(), f'"{ending[1:]} packed"'.encode())
        written(tmp_path, f"{ending[1:]}/packed{ending}.gz", gzip.compress(packed))
        written(tmp_path, f"{ending[1:]}/cut{ending}.gz", gzip.compress(packed)[:-6])
    written(tmp_path, "photo.jpg", "x")
    source = Source(tmp_path)
    records = list(source)
    documents = [record for record in records if isinstance(record, Document)]
    # Pages and texts are read as far as they can be, and are never broken.
    mended = {f"{ending}/broken.{ending}" for ending in ("htm", "html", "log", "md", "txt", "xhtml")}
    assert {document.text for document in documents if document.id not in mended} == {"Cancel it."}
    assert len(documents) == 2 * len(good) + len(mended)
    named = {record.where.partition(":")[0] for record in records if isinstance(record, BadRecord)}
    names = {f"{ending[1:]}/{name}" for ending in good for name in (f"broken{ending}", f"cut{ending}.gz")}
    assert named == names - mended
    assert {f"{ending[1:]}/cut{ending}.gz" for ending in good} <= set(source.unreadable)
    assert source.passed_over == ("photo.jpg",)


def test_sidecars_and_a_table_add_metadata(tmp_path: Path) -> None:
    written(tmp_path, "docs/a.txt", "one")
    written(tmp_path, "docs/a.txt.json", '{"client": "Acme", "year": 2024}')
    (tmp_path / "docs/b.md.gz").write_bytes(gzip.compress(b"# two"))
    written(tmp_path, "docs/b.md.json", "[broken")
    written(tmp_path, "docs/c/d.txt", "three")
    table = written(tmp_path, "docs/about.csv", "file;year;team\na.txt;2025;x\nc/d.txt;2026;\nmissing.txt;2027;y\n")
    source = Source(tmp_path / "docs", ReadOptions(metadata=table))
    records = list(source)
    assert records == [
        Document("a.txt", (Part("one"),), {"client": "Acme", "year": 2025, "team": "x"}),
        BadRecord("b.md.gz:1", records[1].reason),  # type: ignore[union-attr]
        Document("c/d.txt", (Part("three"),), {"year": 2026}),
    ]
    assert "b.md.json cannot be read" in records[1].reason  # type: ignore[union-attr]
    assert source.unmatched_metadata == ("missing.txt",)
    with pytest.raises(SourceUnreadable, match="table of metadata"):
        Source(tmp_path / "docs", ReadOptions(metadata=tmp_path / "nothing.csv"))


HIDDEN = {
    "style": '<div style="color: red; display:none">NO</div>',
    "visibility": '<div style="visibility: hidden">NO</div>',
    "attribute": "<div hidden>NO</div>",
    "dialog": "<dialog>NO</dialog>",
    "canvas": "<canvas>NO</canvas>",
    "video": "<video>NO</video>",
    "style sheet": "<style>@media print {.a {color: red}} .x, #y {display: none}</style><i class='b x'>NO</i>",
    "suggestions": "<datalist><option>NO</datalist>",
    "title of a picture": "<svg><title>NO</title><desc>NO</desc></svg>",
    "row": "<table><tr hidden><td>NO</table>",
    "choice": "<select><option hidden>NO</select>",
    "rule at rest": "<style>.x {display: none} .x:hover, .x::after {display: block}</style><p class=x>NO",
    "rule for paper": "<style>.x {display: none} @media print {.x {display: block}}</style><p class=x>NO",
    "later rule": "<style>.x {display: block} .x {display: none}</style><p class=x>NO",
    "important rule": "<style>.x {display: none !important} .x {display: block}</style><p class=x>NO",
    "rule of all that is hidden": "<style>p {display: flex} [hidden] {display: none !important}</style><p hidden>NO",
}
SHOWN = {
    "open dialog": "<dialog open>YES</dialog>",
    "picture": "<svg><g><text>YES</text></g></svg>",
    "field": "<input value=YES>",
    "style sheet for paper": "<style>@media print {.x {display: none}}</style><p class=x>YES",
    "found by search": "<div hidden=until-found>YES</div>",
    "head without an end": "<head><title>NO</title><body><p>YES",
    "next item": "<ul><li hidden>NO<li>YES</ul>",
    "next term": "<dl><dt hidden>NO<dd>YES</dl>",
    "next row": "<table><tr hidden><td>NO<tr><td>YES</table>",
    "next cell": "<table><tr><td hidden><ul><li>NO</ul><td>YES</table>",
    "next choice": "<select><option hidden>NO<option>YES</select>",
    "table after a paragraph": '<p style="display:none">NO<table><tr><td>YES</table>',
    "rule of two classes": "<style>.x.y {display: block} .x {display: none}</style><p class='x y'>YES",
    "later rule": "<style>.x {display: none} .x {display: block}</style><p class=x>YES",
    "rule of another class": "<style>.x {display: none} .y {display: flex}</style><p class='x y'>YES",
    "rule of an attribute": "<style>.x {display: none} [open] {display: block}</style><p class=x open>YES",
    "rule of a width": "<style>.x {display: none} @media (width > 1px) {.x {display: block}}</style><p class=x>YES",
    "rule in a rule": "<style>.y {color: red; .x {display: none}}</style><p class=x>YES",
    "rule in a comment": "<style>/* .y, .x {display: none} */</style><p class=x>YES",
    "own style": "<style>.x {display: none}</style><p class=x style='display: block'>YES",
    "last own style": "<p style='display: none; display: block'>YES",
    "own style of what is hidden": "<p hidden style='display: block'>YES",
    "sheet for paper": "<style media=print>p {display: none}</style><p>YES",
    "sheet for a width": "<style media='(width < 1px)'>.x {display: none}</style><p class=x>YES",
    "sheet of another kind": "<style type=text/x-template>.x {display: none}</style><p class=x>YES",
    "sheet without scripts": "<noscript><style>.x {display: none}</style></noscript><p class=x>YES",
}


@pytest.mark.parametrize("html", HIDDEN.values(), ids=HIDDEN)
def test_what_a_browser_hides_is_not_read(tmp_path: Path, html: str) -> None:
    assert read(written(tmp_path, "x.html", f"<body><p>One.</p>{html}</body>"))[0][0].text == "One."


@pytest.mark.parametrize("html", SHOWN.values(), ids=SHOWN)
def test_what_a_browser_shows_is_read(tmp_path: Path, html: str) -> None:
    assert read(written(tmp_path, "x.html", f"<body><p>One.</p>{html}</body>"))[0][0].text == "One.\nYES"


@pytest.mark.parametrize("end", ["", "</rp>"])
def test_readings_stand_behind_their_words(tmp_path: Path, end: str) -> None:
    page = f"<ruby>漢<rp>({end}<rt>kan<rp>){end}</ruby>"
    assert read(written(tmp_path, "x.html", page))[0][0].text == "漢(kan)"


def test_a_page_without_text_is_said_to_hold_none(tmp_path: Path) -> None:
    page = "<title>T</title><p hidden>NO<script>NO</script>"
    assert read(written(tmp_path, "x.html", page)) == (
        [],
        [BadRecord("x.html:1", "the page holds no text", lost=False)],
    )


def test_what_is_lost_is_told_from_what_holds_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def losing(reading: Reading) -> Iterator[Found]:
        reading.lost.append("1 embedded object")
        yield 1, lambda: Document(reading.document_id, (Part("rest"),))

    def empty(reading: Reading) -> Iterator[Found]:
        def none() -> Document:
            raise NoText("the file holds no text")

        yield 1, none

    monkeypatch.setitem(READERS, ".txt", losing)
    monkeypatch.setitem(READERS, ".md", empty)
    for name in ("x/a.txt", "x/b.md"):
        written(tmp_path, name, "")
    source = Source(tmp_path / "x")
    assert list(source)[1] == BadRecord("b.md:1", "the file holds no text", lost=False)
    assert source.lost == {"a.txt": ("1 embedded object",)}


def test_files_that_are_passed_over_are_named(tmp_path: Path) -> None:
    for name in ("a.txt", "b.png", "c/d.exe", ".DS_Store"):
        written(tmp_path, name, "x")
    assert Source(tmp_path).passed_over == (".DS_Store", "b.png", "c/d.exe")


def test_what_macos_and_office_put_beside_files_is_passed_over(tmp_path: Path) -> None:
    for name in ("a.txt", "._a.txt", "__MACOSX/a.txt", "b/~$a.docx", "b/._c.csv"):
        written(tmp_path, name, "x")
    source = Source(tmp_path)
    assert list(source) == [Document("a.txt", (Part("x"),))]
    assert source.passed_over == ("._a.txt", "__MACOSX/a.txt", "b/._c.csv", "b/~$a.docx")
    assert list(Source(tmp_path / "._a.txt")) == [Document("._a.txt", (Part("x"),))]


def test_formats_of_a_plug_in_that_is_not_installed_name_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(READERS, ".pdf", raising=False)
    (bad,) = Source(written(tmp_path, "x.pdf", "x"))
    assert isinstance(bad, BadRecord)
    assert bad.reason == "PDF files need `pip install 'spanseek[files]'`"


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz", "a.mht", "a.ass", "a.fb2", "a.XLS", "a.rst"])
def test_formats_that_hold_text_and_have_no_reader_are_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"x") if name.endswith(".gz") else b"x")
    (bad,) = Source(tmp_path / name)
    assert isinstance(bad, BadRecord)
    assert "has no reader: " in bad.reason
