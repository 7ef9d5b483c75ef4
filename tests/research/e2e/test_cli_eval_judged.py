"""``spanseek eval judged``: from a judged set and a collection to figures, and to what is to be judged."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import cli

# By the encoder of tests, texts of equal words are equal.
DOCUMENTS = {"a": "I lost my card. It was blue.", "b": "The card is lost. I paid twice.", "c": "Good morning."}
QUERIES = [
    {"id": "q1", "corpus": "calls", "text": "I lost my card"},
    {"id": "q2", "corpus": "calls", "text": "where is my boat"},
    {"id": "other", "corpus": "contracts", "text": "governed by law"},
]


def judgement(query: str, document: str, sentence: str, grade: int) -> dict[str, object]:
    start = DOCUMENTS[document].index(sentence)
    return {
        "query": query,
        "document_id": document,
        "start": start,
        "end": start + len(sentence),
        "grade": grade,
    }


JUDGEMENTS = [
    judgement("q1", "a", "I lost my card.", 2),
    judgement("q1", "b", "The card is lost.", 2),
    judgement("q1", "a", "It was blue.", 0),
    judgement("q1", "b", "I paid twice.", 0),
    judgement("q1", "c", "Good morning.", 0),
]


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANSEEK_ENCODER", "hashing")
    write(tmp_path / "documents.ndjson", [{"id": id, "text": text} for id, text in DOCUMENTS.items()])
    write(tmp_path / "queries.ndjson", [*QUERIES])
    write(tmp_path / "judgements.ndjson", JUDGEMENTS)
    run("init-db")
    run("index -c calls --source documents.ndjson")
    return tmp_path


def run(command: str) -> str:
    result = CliRunner().invoke(cli, command.split(), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


JUDGED = "eval judged -c calls --data . --plain hashing"
SYSTEMS = ["best_span", "hybrid", "lexical", "best_span, sentences", "bm25", "plain, sentences", "plain, parts"]


def test_every_system_has_figures_and_gains() -> None:
    printed = json.loads(run(f"{JUDGED} --json"))
    assert set(printed) == {"all", "reported", "chooses"}
    figures = printed["all"]["figures"]
    assert set(SYSTEMS) <= set(figures)
    first = figures["best_span"]
    assert (first["first"], first["answered"], first["unanswered"]) == (1, 1, 1)
    assert (first["relevant"], first["possible"]) == (2, 2)
    assert printed["all"]["gains"]["share"]["bm25"]["best_span"]["difference"] == 0
    assert set(printed["all"]["gains"]["unmarked_wrong"]["bm25"]) == set(figures) - {"bm25"}


def test_what_is_not_judged_is_written_once_with_its_text(folder: Path) -> None:
    run(f"{JUDGED} --unjudged pool.ndjson --depth 10")
    rows = [json.loads(line) for line in (folder / "pool.ndjson").read_text("utf-8").splitlines()]
    assert {row["query"] for row in rows} == {"q2"}
    places = [(row["document_id"], row["start"], row["end"]) for row in rows]
    assert len(set(places)) == len(places)
    assert all(DOCUMENTS[row["document_id"]][row["start"] : row["end"]] == row["text"] for row in rows)
    write(folder / "judgements.ndjson", [*JUDGEMENTS, *({**row, "grade": 0} for row in rows)])
    figures = json.loads(run(f"{JUDGED} --json"))["all"]["figures"]
    assert [figures[name]["unjudged"] for name in SYSTEMS] == [0] * len(SYSTEMS)


def test_what_was_found_is_kept(folder: Path) -> None:
    once = run(f"{JUDGED} --keep kept --json")
    kept = json.loads((folder / "kept/best_span.json").read_text("utf-8"))
    write_kept = {query: [] for query in kept}
    (folder / "kept/lexical.json").write_text(json.dumps(write_kept), "utf-8")
    again = json.loads(run(f"{JUDGED} --keep kept --json"))
    assert again["all"]["figures"]["best_span"] == json.loads(once)["all"]["figures"]["best_span"]
    assert again["all"]["figures"]["lexical"]["shown"] == 0


def test_figures_are_shown_for_each_half() -> None:
    shown = run(JUDGED)
    assert "all, best_span: relevant 2 of 2, share 1.000, first right 1 of 1, unmarked wrong" in shown
    assert all(f"{half}, bm25: " in shown for half in ("reported", "chooses"))


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([judgement("q1", "a", "It was blue.", 3)], "holds no judged set"),
        ([{**judgement("q1", "a", "It was blue.", 0), "end": 999}], "does not hold"),
        ([{**judgement("q1", "a", "It was blue.", 0), "document_id": "z"}], "does not hold"),
    ],
)
def test_judgements_of_something_else_are_refused(folder: Path, rows: list[dict[str, object]], code: str) -> None:
    write(folder / "judgements.ndjson", rows)
    result = CliRunner().invoke(cli, JUDGED.split())
    assert result.exit_code != 0
    assert code in " ".join(str(result.exception or result.output).split())


def test_a_corpus_that_is_not_judged_is_refused() -> None:
    result = CliRunner().invoke(cli, [*JUDGED.split(), "--corpus", "issues"])
    assert result.exit_code != 0
    assert "calls, contracts" in f"{result.output} {getattr(result.exception, 'hint', '')}"
