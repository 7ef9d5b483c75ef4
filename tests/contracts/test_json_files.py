"""Files of JSON: a record that is no JSON costs itself alone, and files of other forms are read or named."""

import json
from pathlib import Path

import pytest

from indexer.errors import SourceUnreadable
from indexer.sources import BadRecord, ReadOptions, Source
from models.types import Document

ONE, TWO = '{"id": "1", "text": "first"}', '{"id": "2", "text": "café 👍"}'


def source_of(folder: Path, data: str | bytes, name: str = "x.json", options: ReadOptions | None = None) -> Source:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return Source(path, options)


def ids(source: Source) -> list[str]:
    """The ids of documents, and the places of bad records."""
    return [record.id if isinstance(record, Document) else record.where for record in source]


FORMS = {
    "array": ("x.json", "[%s, {}, %s]"),
    "object": ("x.json", '{"total": 123456789012345678901234567890, "skipped": NaN, "tickets": [%s, {}, %s]}'),
    "lines": ("x.ndjson", "%s\n{}\n%s"),
    "lines of .json": ("x.json", "%s\n{}\n%s"),
}
NUMBERS = {"12345678901234567890123": True, "1e400": False, "NaN": False, "-1.5e3": True}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("name", "form"), FORMS.values(), ids=FORMS)
def test_a_number_costs_at_most_its_own_record(tmp_path: Path, name: str, form: str, number: str) -> None:
    record = f'{{"id": "n", "text": "x", "metadata": {{"n": {number}}}}}'
    first, second, *others = source_of(tmp_path, form.replace("{}", record) % (ONE, TWO), name)
    assert isinstance(first, Document)
    assert [one.id for one in others if isinstance(one, Document)] == ["2"]
    if NUMBERS[number]:
        assert isinstance(second, Document)
        assert second.metadata == {"n": json.loads(number)}
    else:
        assert isinstance(second, BadRecord)
        assert second.reason.startswith("the metadata is not JSON")


@pytest.mark.parametrize(
    "record", [b"nonsense", b'{"id": "b" "text": ""}', b'{"id": "b", "text": "caf\xe9"}', b"{]"], ids=ascii
)
def test_a_record_that_is_no_json_costs_itself_alone(tmp_path: Path, record: bytes) -> None:
    source = source_of(tmp_path, b"[%s, %s, %s]" % (ONE.encode(), record, TWO.encode()))
    assert ids(source) == ["1", "x.json:2", "2"]
    assert source.unreadable == ()


def test_a_record_that_is_too_long_costs_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.sources.records.MAX_RECORD", 100)
    records = list(source_of(tmp_path, f'[{ONE}, "{"x" * 200}", {TWO}]'))
    assert records[1] == BadRecord("x.json:2", "the record has more than 100 bytes")
    assert len(records) == 3


UNREADABLE = {
    "one array after the other": (f"[{ONE}]\n[{TWO}]", ["1", "x.json:2"], "something follows the end"),
    "without an end": (f"[{ONE}, {TWO}", ["1", "2", "x.json:3"], "it ends within a value"),
    "within a string": (f"[{ONE}, {TWO[:-5]}", ["1", "x.json:2"], "it ends within a value"),
    "too many ends": (f"[{ONE}]]", ["1", "x.json:2"], "something follows the end"),
    "end of another kind": (f"[{ONE}}}, {TWO}]", ["1", "x.json:2"], "something follows the end"),
}


@pytest.mark.parametrize(("data", "expected", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_named(tmp_path: Path, data: str, expected: list[str], reason: str) -> None:
    source = source_of(tmp_path, data)
    assert ids(source) == expected
    assert list(source)[-1].reason.startswith(f"from here on the file cannot be read: {reason}")  # type: ignore[union-attr]
    assert source.unreadable == ("x.json",)


@pytest.mark.parametrize("data", ["", "hello", "7", f"// x\n[{ONE}]"])
def test_a_file_without_an_array_and_an_object_is_refused(tmp_path: Path, data: str) -> None:
    with pytest.raises(SourceUnreadable, match="neither an array nor an object"):
        list(source_of(tmp_path, data))


def test_objects_over_several_lines_are_refused_with_what_to_do(tmp_path: Path) -> None:
    spread = "\n".join(json.dumps(json.loads(record), indent=1) for record in (ONE, TWO))
    with pytest.raises(SourceUnreadable, match="something follows the end") as refusal:
        list(source_of(tmp_path, spread))
    assert refusal.value.hint == "Write one record a line, or an array of records."


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_an_object_a_line_is_read_by_lines(tmp_path: Path, mark: str) -> None:
    source = source_of(tmp_path, f"{mark}{ONE}\r\n\n{{broken\n{TWO}\n")
    assert ids(source) == ["1", "x.json:3", "2"]
    assert source.notices == {"x.json": "one record a line"}
    with pytest.raises(SourceUnreadable, match="no object with records"):
        list(source_of(tmp_path, f"{ONE}\n{TWO}", options=ReadOptions(records="tickets")))


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.json", f"[{ONE},\r\n{TWO}]"),
        ("x.json", f'{{"tickets": [{ONE}, {TWO}]}}'),
        ("x.json", f"{ONE}\r\n{TWO}"),
        ("x.ndjson", f"{ONE}\r\n{TWO}\r\n"),
        ("x.json", '{"id": "1", "parts": [{"text": "first"}, {"text": "café 👍"}]}'),
    ],
)
def test_wide_encodings_are_read_and_said(tmp_path: Path, codec: str, name: str, data: str) -> None:
    source = source_of(tmp_path, data.encode(codec), name)
    texts = [part.text for document in source if isinstance(document, Document) for part in document.parts]
    assert texts == ["first", "café 👍"]
    assert source.notices[name].startswith(f"encoding {codec}")


@pytest.mark.parametrize("name", ["x.json", "x.ndjson"])
def test_a_long_text_of_utf_16_is_read_piece_by_piece(tmp_path: Path, name: str) -> None:
    text = "日本語 👍\u2028 " * 20_000
    (document,) = source_of(tmp_path, json.dumps({"id": "1", "text": text}, ensure_ascii=False).encode("utf-16"), name)
    assert isinstance(document, Document)
    assert document.text == text


def test_utf_16_that_is_cut_off_is_named(tmp_path: Path) -> None:
    source = source_of(tmp_path, f"{ONE}\n{TWO}".encode("utf-16")[:-1], "x.ndjson")
    assert ids(source) == ["1", "x.ndjson:2"]
    assert source.unreadable == ("x.ndjson",)
