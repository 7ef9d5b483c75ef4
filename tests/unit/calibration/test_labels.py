"""Labels: what is one, what is none and why, and when there are enough."""

import gzip
import json
from pathlib import Path

import pytest

from app.calibration.label_files import read_labels
from app.calibration.labels import Label, LabelsRefused, StoredSpan, checked_labels, label_from_json
from models.types import CharSpan

SPAN = {"document_id": "a", "start": 2, "end": 5}
CSV = """phrase,text,document_id,start,end,match,degree,who
late fees,"a fine, and more",,,,true,,ann
late fees,,a,2,5,,4.5,
"two
lines",x,,,,No,,
"""


def labels(count: int, matches: int = 1) -> list[Label]:
    return [Label(f"l:{n}", "phrase", f"text {n}", 5.0 if n < matches else 0.0) for n in range(count)]


def test_a_label_is_a_match_or_a_degree_of_a_text_or_a_span() -> None:
    assert label_from_json({"phrase": "p", "text": "t", "match": False}, "x") == Label("x", "p", "t", 0.0)
    assert label_from_json({"phrase": "p", "span": SPAN, "degree": 4, "who": "ann"}, "x") == Label(
        "x", "p", StoredSpan("a", CharSpan(2, 5)), 4.0
    )
    assert [Label("x", "p", "t", degree).is_match for degree in (0, 3.9, 4, 5)] == [False, False, True, True]


def test_csv_and_ndjson_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(CSV, newline="")
    lines = [
        {"phrase": "late fees", "text": "a fine, and more", "match": True},
        {"phrase": "late fees", "span": SPAN, "degree": 4.5, "text": None},
        {"phrase": "two\nlines", "text": "x", "match": False},
    ]
    (tmp_path / "labels.ndjson").write_text("\ufeff" + "\n\n".join(map(json.dumps, lines)) + "\n")
    from_csv, from_ndjson = read_labels(tmp_path / "labels.csv"), read_labels(tmp_path / "labels.ndjson")
    assert [(one.phrase, one.target, one.degree) for one in from_csv] == [
        (one.phrase, one.target, one.degree) for one in from_ndjson
    ]
    assert [one.where for one in from_csv] == ["labels.csv, row 2", "labels.csv, row 3", "labels.csv, row 4"]
    assert [one.where for one in from_ndjson] == ["labels.ndjson:1", "labels.ndjson:3", "labels.ndjson:5"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (7, "not an object"),
        ({}, "either text or span"),
        ({"phrase": "p", "text": "t", "span": SPAN, "match": True}, "either text or span"),
        ({"phrase": "p", "text": "t"}, "either match or degree"),
        ({"phrase": "p", "text": "t", "match": True, "degree": 5}, "either match or degree"),
        ({"text": "t", "match": True}, "phrase is not a non-blank string"),
        ({"phrase": " ", "text": "t", "match": True}, "phrase is not a non-blank string"),
        ({"phrase": "p", "text": 7, "match": True}, "text is not a non-blank string"),
        ({"phrase": "p", "text": "t", "match": 1}, "neither true nor false"),
        ({"phrase": "p", "text": "t", "degree": True}, "from 0 to 5"),
        ({"phrase": "p", "text": "t", "degree": 5.1}, "from 0 to 5"),
        ({"phrase": "p", "text": "t", "degree": float("nan")}, "from 0 to 5"),
        ({"phrase": "p", "text": "t", "degree": "4"}, "from 0 to 5"),
        ({"phrase": "p", "span": {"document_id": "a", "start": 2}, "match": True}, "document_id, start and end"),
        ({"phrase": "p", "span": SPAN | {"start": "2"}, "match": True}, "document_id, start and end"),
        ({"phrase": "p", "span": SPAN | {"document_id": 1}, "match": True}, "document_id, start and end"),
        ({"phrase": "p", "span": "a", "match": True}, "document_id, start and end"),
    ],
)
def test_what_is_no_label_is_refused_by_name(value, reason) -> None:
    with pytest.raises(LabelsRefused, match=f"line 7 is not a valid label: .*{reason}") as refused:
        label_from_json(value, "line 7")
    assert refused.value.field == "labels"
    assert '"phrase"' in refused.value.hint


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("l.ndjson", '{"phrase": "p", "text": "t", "match": true}\n{broken\n', "l.ndjson:2 .*not valid JSON"),
        ("l.ndjson", "[" * 100_000, "l.ndjson:1 .*nested too deeply"),
        ("l.csv", 'phrase,text,match\np,t,true\np,"t" x,true\n', "l.csv, row 3 .*not valid CSV"),
        ("l.csv", "phrase,text,match\np,t,maybe\n", "l.csv, row 2 .*'maybe', neither true nor false, nor yes"),
        ("l.csv", "phrase;text;match\np;t, and more;maybe\n", "l.csv, row 2 .*neither true nor false"),
        ("l.csv", "phrase,text,degree\np,t,much\n", "l.csv, row 2 .*degree is 'much'"),
        ("l.csv", "phrase,document_id,start,end,match\np,a,-1,5,1\n", "l.csv, row 2 .*start is not a whole number"),
        ("l.csv", "phrase,document_id,start,match\np,a,1,1\n", "l.csv, row 2 .*end is not a whole number"),
        ("l.csv", "phrase,text,match\np,t,true,x\n", "l.csv, row 2 .*more fields"),
        ("l.csv", "a,b\n1,2\n", "l.csv, row 2 .*either text or span"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, name, text, where) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(LabelsRefused, match=where):
        read_labels(tmp_path / name)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes(b"phrase,text\ncaf\xe9,x\n")
    (tmp_path / "l.ndjson.gz").write_bytes(gzip.compress(b"{}"))
    for name in ("latin.csv", "l.ndjson.gz", "nowhere.csv", "."):
        with pytest.raises(LabelsRefused, match="cannot be read"):
            read_labels(tmp_path / name)


def test_enough_labels_of_both_classes() -> None:
    assert checked_labels(labels(20)) == labels(20)
    with pytest.raises(LabelsRefused, match="19 different labels are too few"):
        checked_labels(labels(19))
    with pytest.raises(LabelsRefused, match="19 different labels"):
        checked_labels(labels(19) + labels(19))
    assert checked_labels(labels(20) + labels(20)) == labels(20)
    for matches in (0, 20):
        with pytest.raises(LabelsRefused, match="of one class"):
            checked_labels(labels(20, matches))


def test_contradictions_name_both_places() -> None:
    other = Label("other:7", "phrase", "text 3", 4.0)
    with pytest.raises(LabelsRefused, match=r"other:7 .* contradicts l:3"):
        checked_labels([*labels(20), other])
    span = StoredSpan("a", CharSpan(1, 2))
    with pytest.raises(LabelsRefused, match=r"b .* contradicts a"):
        checked_labels([*labels(20), Label("a", "p", span, 5.0), Label("b", "p", StoredSpan("a", CharSpan(1, 2)), 0.0)])
