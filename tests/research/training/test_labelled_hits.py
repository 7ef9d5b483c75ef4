"""Labelled hits: every one is where the data sets have it, and says what it is."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from models.types import CharSpan, Document, Part
from models.verifier.types import DIFFERENCES, Pair
from research.evaluation.sample import read_phrases
from research.training import labelled_hits
from research.training.labelled_hits import CORPORA, FOLDER, is_held_out, read_labelled
from research.training.verifier_data import Example


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_hit_has_a_place_and_a_label() -> None:
    assert {path.stem for path in FOLDER.glob("*.ndjson")} == set(CORPORA)
    labels: Counter[str] = Counter()
    for name in CORPORA:
        rows = _rows(FOLDER / f"{name}.ndjson")
        assert len({row["phrase"] for row in rows}) == len(rows) >= 70
        for hit in (hit for row in rows for hit in row["hits"]):
            assert hit["start"] < hit["end"]
            assert hit["mark"] is None or hit["start"] <= hit["mark"][0] < hit["mark"][1] <= hit["end"]
            assert ("differs" in hit) <= (hit["label"] == "differs")
            assert hit.get("differs", "number") in DIFFERENCES
            labels[hit["label"]] += 1
    assert set(labels) == {"match", "partly", "differs", "unrelated"}
    assert min(labels.values()) > 500


def test_no_phrase_is_one_that_is_evaluated() -> None:
    ours = {row["phrase"].lower() for name in CORPORA for row in _rows(FOLDER / f"{name}.ndjson")}
    judged = (FOLDER.parent / folder / "queries.ndjson" for folder in ("judged", "first_screen"))
    asked = {row["text"].lower() for path in judged for row in _rows(path)}
    asked |= {phrase.text.lower() for phrase in read_phrases(Path("samples"))}
    assert not ours & asked


def test_texts_come_from_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = Document("a", (Part("It rains. Nobody came."),))
    monkeypatch.setattr(labelled_hits, "CORPORA", {"chats": lambda data: [document], "absent": lambda data: []})
    place = {"document_id": "a", "start": 10, "end": 22, "similarity": 0.7}
    hits = [
        {**place, "mark": [10, 16], "label": "match"},
        {**place, "mark": None, "label": "differs", "differs": "role"},
        {**place, "mark": None, "label": "partly"},
    ]
    held_out = "no one"
    assert is_held_out(held_out)
    rows = [{"phrase": phrase, "hits": hits} for phrase in ("nobody came", held_out)]
    (tmp_path / "chats.ndjson").write_text("\n".join(map(json.dumps, rows)))
    pair = Pair("nobody came", "Nobody came.", None, 0.7)
    assert [[each.pair.phrase for each in hits] for hits in read_labelled(tmp_path, tmp_path, held_out=True)] == [
        [held_out] * 3
    ]
    assert read_labelled(tmp_path, tmp_path) == [
        [
            Example(Pair("nobody came", "Nobody came.", CharSpan(0, 6), 0.7), 1.0, "match"),
            Example(pair, 0.0, "differs", "role"),
            Example(pair, 0.4),
        ]
    ]
