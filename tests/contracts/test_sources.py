"""Every source gives the same documents, and names the line of whatever it cannot read."""

import csv
import errno
import gzip
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from indexer.errors import ResourcesExhausted, SourceUnreadable
from indexer.sources import BadRecord, Source, formats
from indexer.sources.records import Reading
from models.types import Document, Part
from tests.memory import peaks_of

TEXTS = {
    "plain": "Where is my parcel?",
    "lines": 'one\ntwo\r\nthree\rfour, "five"\n',
    "signs": "👩‍👩‍👧 שלום é ไทย 中文 \u2028 \x0b",
    "nul": "before\0after",
    "blank": "",
}
DOCUMENTS = [Document(id, (Part(text),), {"lang": "x-" + id}) for id, text in TEXTS.items()]
IN_PARTS = [
    Document("call", (Part("Hello.", {"speaker": "agent"}), Part("Hi!\n", {"speaker": "customer"})), {"week": 7}),
    Document("silence", (), {"week": 8}),
    Document("bare", (Part("No metadata."), Part("", {"speaker": "agent"})), {"week": 9}),
]


def as_json(document: Document) -> dict[str, object]:
    if len(document.parts) == 1 and not document.parts[0].metadata:
        return {"id": document.id, "text": document.text, "metadata": document.metadata}
    parts = [{"text": part.text, "metadata": part.metadata} for part in document.parts]
    return {"id": document.id, "parts": parts, "metadata": document.metadata}


def ndjson(documents: list[Document]) -> bytes:
    return b"".join(json.dumps(as_json(document)).encode() + b"\n" for document in documents)


def comma_separated(documents: list[Document]) -> bytes:
    out = io.StringIO(newline="")
    rows = csv.writer(out)
    rows.writerow(["id", "lang", "text"])
    rows.writerows([document.id, document.metadata["lang"], document.text] for document in documents)
    return out.getvalue().encode()


