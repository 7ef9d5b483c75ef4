"""Modes beside each other on gold spans: an interrupted run goes on, and gains are those of loops."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from app.encoders.encoders import Encoders
from models.verifier.types import Judgement, Pair
from research.evaluation.mode_comparison import RANKINGS, Outcome, compared, gain, main, read_outcomes

TEXTS = {"a": "The red car is fast. A blue car stands here.", "b": "Snow falls in the hills. Rain falls in town."}
QUERIES = [("1", "a blue car", "a", 21, 44), ("2", "snow in the hills", "b", 0, 24)]


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    documents = [json.dumps({"id": id, "text": text}) for id, text in TEXTS.items()]
    gold = [
        json.dumps({"id": id, "text": text, "gold": [{"document_id": document, "start": start, "end": end}]})
        for id, text, document, start, end in QUERIES
    ]
    for name, lines in (("documents", documents), ("queries", gold)):
        (tmp_path / f"{name}.ndjson").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(
        "research.evaluation.mode_comparison.RANKINGS", tuple(each for each in RANKINGS if each.encoder is None)
    )
    return [
        "mode_comparison",
        *("--data", str(tmp_path / "documents.ndjson"), "--queries", str(tmp_path / "queries.ndjson")),
        *("--out", str(tmp_path / "out.ndjson"), "--encoder", "hashing", "--min-span", "1", "--max-span", "9"),
    ]


def test_a_run_goes_on_where_it_was(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", arguments)
    main()
    first = capsys.readouterr().out
    out = tmp_path / "out.ndjson"
    lines = out.read_text().splitlines()
    assert len(lines) == 2 * 5
    out.write_text("\n".join(lines[:-3]) + "\n")
    main()
    assert json.loads(capsys.readouterr().out) == json.loads(first)
    assert sorted(out.read_text().splitlines()) == sorted(lines)
    rankings = json.loads(first)["rankings"]
    assert rankings["bm25"]["top1"] == rankings["lexical"]["top1"] == 1.0
    assert {row.ranking for row in read_outcomes(out)} == set(rankings)


class Contrary:
    """A verifier that finds likely what does not say it."""

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        shared = [set(pair.phrase.lower().split()) & set(pair.text.lower().split()) for pair in pairs]
        return [Judgement(0.1, "unrelated") if len(words) > 1 else Judgement(0.9, "match") for words in shared]


def test_named_rankings_behind_the_second_look_are_set_beside_the_first(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Encoders, "verifier", lambda self, recipe: Contrary())
    named = [option for name in ("hybrid", "hybrid_verified_3") for option in ("--ranking", name)]
    monkeypatch.setattr(sys, "argv", [*arguments, "--verify", "3", *named])
    main()
    rankings = json.loads(capsys.readouterr().out)["rankings"]
    assert set(rankings) == {"hybrid", "hybrid_verified_3"}
    assert rankings["hybrid"]["top1"] == 1.0
    assert rankings["hybrid_verified_3"]["top1_gain"]["difference"] == -0.5  # an exact hit stays first
    monkeypatch.setattr(sys, "argv", [*arguments, "--ranking", "hybrid_verified_3"])
    with pytest.raises(SystemExit):
        main()
    assert "There is no ranking hybrid_verified_3; there are best_span, " in capsys.readouterr().err


def test_gains_are_paired() -> None:
    ours, theirs = np.array([1.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 0.0])
    found = gain(ours, theirs)
    assert found.difference == 0.5
    assert 0 <= found.lower < found.difference
    # In a resample without a query that differs nothing is gained: (1 / 2) ** 4 of them.
    assert found.positive == pytest.approx(1 - 1 / 16, abs=0.02)


def test_incomplete_rankings_are_left_out() -> None:
    rows = [Outcome("hybrid", "1", True, True), Outcome("hybrid", "2", False, True), Outcome("bm25", "1", True, True)]
    assert compared(rows) == {"hybrid": {"top1": 0.5, "place10": 1.0}}
