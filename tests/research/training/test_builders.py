"""Triplets and pairs of the known sets, from files written in their forms."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from models.errors import InvalidInput
from research.training.builders import PAIRS, TRIPLETS, Distractors, build
from research.training.own_texts import Triplet, TripletFile, read_graded_pair_file
from research.training.sources import GradedPair

CAPTION = "Two women hold packages."
PARAGRAPH = "The first prize was awarded in 1901 . Many were given later ( to physicists ) ."
CONTEXT = "The defense gave up 308 points. It led the league. Nobody scored more."


def save(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(text)


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    labels = {"Some people hold things.": "entailment", "They are sisters.": "neutral", "Men sleep.": "contradiction"}
    snli = [{"sentence1": CAPTION, "sentence2": text, "gold_label": label} for text, label in labels.items()]
    save(tmp_path / "snli/snli_1.0_dev.jsonl.gz", lines(*snli, snli[0] | {"gold_label": "-"}))
    stsb = [
        ("main-captions", "4.2", "A young plane takes off.", "A plane is leaving."),
        ("main-news", "1.0", "The plane was sold by someone unknown yesterday.", "Dogs run."),
        ("main-forum", "5.0", "No cat.", "Not a cat."),
    ]
    save(tmp_path / "stsb/sts-train.csv.gz", "".join(f"{g}\tf\ty\t1\t{s}\t{a}\t{b}\n" for g, s, a, b in stsb))
    splits = [
        ("Late guests came home , and he slept .", "Late guests came home . <::::> He slept ."),
        ("That home stood alone back then .", "That home stood alone . <::::> Then ."),
    ]
    save(tmp_path / "wiki-split/tune.tsv.gz", "".join(f"{long}\t{short}\n" for long, short in splits))
    chosen = {"selected_sentence": {"start": 0, "end": 38, "string": PARAGRAPH[:38]}}
    qed = {"question_text": "when was the first prize", "paragraph_text": PARAGRAPH, "sentence_starts": [0, 38]}
    save(
        tmp_path / "qed/qed-dev.jsonlines.gz",
        lines(
            qed | {"annotation": {"explanation_type": "single_sentence", **chosen}},
            qed | {"annotation": {"explanation_type": "none"}},
        ),
    )
    asked = {"question": "Who led the league?", "answers": [{"answer_start": CONTEXT.index("It led"), "text": "It"}]}
    article = {"paragraphs": [{"context": CONTEXT, "qas": [asked]}, {"context": "One only.", "qas": [asked]}]}
    save(tmp_path / "xquad/xquad.en.json.gz", json.dumps({"data": [article]}))
    asked_twice = [(1, "Who led?", "Who was the leader?"), (0, "Who led the league?", "What is a league?")]
    save(tmp_path / "qqp/dev.tsv.gz", "".join(f"{same}\t{one}\t{two}\t7\n" for same, one, two in asked_twice))
    return tmp_path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_triplets_of_the_default_kinds(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "made/t.ndjson"
    assert build(TRIPLETS, [], data, out) == {"entailments": 1, "paraphrases": 1, "splits": 2}
    entailment, paraphrase, *splits = rows_of(out)
    assert entailment == {
        "query": CAPTION,
        "positive": "Some people hold things.",
        "negative": "Men sleep.",
        "kind": "entailments",
    }
    # "No cat." has no word of four letters, so nothing is known to speak of the same.
    assert paraphrase["query"] == "A young plane takes off."
    assert paraphrase["positive"] == "A plane is leaving."
    assert paraphrase["negative"] == "The plane was sold by someone unknown yesterday."
    assert [(row["query"], row["positive"]) for row in splits] == [
        ("Late guests came home.", "Late guests came home, and he slept."),
        ("That home stood alone.", "That home stood alone back then."),
    ]


def test_questions_are_made_where_they_are_named(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.ndjson"
    assert build(TRIPLETS, ["qed", "xquad"], data, out) == {"qed": 1, "xquad": 1}
    qed, xquad = rows_of(out)
    assert qed["positive"] == "The first prize was awarded in 1901."
    assert qed["negative"] == "Many were given later (to physicists)."
    assert xquad["positive"] == "It led the league."
    assert xquad["negative"] in ("The defense gave up 308 points.", "Nobody scored more.")


def test_duplicates_are_set_among_other_questions(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.ndjson"
    assert build(TRIPLETS, ["duplicates"], data, out) == {"duplicates": 1}
    (row,) = rows_of(out)
    assert row["query"] == "Who led?"
    assert "? Who was the leader? W" in row["positive"]
    assert "? Who led the league? W" in row["negative"]


def test_what_is_made_can_be_trained_on(data: Path, tmp_path: Path) -> None:
    triplets, pairs = tmp_path / "t.ndjson", tmp_path / "p.ndjson"
    counts = build(TRIPLETS, list(TRIPLETS), data, triplets)
    assert len(TripletFile(triplets)) == sum(counts.values())
    made = {"stsb": 3, "forums": 1, "entailments": 3}
    assert build(PAIRS, list(made), data, pairs) == made
    assert read_graded_pair_file(pairs)[2:4] == [GradedPair("No cat.", "Not a cat.", 1.0)] * 2
    assert [pair.score for pair in read_graded_pair_file(pairs)[4:]] == [1.0, 0.5, 0.0]


def test_evaluation_sets_are_not_made_by_default_and_every_kind_names_a_licence() -> None:
    assert {name for name, kind in TRIPLETS.items() if not kind.by_default} == {"qed", "xquad", "duplicates"}
    assert all(kind.licence for kind in (TRIPLETS | PAIRS).values())
    assert all(kind.licence.startswith("CC BY") for kind in (TRIPLETS | PAIRS).values() if kind.by_default)


def test_excluded_sentences_are_left_out_on_every_side(data: Path, tmp_path: Path) -> None:
    excluded = ["men SLEEP", "a plane is leaving"]
    assert build(TRIPLETS, [], data, tmp_path / "t.ndjson", excluded)["entailments"] == 0
    assert build(PAIRS, [], data, tmp_path / "p.ndjson", excluded) == {"stsb": 2}


def test_unknown_kinds_and_missing_sets_are_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no kind 'qqp'"):
        build(TRIPLETS, ["qqp"], data, tmp_path / "t.ndjson")
    (data / "snli/snli_1.0_dev.jsonl.gz").unlink()
    with pytest.raises(InvalidInput, match=r"lacks snli/snli_1\.0_dev\.jsonl\.gz"):
        build(TRIPLETS, ["entailments"], data, tmp_path / "t.ndjson")


def test_a_distractor_shares_a_word_with_the_query_but_at_most_a_third() -> None:
    texts = ["The blue boat sank early", "A boat with three tall masts", "Nothing at all"]
    distractors = Distractors([*texts, "blue boat"], "seed")
    assert list(distractors.triplets([("blue boat sank", "it went down")])) == [
        Triplet("blue boat sank", "it went down", "A boat with three tall masts")
    ]
    assert list(distractors.triplets([("boat masts", "A boat with three tall masts")])) == []


def test_a_set_that_lacks_leaves_the_file_of_before_as_it_is(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.ndjson"
    build(PAIRS, ["stsb"], data, out)
    before = out.read_bytes()
    (data / "stsb/sts-train.csv.gz").unlink()
    with pytest.raises(InvalidInput, match="lacks stsb"):
        build(PAIRS, ["stsb"], data, out)
    assert out.read_bytes() == before