def parquet(rows: list[dict[str, object]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def columns(documents: list[Document]) -> bytes:
    return parquet([{"id": one.id, "text": one.text, **one.metadata} for one in documents])


FORMATS: dict[str, Callable[[list[Document]], bytes]] = {
    "x.ndjson": ndjson,
    "x.jsonl": ndjson,
    "x.csv": comma_separated,
    "x.parquet": columns,
}


def read(path: Path) -> tuple[list[Document], list[BadRecord]]:
    records = list(Source(path))
    documents = [record for record in records if isinstance(record, Document)]
    return documents, [record for record in records if isinstance(record, BadRecord)]


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.fixture(autouse=True)
def _limit_of_cells() -> Iterator[None]:
    """The limit of the module ``csv`` is one for the process, and readers of other tests know nothing of it."""
    before = csv.field_size_limit()
    yield
    csv.field_size_limit(before)


@pytest.fixture(params=["", ".gz"])
def packing(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_documents(name: str, packing: str, tmp_path: Path) -> None:
    path = written(tmp_path, name + packing, FORMATS[name](DOCUMENTS))
    assert read(path) == (DOCUMENTS, [])


@pytest.mark.parametrize("name", ["x.ndjson", "x.parquet"])
def test_parts_come_with_their_metadata(name: str, packing: str, tmp_path: Path) -> None:
    rows = [as_json(document) for document in IN_PARTS]
    data = ndjson(IN_PARTS) if name == "x.ndjson" else parquet(rows)
    assert read(written(tmp_path, name + packing, data)) == (IN_PARTS, [])


def test_text_files_are_documents_named_by_their_path(packing: str, tmp_path: Path) -> None:
    for id, text in TEXTS.items():
        written(tmp_path, f"notes/{id}.txt{packing}", text.encode())
    documents, bad = read(tmp_path)
    assert not bad
    # Packing a file must not make another document of it.
    assert {one.id: one.text for one in documents} == {f"notes/{id}.txt": text for id, text in TEXTS.items()}
    assert [one.id for one in read(written(tmp_path, f"notes/plain.txt{packing}", b"x"))[0]] == ["plain.txt"]


def test_a_folder_is_read_with_all_its_folders_in_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/second.NDJSON.GZ").write_bytes(gzip.compress(ndjson(DOCUMENTS[1:2])))
    written(tmp_path, "a.csv", comma_separated(DOCUMENTS[:1]))
    written(tmp_path, "b/c/third.parquet", columns(DOCUMENTS[2:3]))
    written(tmp_path, "readme.png", b"not a source")
    (tmp_path / "folder.txt").mkdir()
    assert read(tmp_path) == ([DOCUMENTS[0], DOCUMENTS[2], DOCUMENTS[1]], [])


def test_a_source_can_be_iterated_again(tmp_path: Path) -> None:
    source = Source(written(tmp_path, "x.ndjson", ndjson(DOCUMENTS)))
    assert list(source) == list(source)
    assert source.read_bytes == source.total_bytes


def test_nothing_to_read_is_an_error_that_says_what_could_be(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match="no file or folder"):
        Source(tmp_path / "missing.ndjson")
    with pytest.raises(SourceUnreadable, match="nothing that Spanseek reads") as refused:
        Source(written(tmp_path, "readme.png", b"x"))
    assert ".parquet" in refused.value.hint


@pytest.mark.parametrize("name", ["x.ndjson", "x.parquet"])
def test_an_empty_file_has_no_documents(name: str, packing: str, tmp_path: Path) -> None:
    data = b"\n \n" if name == "x.ndjson" else parquet([{"id": "a", "text": "b"}][:0])
    assert read(written(tmp_path, name + packing, data)) == ([], [])


GOOD = b'{"id": "good", "text": "fine"}'
BAD_LINES = {
    b"{": "not valid JSON",
    b"[1]": "must be a JSON object",
    b'"text"': "must be a JSON object",
    b'{"text": "x"}': "needs an id",
    b'{"id": null, "text": "x"}': "needs an id",
    b'{"id": "", "text": "x"}': "needs an id",
    b'{"id": true, "text": "x"}': "needs an id",
    b'{"id": 1.5, "text": "x"}': "needs an id",
    b'{"id": "a\\u0000b", "text": "x"}': "NUL",
    b'{"id": "\\ud800", "text": "x"}': "lone surrogate",
    b'{"id": "' + b"x" * 513 + b'", "text": "x"}': "513 characters",
    b'{"id": "a"}': "either text or parts",
    b'{"id": "a", "text": "x", "parts": []}': "either text or parts",
    b'{"id": "a", "text": "x", "lang": "en"}': "unknown field 'lang'",
    b'{"id": "a", "text": 7}': "text must be a string",
    b'{"id": "a", "text": null}': "text must be a string",
    b'{"id": "a", "text": "\\ud800"}': "lone surrogate at character 0",
    b'{"id": "a", "text": "x\\udc00y"}': "lone surrogate at character 1",
    b'{"id": "a", "parts": "x"}': "parts must be a list",
    b'{"id": "a", "parts": ["x"]}': "a part must be",
    b'{"id": "a", "parts": [{}]}': "text must be a string",
    b'{"id": "a", "parts": [{"text": "x", "speaker": "me"}]}': "unknown field 'speaker'",
    b'{"id": "a", "parts": [{"text": "x", "metadata": []}]}': "metadata must be a JSON object",
    b'{"id": "a", "parts": [{"text": "x", "metadata": {"k": NaN}}]}': "metadata is not JSON",
    b'{"id": "a", "text": "x", "metadata": 5}': "metadata must be a JSON object",
    b'{"id": "a", "text": "x", "metadata": {"k": NaN}}': "metadata is not JSON",
    b'{"id": "a", "text": "x", "metadata": {"k": [1e999]}}': "metadata is not JSON",
    b'{"id": "a", "text": "x", "metadata": {"k": "\\u0000"}}': "NUL",
    b'{"id": "a", "text": "x", "metadata": {"\\udfff": 1}}': "lone surrogate",
    b'{"id": "a", "text": "\xff"}': "not valid UTF-8",
    b'{"id": "a", "text": "x", "metadata": {"k": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}": "nested too deeply",
    b'{"id": "a", "text": "x", "metadata": {"k": ' + b"[" * 500 + b"]" * 500 + b"}}": "nested too deeply",
    b'{"id": "a", "text": "x", "metadata": {"k": ' + b"9" * 5_000 + b"}}": "digits",
}


@pytest.mark.parametrize(("line", "reason"), BAD_LINES.items(), ids=range(len(BAD_LINES)))
def test_a_bad_line_is_named_and_the_others_go_on(line: bytes, reason: str, tmp_path: Path) -> None:
    path = written(tmp_path, "x.ndjson", GOOD + b"\n\n" + line + b"\r\n" + GOOD)
    documents, (bad,) = read(path)
    assert [document.id for document in documents] == ["good", "good"]
    assert bad.where == "x.ndjson:3"
    assert reason in bad.reason
    assert "\n" not in bad.reason


def test_what_is_odd_but_right_is_read(tmp_path: Path) -> None:
    lines = [
        b'\xef\xbb\xbf{"id": 7, "text": "a byte order mark, and a number for an id"}',
        b'  {"id": "null", "text": "x", "metadata": null}  ',
        b'{"id": "escape", "text": "\\u0000 \\ud83d\\ude00", "metadata": {"path": "a\\\\u0000b"}}',
        b'{"id": "part", "parts": [{"text": "x", "metadata": null}]}',
        json.dumps({"id": "i" * 512, "text": "x", "metadata": {"deep": [[[[1]]]]}}).encode(),
    ]
    documents, bad = read(written(tmp_path, "x.ndjson", b"\n".join(lines)))
    assert not bad
    assert [one.id for one in documents] == ["7", "null", "escape", "part", "i" * 512]
    assert documents[2].text == "\0 😀"
    assert documents[2].metadata == {"path": "a\\u0000b"}


def test_bad_lines_of_folders_are_told_apart(tmp_path: Path) -> None:
    written(tmp_path, "a/x.ndjson", GOOD + b"\n{")
    written(tmp_path, "b/x.ndjson.gz", b"{\n" + GOOD)
    documents, bad = read(tmp_path)
    assert len(documents) == 2
    assert [one.where for one in bad] == ["a/x.ndjson:2", "b/x.ndjson.gz:1"]


def test_rows_of_the_wrong_length_are_bad(packing: str, tmp_path: Path) -> None:
    data = (
        b'id,text,lang\r\na,"two\r\nlines",en\r\nb,few\r\n\r\nc,many,en,x\r\nd,\xff,en\r\n,no id,en\r\ne,x\xc3\xa9,\r\n'
    )
    documents, bad = read(written(tmp_path, "x.csv" + packing, data))
    assert [(one.id, one.text, one.metadata) for one in documents] == [
        ("a", "two\r\nlines", {"lang": "en"}),
        ("e", "xé", {}),
    ]
    assert [one.where.rpartition(":")[2] for one in bad] == ["4", "6", "7", "8"]
    reasons = [one.reason for one in bad]
    assert "2 fields" in reasons[0]
    assert "4 fields" in reasons[1]
    assert "UTF-8" in reasons[2]
    assert "id" in reasons[3]


def test_a_broken_quote_does_not_end_a_csv(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbfid,text\na,"good ""quote"""\nb,"bad"quote\nc,good\nd,"never closed\n'
    documents, bad = read(written(tmp_path, "x.csv", data))
    assert [one.text for one in documents] == ['good "quote"', '"bad"quote', "good", '"never closed']
    assert not bad


def test_bad_rows_of_a_parquet_file(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "x", "n": 1.5},
        {"id": None, "text": "x", "n": None},
        {"id": "c", "text": None, "n": None},
        {"id": "d", "text": "x", "n": float("nan")},
        {"id": "e", "text": "x", "n": None},
    ]
    documents, bad = read(written(tmp_path, "x.parquet", parquet(rows)))
    assert [(one.id, one.metadata) for one in documents] == [("a", {"n": 1.5}), ("c", {}), ("d", {}), ("e", {})]
    assert [one.where for one in bad] == ["x.parquet:2"]


def test_a_struct_of_a_parquet_file_has_only_the_fields_that_are_there(tmp_path: Path) -> None:
    parts = [{"text": "x", "metadata": {"speaker": "me", "mood": None}}, {"text": "y", "metadata": None}]
    rows = [
        {"id": "a", "parts": parts, "metadata": {"week": 1, "day": None}, "lang": "en"},
        {"id": "b", "parts": parts[:1], "metadata": {"week": None, "day": 2}, "lang": None},
    ]
    documents, bad = read(written(tmp_path, "x.parquet", parquet(rows)))
    assert not bad
    assert [one.metadata for one in documents] == [{"week": 1, "lang": "en"}, {"day": 2}]
    assert [part.metadata for part in documents[0].parts] == [{"speaker": "me"}, {}]


def test_parquet_columns_that_are_no_json_are_bad_rows(tmp_path: Path) -> None:
    spelt = parquet([{"id": "a", "text": "x", "metadata": '{"k": 1}'}])
    _, (bad,) = read(written(tmp_path, "spelt.parquet", spelt))
    assert "metadata must be a JSON object" in bad.reason
    broken = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xffx"))
    pq.write_table(pa.table({"id": ["a", "b"], "text": broken}), tmp_path / "broken.parquet")
    documents, (bad,) = read(tmp_path / "broken.parquet")
    assert [one.text for one in documents] == ["x"]
    assert bad == BadRecord("broken.parquet:1", "not valid UTF-8 at byte 0")


WHOLE = ndjson([Document(f"d{number:05}", (Part(os.urandom(20).hex()),)) for number in range(2_000)])
UNREADABLE = {
    "no.parquet": b"this is no Parquet file",
    "no.parquet.gz": gzip.compress(b"this is no Parquet file"),
    "no.csv": b"key,value\n1,2\n",
    "empty.csv": b"",
    "twice.csv": b"id,text,id\n1,2,3\n",
    "no.ndjson.gz": b"this is no gzip file",
    "no.txt.gz": gzip.compress(b"x" * 1000)[:-4],
    "flipped.ndjson.gz": gzip.compress(GOOD)[:-6] + b"\0" * 6,
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_is_reported_and_the_others_go_on(name: str, tmp_path: Path) -> None:
    written(tmp_path, "a.ndjson", GOOD)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / name).write_bytes(UNREADABLE[name])
    written(tmp_path, "z.ndjson", GOOD)
    source = Source(tmp_path)
    records = list(source)
    bad = [record for record in records if isinstance(record, BadRecord)]
    assert [record.where.partition(":")[0] for record in bad] == [f"m/{name}"]
    assert sum(isinstance(record, Document) for record in records) >= 2
    assert isinstance(records[-1], Document)
    assert source.read_bytes == source.total_bytes


@pytest.mark.parametrize("name", sorted(UNREADABLE.keys() - {"flipped.ndjson.gz"}))
def test_a_source_of_which_nothing_can_be_read_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(UNREADABLE[name])
    with pytest.raises(SourceUnreadable, match=name):
        list(Source(tmp_path / name))


def damaged(packed: bytes, damage: str) -> bytes:
    if damage == "truncated":
        return packed[: len(packed) // 2]
    # The last member's checksum, so that all of its text is decompressed before the damage is seen.
    return packed[:-8] + bytes(4) + packed[-4:]


@pytest.mark.parametrize("damage", ["truncated", "checksum"])
@pytest.mark.parametrize("name", [*FORMATS, "x.txt"])
def test_nothing_of_a_damaged_gzip_file_is_read_and_the_file_is_named(name: str, damage: str, tmp_path: Path) -> None:
    data = b"text " * 1000 if name == "x.txt" else FORMATS[name](DOCUMENTS * 100)
    written(tmp_path, "a.ndjson", GOOD)
    (tmp_path / f"{name}.gz").write_bytes(damaged(gzip.compress(b"") + gzip.compress(data), damage))
    source = Source(tmp_path)
    documents = [record for record in source if isinstance(record, Document)]
    assert [one.id for one in documents] == ["good"]
    assert source.unreadable == (f"{name}.gz",)
    with pytest.raises(SourceUnreadable, match=f"{name}.gz"):
        list(Source(tmp_path / f"{name}.gz"))


def test_a_file_that_breaks_off_is_named_and_its_first_records_are_read(tmp_path: Path) -> None:
    rows = [{"id": str(number), "text": os.urandom(2_000).hex()} for number in range(512)]
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out, row_group_size=256, write_page_checksum=True, compression="none")
    data = bytearray(out.getvalue())
    data[data.index(rows[500]["text"].encode())] ^= 1
    source = Source(written(tmp_path, "x.parquet", bytes(data)))
    *documents, last = source
    assert len(documents) == 256
    assert isinstance(last, BadRecord)
    assert source.unreadable == ("x.parquet",)


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "Too many open files"), MemoryError()], ids=repr)
@pytest.mark.parametrize("within", [True, False], ids=["within a record", "between records"])
def test_a_shortage_of_the_machine_ends_the_job_and_no_file_counts_as_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, within: bool
) -> None:
    def fail() -> Document:
        raise error

    def read(reading: Reading) -> Iterator[tuple[int, Callable[[], Document]]]:
        return iter([(1, fail)]) if within else iter([(1, fail())])

    (tmp_path / "a.txt").touch()
    (tmp_path / "b.txt").touch()
    monkeypatch.setitem(formats.READERS, ".txt", read)
    source = Source(tmp_path)
    with pytest.raises((ResourcesExhausted, MemoryError)):
        list(source)
    assert source.unreadable == ()


