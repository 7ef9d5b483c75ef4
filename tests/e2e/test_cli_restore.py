"""``spanseek restore`` and ``spanseek vectors``, and a collection without texts."""

import json
from pathlib import Path

import pytest

from tests.e2e.commands import Run

TEXT = "I would like to cancel my subscription."


@pytest.mark.ci("starts processes")
def test_a_collection_without_texts(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "notes.ndjson"
    source.write_text(f'{{"id": "a", "text": "{TEXT}"}}\n')
    assert run("index", "-c", "notes", "--source", str(source), "--no-store-text").code == 0
    answer = run("search", "cancel the subscription", "-c", "notes", "--mode", "restorable", "--json").json
    assert [(hit["text"], hit["restored"]) for hit in answer["hits"]] == [(TEXT, True)]
    found = run("search", "cancel the subscription", "-c", "notes", "--mode", "restorable").out
    assert TEXT in found
    assert "restored, confidence" in found
    assert TEXT in run("restore", "a", "-c", "notes").out
    shown = run("documents", "show", "a", "-c", "notes").out
    assert "Restored from vectors" in shown
    assert TEXT in shown
    refused = run("reindex", "-c", "notes", "--words")
    assert (refused.code, "does not store its texts" in refused.err) == (1, True)
    assert run("collections", "create", "other", "--no-store-text", "--words").code == 1


def test_a_collection_gives_its_texts_up(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANSEEK_GRACE_S", "0")
    source = tmp_path / "notes.ndjson"
    source.write_text(f'{{"id": "a", "text": "{TEXT}"}}\n')
    assert run("index", "-c", "notes", "--source", str(source)).code == 0
    kept = run("reindex", "-c", "notes")
    assert (kept.code, "erased" in kept.out) == (0, False)
    given_up = run("reindex", "-c", "notes", "--no-store-text")
    assert (given_up.code, "All deleted text is erased from the disk." in given_up.out) == (0, True)


def test_texts_go_there_and_back(run: Run, tmp_path: Path) -> None:
    assert run("init-db").code == 0
    made = run("vectors", TEXT, "Hello there.")
    path = tmp_path / "vectors.json"
    path.write_text(made.out)
    answer = run("restore", "--vectors", str(path), "--beams", "2", "--json").json
    assert [each["text"] for each in answer["texts"]] == [TEXT, "Hello there."]
    assert "Hello there." in run("restore", "--text", "Hello there.").out
    assert "may differ" in run("restore", "--text", "Qaanaaq zyxgork 4711", "--warn-below", "1").out
    values = json.loads(made.out)
    path.write_text(json.dumps(values | {"fingerprint": "restorable:0"}))
    assert "restorable:0" in run("restore", "--vectors", str(path)).err
    path.write_text(json.dumps(values | {"vectors": [[[float("nan")] * values["dim"]]]}))
    assert "NaN" in run("restore", "--vectors", str(path)).err
    path.write_text("{}")
    broken = run("restore", "--vectors", str(path))
    assert (broken.code, "does not hold vectors" in broken.err) == (1, True)
    for arguments in ((), ("a",), ("-c", "notes"), ("--text", "a", "--vectors", str(path))):
        assert run("restore", *arguments).code == 2
