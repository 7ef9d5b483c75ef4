"""``spanseek eval paraphrase-identification``, from files to figures."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import cli
from models.errors import InvalidInput

TEXTS = ["red car and cold soup", "old house on a new road", "two dogs under a tall tree", "warm bread, blue sky"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANSEEK_ENCODER", "hashing")
    split = tmp_path / "task" / "dev"
    split.mkdir(parents=True)
    documents = [(f"L{n}", text) for n, text in enumerate(TEXTS)]
    documents += [(f"R{n}", " ".join(reversed(text.split()))) for n, text in enumerate(TEXTS)]
    (split / "docs.txt").write_text("".join(f"{name}\t{text}\n" for name, text in documents))
    tasks = [{"source": f"L{n}", "candidates": ["R0", "R1", "R2", "R3"], "answer": n} for n in range(4)]
    (split / "task.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return tmp_path


def run(*arguments: str) -> str:
    command = ["eval", "paraphrase-identification", "--data", "task", *arguments]
    result = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_one_line_of_json() -> None:
    (line,) = run("--ratio", "0.5", "--json").splitlines()
    found = json.loads(line)
    assert list(found) == ["tasks", "ratio", "mrr", "vectors_per_document", "baselines"]
    assert (found["tasks"], found["ratio"], found["mrr"]) == (4, 0.5, 100.0)
    assert found["baselines"].keys() == {"chunk_mean", "all_tokens", "chunk_mean_whitened", "one_vector"}
    assert found["vectors_per_document"] == pytest.approx((3 + 3 + 3 + 3) / 4, abs=0.5)


def test_gains_over_the_baselines() -> None:
    gains = json.loads(run("--gains", "--json"))["gains"]
    assert gains.keys() == {"chunk_mean", "all_tokens", "chunk_mean_whitened", "one_vector"}
    as_trained = json.loads(run("--gains", "--as-trained", "--json"))["gains"]
    assert as_trained.keys() == {"chunk_mean", "all_tokens", "one_vector"}
    assert all(found["lower"] <= found["difference"] for found in gains.values())
    shown = run("--gains")
    assert "at least" in shown
    assert "chunk_mean, untrained" in shown


@pytest.mark.parametrize("wrong", [("--ratio", "0"), ("--ratio", "1.5"), ("--split", "train"), ("--data", "nowhere")])
def test_what_cannot_be_is_told(wrong: tuple[str, str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        run(*wrong)
    assert caught.value.hint