def test_links_out_of_the_folder_are_not_followed_and_are_named(tmp_path: Path) -> None:
    secret = written(tmp_path, "elsewhere/secret.txt", b"secret")
    inside = tmp_path / "source"
    written(inside, "a.txt", b"mine")
    (inside / "b.txt").symlink_to(secret)
    (inside / "c").symlink_to(secret.parent)
    (inside / "d.txt").symlink_to("a.txt")
    (tmp_path / "named").symlink_to(inside)
    for folder in (inside, tmp_path / "named"):
        documents, bad = read(folder)
        assert [(one.id, one.text) for one in documents] == [("a.txt", "mine"), ("d.txt", "mine")]
        assert [one.where for one in bad] == ["b.txt", "c"]
        assert "not followed" in bad[0].reason


@pytest.mark.parametrize("name", FORMATS)
def test_read_bytes_grows_to_total_bytes(name: str, packing: str, tmp_path: Path) -> None:
    many = [Document(f"d{number}", (Part(os.urandom(40).hex()),), {"lang": "x"}) for number in range(1_000)]
    for part in range(2):
        written(tmp_path, f"{part}/{name}{packing}", FORMATS[name](many))
    source = Source(tmp_path)
    assert (source.read_bytes, source.total_bytes > 0) == (0, True)
    seen = [source.read_bytes for _ in source]
    assert seen == sorted(seen)
    assert seen[999] < seen[1_000] <= seen[-1] <= source.total_bytes
    assert source.read_bytes == source.total_bytes


