"""``spanseek eval convert`` and ``spanseek eval span-retrieval``, from a published file to figures."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import cli
from app.search.errors import ModeUnavailable

EXAMPLES = [
    {"document": "We went by the red car. It was late.", "query": "red car", "answer": "red car", "start": 15},
    {"document": "He sold a boat, and a house by the sea.", "query": "a house", "answer": "a house", "start": 20},
    {"document": "An aeroplane is loud and it is fast.", "query": "noisy", "answer": "loud", "start": 16},
]
FIGURES = ["top1", "top5", "top10", "mrr", "f1", "place_top1", "place_top10", "part_top1"]
FIGURES += ["average_precision", "precision_at_10"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANSEEK_ENCODER", "hashing")
    lines = [json.dumps(example) for example in EXAMPLES]
    (tmp_path / "PR_website_examples.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(command: str) -> str:
    result = CliRunner().invoke(cli, command.split(), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


RETRIEVE = "eval span-retrieval --data made/documents.ndjson --queries made/queries.ndjson"


def test_from_a_data_set_to_figures(folder: Path) -> None:
    counts = json.loads(run("eval convert pic --data . --out made --json"))
    assert counts == {"documents": 3, "queries": 3, "gold": 3, "not_found": 0}
    (line,) = run(f"{RETRIEVE} --json").splitlines()
    found = json.loads(line)
    assert list(found) == ["queries", "reachable", *FIGURES, "baselines"]
    assert found["queries"] == 3
    assert found["reachable"] == 1
    # Spans of equal words score 1; no word of the third query occurs.
    assert found["top1"] == pytest.approx(2 / 3)
    assert found["part_top1"] == 1
    # So every query ranks its document first, and it has only one.
    assert found["average_precision"] == 1
    assert found["precision_at_10"] == pytest.approx(0.1)
    # BM25's sentences say much more than the short phrases, but stand around them.
    bm25 = found["baselines"]["bm25"]
    assert list(bm25) == FIGURES
    assert bm25["top1"] == 0
    assert bm25["place_top1"] == bm25["part_top1"] == pytest.approx(2 / 3)
    assert bm25["f1"] == pytest.approx((2 * 2 / (2 + 7) + 2 * 2 / (2 + 12)) / 3)


def test_figures_are_shown_in_a_table(folder: Path) -> None:
    assert run("eval convert pic --data . --out made --limit 2") == "2 documents, 2 queries, 2 gold, 0 not found.\n"
    shown = run(f"{RETRIEVE} --min-span 2 --max-span 2")
    assert all(name in shown for name in [*FIGURES, "bm25", "hashing"])
    assert "2 queries; 1.000 of them have a gold span" in shown


def test_bounds_decide_what_can_be_hit(folder: Path) -> None:
    run("eval convert pic --data . --out made")
    found = json.loads(run(f"{RETRIEVE} --min-span 3 --max-span 20 --json"))
    assert found["reachable"] == pytest.approx(2 / 3)
    assert found["top10"] <= 2 / 3


def test_sentences_that_are_read_alone_stand_beside(folder: Path) -> None:
    run("eval convert pic --data . --out made")
    found = json.loads(run(f"{RETRIEVE} --sentences hashing --json"))["baselines"]["hashing, sentences alone"]
    assert list(found) == FIGURES
    # As BM25's, whole sentences are too long to be right, but stand around the phrases; and where no word is shared,
    # some sentence is still the nearest, here the only one.
    assert found["top1"] == 0
    assert found["place_top1"] == 1


def test_a_mode_is_evaluated_by_its_own_hits(folder: Path) -> None:
    run("eval convert pic --data . --out made")
    documents = json.loads(run(f"{RETRIEVE} --mode maxsim --nugget-ratio 0.25 --json"))
    assert documents["average_precision"] >= 2 / 3
    assert documents["part_top1"] >= 2 / 3
    assert documents["top1"] == 0  # whole documents are too long to be right
    assert not (folder / "data").exists()


def test_a_mode_that_needs_nuggets_says_so_before_it_indexes(folder: Path) -> None:
    run("eval convert pic --data . --out made")
    with pytest.raises(ModeUnavailable, match="mode maxsim") as refused:
        run(f"{RETRIEVE} --mode maxsim")
    assert "--nugget-ratio" in refused.value.hint
