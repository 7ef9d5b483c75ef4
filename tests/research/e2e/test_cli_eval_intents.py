"""``spanseek eval intents``, from files to figures."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import cli
from tests.research.evaluation.test_topical_retrieval import write_turns

MIXED = ["0.7 span + 0.3 whole", "0.5 span + 0.5 whole", "0.2 span + 0.8 whole"]
SCORED = ["best span", "best span, discounted", "whole", *MIXED]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANSEEK_ENCODER", "hashing")
    write_turns(tmp_path)
    return tmp_path


def run(command: str) -> str:
    result = CliRunner().invoke(cli, command.split(), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_figures_and_gains_are_printed() -> None:
    (line,) = run("eval intents --data . --baseline hashing --json").splitlines()
    printed = json.loads(line)
    assert {name: printed[name] for name in ("split", "turns", "intents")} == {"split": "dev", "turns": 4, "intents": 2}
    assert list(printed["rows"]) == ["bm25", *(f"hashing: {row}" for row in SCORED)]
    assert printed["rows"]["hashing: whole"] == {"average_precision": 1.0, "precision_at_10": 0.25}
    assert list(printed["gains"]) == ["bm25", "hashing: whole"]
    assert printed["gains"]["bm25"]["hashing: whole"] == {"difference": 0.0, "lower": 0.0, "positive": 0.0}


def test_figures_are_shown_in_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run("eval intents --data . --baseline hashing --discount 0 --min-span 1 --max-span 3")
    assert all(word in " ".join(shown.split()) for word in ("4 turns, 2", "bm25", "+0.0000"))


def test_search_modes_are_set_beside_them() -> None:
    (line,) = run("eval intents --data . --baseline hashing --mode hybrid --mode lexical --json").splitlines()
    printed = json.loads(line)
    assert list(printed["rows"])[-2:] == ["hashing: mode hybrid", "hashing: mode lexical"]
    assert all(
        0 <= printed["rows"][f"hashing: mode {name}"]["average_precision"] <= 1 for name in ("hybrid", "lexical")
    )
    assert {"hashing: whole", "hashing: best span, discounted"} <= set(printed["gains"])


def test_an_unknown_mode_is_refused() -> None:
    result = CliRunner().invoke(cli, ["eval", "intents", "--data", ".", "--baseline", "hashing", "--mode", "none"])
    assert result.exit_code != 0
