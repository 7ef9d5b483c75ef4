"""Mining finds what exports of the phrases find one by one, whatever was broken off meanwhile."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import app.mining.mining
from app.answers import json_values
from app.mining.copies import near_copies
from app.mining.job import Checkpoint, Mined, run_mining
from app.mining.mining import MiningService
from app.mining.phrase_files import read_phrases
from app.mining.tables import TABLES, table_of
from app.requests import MinedPhrase, MiningRequest, SpanChoice
from app.search.answers import ExportEnd
from app.search.export import export
from app.tasks.service import TaskService
from indexer.engine.query import Filter
from indexer.errors import TextNotStored
from models.errors import InvalidInput
from models.fields import converted
from models.ops.similarity import normalize, raws
from models.ops.span_score import SpanScore
from models.types import Document, Part
from tests.byte_restorer import ByteRestorer
from tests.examples import examples
from tests.workspace import Workspace

TEXT = "cancel my plan please refund the order where is it parcel late thanks we will now call back"
WORDS = tuple(TEXT.split(" "))
TEAMS = ["A", ["A", "B"], None, "=1+1", 7]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Two segments of documents with parts and metadata, and words."""
    rng = np.random.default_rng(3)
    documents = []
    for number in range(30):
        parts = tuple(
            Part(" ".join(rng.choice(WORDS, rng.integers(2, 9))) + ".", {"speaker": ["agent", "customer"][turn % 2]})
            for turn in range(3)
        )
        team = TEAMS[number % len(TEAMS)]
        documents.append(Document(f"d{number}", parts, {"n": number, "at": {"team": team}} if team else {"n": number}))
    score = SpanScore(0.1, (-0.1, -0.05, 0, 0, 0, 0), (-0.1, 0, -0.02, 0, 0, 0))
    with Workspace(tmp_path_factory.mktemp("mining"), words=True, span_score=score) as made:
        made.index(documents[:20], merge=False)
        made.index(documents[20:], merge=False)
        yield made


PHRASES = tuple(
    MinedPhrase(text)
    for text in (
        "cancel my plan", "Cancel, my plan!", "where is the parcel", "refund the order please", "call back", "late",
        "we will call you back now", "zeppelin", "thanks", "please refund the order",
    )
)  # fmt: skip


def request(**options: Any) -> MiningRequest:
    return MiningRequest(**{"collection": "c", "phrases": PHRASES, "threshold": 0.8, **options})


def service(workspace: Workspace) -> MiningService:
    return MiningService(workspace.store, workspace.service)


def mine(workspace: Workspace, asked: MiningRequest, folder: Path) -> tuple[Mined, dict[str, list[dict[str, Any]]]]:
    mined = run_mining(service(workspace).mine(asked), folder)
    assert {path.name for path in folder.iterdir()} == {f"{table}.{asked.format}" for table in TABLES}
    tables = {}
    for table in TABLES:
        with table_of(folder, table, "ndjson").open() as lines:
            tables[table] = [json.loads(line) for line in lines]
    return mined, tables


def exported(workspace: Workspace, asked: MiningRequest) -> list[dict[str, Any]]:
    """The hits of a single export of every phrase."""
    return [
        {"phrase": phrase.label, **json_values(item)}
        for phrase, search in zip(asked.phrases, asked.searches(), strict=True)
        for item in export(workspace.service, search, asked.limit)
        if not isinstance(item, ExportEnd)
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"threshold": 0.3, "limit": 5},
        {"threshold": 0.6, "group_by": "document", "context": 10},
        {"threshold": 0.6, "group_by": "part", "offset_unit": "utf16"},
        {"threshold": 0.6, "filter": Filter({}, {"speaker": "agent"})},
        {"threshold": 0.6, "filter": Filter({"n": 3})},
        {"threshold": 0.6, "spans": SpanChoice(2, 3)},
        {"threshold": 0.6, "spans": SpanChoice(boundaries="sentence")},
        {"threshold": 0.6, "ranking": "cosine", "threshold_on": "raw"},
        {"mode": "lexical", "threshold": 0.2},
        {"mode": "hybrid", "threshold": 0.4, "limit": 20},
    ],
)
def test_it_finds_what_exports_find(workspace, tmp_path, options) -> None:
    asked = request(**options)
    mined, tables = mine(workspace, asked, tmp_path)
    expected = exported(workspace, asked)
    assert tables["hits"] == expected
    assert mined.hits == len(expected) > 0


@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_random_phrases_and_thresholds(workspace, tmp_path_factory, data) -> None:
    texts = data.draw(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), min_size=1, max_size=20))
    unique = dict.fromkeys(" ".join(text) for text in texts)
    limit, threshold = data.draw(st.sampled_from([1, 3, 1000])), data.draw(st.sampled_from([0.0, 0.5, 0.7, 0.95]))
    asked = request(phrases=tuple(map(MinedPhrase, unique)), limit=limit, threshold=threshold)
    _, tables = mine(workspace, asked, tmp_path_factory.mktemp("random"))
    assert tables["hits"] == exported(workspace, asked)


