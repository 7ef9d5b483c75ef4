"""STS-B and SICK: what is read, what is left out, and what the figures say."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from models.encoders.base import encode_queries
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from research.evaluation.sts import SETS, SentencePair, cosines, evaluate_sentences, find_file, read_year

PAIRS = [
    ('A man "plays" a flute.', "A man plays the flute.", 4.8),
    ("A dog runs.", "A cat sleeps.", 0.5),
    ("Two boys run.", "Two boys are running.", 4.2),
    ("It rains.", "Nobody came, sadly.", 0.0),
]


def stsb(pairs: list[tuple[str, str, float]]) -> str:
    rows = (("captions", "MSRvid", "2012test", f"{n:04d}", f"{g:.3f}", a, b) for n, (a, b, g) in enumerate(pairs))
    return "".join("\t".join(row) + "\n" for row in rows)


def sick(pairs: list[tuple[str, str, float]]) -> str:
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    return header + "".join(f"{n}\t{a}\t{b}\t{1 + g * 0.8}\tNEUTRAL\n" for n, (a, b, g) in enumerate(pairs))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "stsb").mkdir()
    (tmp_path / "sick").mkdir()
    (tmp_path / "stsb/sts-dev.csv").write_text(stsb(PAIRS), "utf-8")
    (tmp_path / "sick/SICK_trial.txt").write_text(sick(PAIRS[1:]), "utf-8")
    (tmp_path / "stsb/sts-test.minus-heldout.csv").write_text(stsb(PAIRS[:3]), "utf-8")
    (tmp_path / "sick/SICK_test_annotated.txt.gz").write_bytes(gzip.compress(sick(PAIRS).encode()))
    return tmp_path


def test_both_sets_are_read_as_they_are_published(data: Path) -> None:
    pairs = {name: form.read(find_file(data, form, "dev")) for name, form in SETS.items()}
    assert pairs["stsb"] == [SentencePair(*pair) for pair in PAIRS]
    assert pairs["sick"] == [SentencePair(a, b, pytest.approx(1 + g * 0.8)) for a, b, g in PAIRS[1:]]


def test_the_test_split_is_read_packed_or_not_and_the_whole_file_first(data: Path) -> None:
    figures = evaluate_sentences(HashingEncoder(), HashingEncoder(), data, "test")
    assert {name: (found.file, found.pairs) for name, found in figures.items()} == {
        "stsb": ("sts-test.minus-heldout.csv", 3),
        "sick": ("SICK_test_annotated.txt.gz", 4),
    }
    (data / "stsb/sts-test.csv").write_text(stsb(PAIRS), "utf-8")
    assert find_file(data, SETS["stsb"], "test").name == "sts-test.csv"


def test_the_years_are_reported_with_the_test_split_and_excluded_sentences_left_out(data: Path) -> None:
    year = data / "sts12-16/STS12-en-test"
    year.mkdir(parents=True)
    for name, packed in (("MSRvid", False), ("OnWN", True)):
        text = "".join(f"{a}\t{b}\tsource\n" for a, b, _ in PAIRS)
        path = year / f"STS.input.{name}.txt{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        (year / f"STS.gs.{name}.txt").write_text("4.8\n\n4.2\n0\n")
    assert read_year(year) == [SentencePair(*PAIRS[row]) for row in (0, 2, 3)] * 2
    found = evaluate_sentences(HashingEncoder(), HashingEncoder(), data, "test", ["TWO boys run"])
    assert {name: row.pairs for name, row in found.items()} == {"stsb": 2, "sick": 3, "sts12": 4}
    assert found["sts12"].file == "STS12-en-test"
    assert "sts12" not in evaluate_sentences(HashingEncoder(), HashingEncoder(), data, "dev")


def test_figures_are_correlations_of_the_cosine_and_their_gain(data: Path) -> None:
    encoder, before = HashingEncoder(), HashingEncoder(dim=8)
    found = evaluate_sentences(encoder, before, data, "dev")["stsb"]
    r = []
    for each in (encoder, before):
        scores = [float(np.dot(*encode_queries(each, [first, second]))) for first, second, _ in PAIRS]
        r.append(np.corrcoef(scores, [grade for *_, grade in PAIRS])[0, 1])
    assert found.pearson == pytest.approx(r[0], abs=1e-6)
    assert found.difference.pearson == pytest.approx(r[0] - r[1], abs=2e-6)
    assert found.difference.spearman != 0 or found.difference.pearson != 0


def test_cosines_are_of_each_pair_alone() -> None:
    pairs = [SentencePair("a b", "B a", 5.0), SentencePair("a b c", "d", 0.0)]
    found = cosines(HashingEncoder(), pairs)
    assert found[0] == pytest.approx(1)
    assert abs(found[1]) < 0.5


def test_a_missing_file_and_a_bad_line_are_named(data: Path) -> None:
    (data / "sick/SICK_trial.txt").write_text(sick(PAIRS) + "5\tonly one sentence\n")
    with pytest.raises(InvalidInput, match=r"SICK_trial.txt has a line .* only one sentence"):
        evaluate_sentences(HashingEncoder(), HashingEncoder(), data, "dev")
    (data / "sick/SICK_trial.txt").unlink()
    with pytest.raises(InvalidInput, match=r"lacks sick/SICK_trial.txt"):
        evaluate_sentences(HashingEncoder(), HashingEncoder(), data, "dev")