@pytest.mark.ci("large files")
@pytest.mark.parametrize("name", ["x.ndjson", "x.csv.gz"])
def test_memory_is_that_of_one_record(name: str, tmp_path: Path) -> None:
    line = "some words that repeat " * 1_000
    make = ndjson if name == "x.ndjson" else comma_separated
    data = make([Document(str(number), (Part(line),), {"lang": "en"}) for number in range(900)])
    assert len(data) > 20_000_000
    path = written(tmp_path, name, data)
    (peak,) = peaks_of(count, (path, 900))
    assert peak < 2_000_000


def count(path: Path, records: int) -> None:
    assert sum(1 for _ in Source(path)) == records


def test_a_line_that_is_too_long_is_refused_in_bounded_memory_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    with path.open("wb") as file:
        file.write(GOOD + b"\n")
        file.seek(300_000_000)
        file.write(b"\n" + GOOD)
    documents, (bad,) = read(path)
    assert [one.id for one in documents] == ["good", "good"]
    assert (bad.where, bad.reason) == ("x.ndjson:2", "the line has more than 67,108,864 bytes")
    (peak,) = peaks_of(count, (path, 3))
    assert peak < 4 * 2**26


@pytest.mark.parametrize("name", [*FORMATS, "x.txt"])
def test_a_text_that_is_too_long_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.sources.records.MAX_RECORD", 1_000)
    monkeypatch.setattr("indexer.sources.documents.MAX_CHARACTERS", 1_000)
    long = Document("long", (Part("x" * 1_001),), {"lang": "x"})
    data = b"x" * 1_001 if name == "x.txt" else FORMATS[name]([DOCUMENTS[0], long])
    written(tmp_path, name, data)
    written(tmp_path, "y.ndjson", GOOD)
    documents, (bad,) = read(tmp_path)
    assert {one.id for one in documents} <= {"plain", "good"}
    assert documents[-1].id == "good"
    assert bad.where.startswith(name)
    assert "1,00" in bad.reason


def test_a_csv_field_of_many_lines_that_is_too_long_ends_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows in the file is text of the field, and none of it may become a document."""
    monkeypatch.setattr("indexer.sources.records.MAX_RECORD", 100)
    path = written(tmp_path, "x.csv", b'id,text\na,b\nc,"' + b"looks like,a row\n" * 20 + b'"\nd,e\n')
    source = Source(path)
    *documents, bad = source
    assert [one.id for one in documents if isinstance(one, Document)] == ["a"]
    assert isinstance(bad, BadRecord)
    assert "field" in bad.reason
    assert source.unreadable == ("x.csv",)


def test_a_document_of_too_many_parts_is_refused(tmp_path: Path) -> None:
    lines = [json.dumps({"id": str(count), "parts": [{"text": "a"}] * count}).encode() for count in (20_000, 20_001)]
    documents, (bad,) = read(written(tmp_path, "x.ndjson", b"\n".join(lines)))
    assert [len(one.parts) for one in documents] == [20_000]
    assert bad.reason == "the document has 20,001 parts; at most 20,000 are allowed"