def test_counts_by_metadata(workspace, tmp_path) -> None:
    asked = request(threshold=0.7, count_by=("at.team", "part.speaker", "document.id"))
    _, tables = mine(workspace, asked, tmp_path)
    wanted: defaultdict[tuple[str, str | None, str | None], list[str]] = defaultdict(list)
    for hit in tables["hits"]:
        team = hit["metadata"].get("at", {}).get("team")
        values = team if isinstance(team, list) else [team]
        rows = [(None, None), ("part.speaker", hit["part_metadata"]["speaker"]), ("document.id", hit["document_id"])]
        for key, value in [*rows, *(("at.team", None if each is None else str(each)) for each in values)]:
            wanted[hit["phrase"], key, value].append(hit["document_id"])
    for phrase in PHRASES:
        wanted.setdefault((phrase.label, None, None), [])
    found = {(row["phrase"], row["key"], row["value"]): (row["hits"], row["documents"]) for row in tables["counts"]}
    assert found == {at: (len(ids), len(set(ids))) for at, ids in wanted.items()}
    assert all(row["complete"] for row in tables["counts"])


@pytest.mark.parametrize(
    ("options", "hint"),
    [({"count_by": ("at.taem",)}, "Did you mean `at.team`?"), ({"count_by": ("a b",)}, '"call type"')],
)
def test_keys_that_cannot_be_counted_by_are_refused(workspace, options, hint) -> None:
    for step in (service(workspace).check, service(workspace).mine):
        with pytest.raises(InvalidInput) as error:
            step(request(**options))
        assert error.value.field == "count_by"
        assert hint in error.value.hint


def test_a_phrase_of_more_hits_than_the_limit_says_so(workspace, tmp_path) -> None:
    mined, tables = mine(workspace, request(threshold=0.1, limit=3), tmp_path)
    incomplete = {row["phrase"] for row in tables["counts"] if not row["complete"]}
    assert len(incomplete) == mined.incomplete > 0
    assert {row["hits"] for row in tables["counts"] if row["phrase"] in incomplete} == {3}


def test_near_copies_are_pointed_out(workspace, tmp_path) -> None:
    mined, tables = mine(workspace, request(copies_from=0.95), tmp_path)
    assert tables["copies"][0] == {
        "phrase": "Cancel, my plan!", "copy_of": "cancel my plan", "raw": 1.0, "same_words": True
    }  # fmt: skip
    assert mined.copies == len(tables["copies"])
    assert ("please refund the order", "refund the order please") in {
        (row["phrase"], row["copy_of"]) for row in tables["copies"]
    }


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**31), st.floats(0, 1))
def test_the_nearest_copy_is_the_nearest(count, seed, least) -> None:
    vectors = normalize(np.random.default_rng(seed).normal(size=(count, 3))).astype(np.float32)
    names = [str(number) for number in range(count)]
    app.mining.copies._ROWS, before = 7, app.mining.copies._ROWS
    try:
        found = list(near_copies(names, [(name,) for name in names], vectors, least))
    finally:
        app.mining.copies._ROWS = before
    expected = []
    for number in range(1, count):
        cosines = vectors[:number].astype(np.float64) @ vectors[number]
        best = float(raws(cosines).max())
        if best >= least:
            expected.append((names[number], best))
    assert [copy.phrase for copy in found if copy.raw is not None and copy.raw > least + 1e-5] == [
        name for name, best in expected if best > least + 1e-5
    ]
    for copy in found:
        best = dict(expected).get(copy.phrase)
        assert best is None or copy.raw == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("format", ["csv", "xlsx", "parquet"])
def test_every_form_has_the_same_rows(workspace, tmp_path, format) -> None:
    options = {"threshold": 0.75, "count_by": ("at.team",)}
    _, lines = mine(workspace, request(**options), tmp_path / "lines")
    run_mining(service(workspace).mine(request(**options, format=format)), tmp_path / "other")
    for table in TABLES:
        rows = _READERS[format](table_of(tmp_path / "other", table, format))
        assert len(rows) == len(lines[table])
        for row, line in zip(rows, lines[table], strict=True):
            for name in ("phrase", "document_id", "text", "key", "value", "copy_of"):
                assert (row.get(name) or None) == (line.get(name) or None)
            for name in ("hits", "score", "raw", "start", "rank"):
                if name in line and line[name] is not None:
                    assert float(row[name]) == pytest.approx(line[name])
            if table == "hits":
                assert json.loads(row["metadata"]) == line["metadata"]


