"""``spanseek eval build-passages`` and ``passage-reranking``, from an extract to figures."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import cli
from models.errors import InvalidInput


def article(number: int) -> str:
    own = f"name{number} place{number}"
    lines = [f"The river {own} is very long.", "Course.", f"The river {own} flows through many bends. It is wide."]
    return "\n".join([f'<doc id="{number}" url="u" title="River {number}">', f"River {number}", *lines, "</doc>"])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANSEEK_ENCODER", "hashing")
    (tmp_path / "extract").mkdir()
    with gzip.open(tmp_path / "extract" / "AA.txt.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(article(number) for number in range(30)))
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["eval", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


BUILD = ("build-passages", "--extract", "extract", "--min-words", "4", "--tasks", "3")


def test_a_set_is_made_and_measured(folder: Path) -> None:
    assert json.loads(run(*BUILD, "--out", "set", "--json")) == {"tasks": 3, "sections": 30, "seed": 13}
    assert "3 tasks" in run(*BUILD, "--out", "again")
    assert (folder / "set" / "docs.txt").read_bytes() == (folder / "again" / "docs.txt").read_bytes()
    (line,) = run("passage-reranking", "--data", "set", "--ratio", "1", "--gains", "--json").splitlines()
    found = json.loads(line)
    assert list(found) == ["tasks", "ratio", "mrr", "vectors_per_document", "baselines", "gains"]
    assert (found["tasks"], found["ratio"]) == (3, 1.0)
    assert 0 < found["baselines"]["one_vector"] <= 100
    assert "3 tasks" in run("passage-reranking", "--data", "set")
    assert json.loads(run("passage-reranking", "--data", "set", "--limit", "2", "--json"))["tasks"] == 2
    assert json.loads(run("passage-reranking", "--data", "set", "--skip", "2", "--json"))["tasks"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ("passage-reranking", "--data", "nowhere"),
        ("passage-reranking", "--data", "extract", "--ratio", "0"),
        (*BUILD, "--out", "set", "--extract", "nowhere"),
        (*BUILD, "--out", "set", "--tasks", "31"),
    ],
)
def test_what_cannot_be_is_told(wrong: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput) as caught:
        run(*wrong)
    assert caught.value.hint
