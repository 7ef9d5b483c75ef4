"""A labelling session: every answer is saved, undo takes it back, skipped rows come again."""

import json
from pathlib import Path

import pytest

from app.calibration.label_files import read_label_rows
from app.calibration.labelling import LabellingSession


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [{"phrase": "p", "text": text, "match": None, "probability": 0.5, "mine": [1]} for text in "abcd"]
    path = tmp_path / "labels.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def answers(path: Path) -> list[object]:
    return [row.values["match"] for row in read_label_rows(path)]


def test_answers_are_saved_one_by_one(path: Path) -> None:
    session = LabellingSession.open(path)
    session.answer(match=True)
    assert answers(path) == [True, None, None, None]
    session.skip()
    session.answer(match=False)
    assert answers(path) == [True, None, False, None]
    assert (session.answered, session.total) == (2, 4)
    assert session.current == {"phrase": "p", "text": "d", "match": None, "probability": 0.5, "mine": [1]}
    again = LabellingSession.open(path)
    assert again.current is not None
    assert again.current["text"] == "b"


def test_undo_takes_answers_and_skips_back(path: Path) -> None:
    session = LabellingSession.open(path)
    assert not session.undo()
    session.answer(match=True)
    session.skip()
    assert session.undo()
    assert session.undo()
    assert answers(path) == [None] * 4
    assert session.current is not None
    assert session.current["text"] == "a"
    for _ in range(4):
        session.answer(match=False)
    assert session.current is None
    assert session.undo()
    assert answers(path) == [False, False, False, None]


def test_no_other_file_is_left(path: Path) -> None:
    LabellingSession.open(path).answer(match=True)
    assert list(path.parent.iterdir()) == [path]