def _csv(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def _xlsx(path: Path) -> list[dict[str, Any]]:
    from openpyxl import load_workbook

    header, *rows = load_workbook(path).active.values
    assert all(cell.data_type != "f" for row in load_workbook(path).active.rows for cell in row)
    return [dict(zip(header, row, strict=True)) for row in rows]


def _parquet(path: Path) -> list[dict[str, Any]]:
    from pyarrow.parquet import read_table

    return read_table(path).to_pylist()


_READERS = {"csv": _csv, "xlsx": _xlsx, "parquet": _parquet}


class Killed(BaseException):
    """The process ends."""


@pytest.mark.parametrize("after", [1, 2, 3])
def test_what_was_broken_off_goes_on(workspace, tmp_path, monkeypatch, after) -> None:
    """After each checkpoint, with lines that were written behind it."""
    monkeypatch.setattr(app.mining.mining, "_FIRST", 3)
    monkeypatch.setattr(app.mining.mining, "_MOST", 3)
    asked, kept = request(), []

    def progress(done: int, total: int, checkpoint: Checkpoint) -> None:
        kept.append(Checkpoint(**json.loads(json.dumps(checkpoint.values()))))
        if len(kept) == after:
            raise Killed

    with pytest.raises(Killed):
        run_mining(service(workspace).mine(asked), tmp_path, progress=progress)
    with (tmp_path / "body.hits.ndjson").open("a") as file:
        file.write('{"phrase": "half a li')
    steps = []
    mined = run_mining(service(workspace).mine(asked), tmp_path, kept[-1], progress=lambda done, *_: steps.append(done))
    assert min(steps) > 3 * after or len(steps) == 1
    hits = [json.loads(line) for line in table_of(tmp_path, "hits", "ndjson").read_text().splitlines()]
    assert hits == exported(workspace, asked)
    assert mined.hits == len(hits)


def test_another_generation_begins_anew(workspace, tmp_path) -> None:
    asked = request()
    start = Checkpoint(generation=10**6, phrases=5, hits=99, bytes={"hits": 10})
    assert run_mining(service(workspace).mine(asked), tmp_path, start).hits == len(exported(workspace, asked))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"threshold": None}, "threshold"),
        ({"threshold": "auto"}, "threshold"),
        ({"phrases": (MinedPhrase("a"), MinedPhrase("b", "a"))}, "phrases[1]"),
        ({"phrases": (MinedPhrase("a"), MinedPhrase("word " * 2000))}, "phrases[1].text"),
        ({"stemming": "english"}, "stemming"),
        ({"mode": "maxsim"}, "mode"),
    ],
)
def test_it_is_refused(workspace, options, field) -> None:
    with pytest.raises(InvalidInput) as caught:
        service(workspace).mine(request(**options))
    assert caught.value.field == field


def test_phrases_of_a_file(tmp_path) -> None:
    texts = tmp_path / "phrases.txt"
    texts.write_bytes("﻿cancel my plan\r\n\n  refund ü \n".encode())
    assert read_phrases(texts) == (MinedPhrase("cancel my plan"), MinedPhrase("refund ü"))
    lines = tmp_path / "phrases.ndjson"
    lines.write_text('{"text": "cancel"}\n\n{"text": "refund", "name": "money"}\n')
    assert read_phrases(lines) == (MinedPhrase("cancel"), MinedPhrase("refund", "money"))
    for content, reason in ((b"\xff", "UTF-8"), (b"", "0 phrases")):
        texts.write_bytes(content)
        with pytest.raises(InvalidInput, match=reason):
            read_phrases(texts)
    for line in ("[]", '{"name": "a"}', '{"text": " "}', '{"text": "a", "threshold": 0.5}', "{"):
        lines.write_text(line)
        with pytest.raises(InvalidInput, match="Line 1"):
            read_phrases(lines)


def test_the_request_of_a_task_is_the_one_that_was_sent() -> None:
    from app.requests import mining_request

    sent = {
        "collection": "c",
        "phrases": [{"text": "a"}],
        "filter": {"expression": "n >= 3"},
        "spans": {"min_units": 2},
    }
    read = mining_request(sent)
    assert read == converted(read, MiningRequest)
    assert (read.spans.min_units, read.phrases) == (2, (MinedPhrase("a"),))
    assert read.filter.expression is not None


def test_hits_of_a_collection_without_texts_do_not_wait_on_the_disk(tmp_path) -> None:
    with Workspace(tmp_path, restorer=ByteRestorer(), store_text=False) as made:
        made.index([Document("a", (Part("cancel my plan"),))])
        with pytest.raises(TextNotStored, match="the hits of a task"):
            TaskService(made.store, backlog=10**6).add("mine", "c", {"request": {}})
        mined = run_mining(service(made).mine(request(phrases=PHRASES[:1], threshold=0.0)), tmp_path / "mined")
        assert mined.hits > 0
