"""Phrase similarity on sets written for the test, with the encoder without weights, against sums done by hand."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from models.encoders.base import encode_queries
from models.encoders.hashing import HashingEncoder
from models.errors import InvalidInput
from models.text import units
from research.evaluation.phrase_sets import (
    Choice,
    PhrasePair,
    read_bird,
    read_patents,
    read_pic,
    read_semeval,
    read_turney,
    read_wikisrs,
)
from research.evaluation.phrase_similarity import (
    SETS,
    best_threshold,
    cosines_alone,
    cosines_in_context,
    evaluate_phrases,
    vectors_in_context,
)

ENCODER = HashingEncoder(dim=256)


def save(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, "utf-8")
    return path


def cosine(first: str, second: str) -> float:
    one, two = encode_queries(ENCODER, [first, second])
    return float(one @ two)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    bird = [("red car", "blue car", "0.6"), ("red car", "red car", "1.0"), ("old man", "stone", "0.1")]
    save(
        tmp_path / "bird/BiRD.txt.gz",
        "pair\tterm1\tterm2\tterm2: unigram or bigram\tsource\trelation\trelatedness score\tpos\n"
        + "".join(f"({a}, {b})\t{a}\t{b}\tbigram\tW\tNone\t{score}\tn-n\n" for a, b, score in bird),
    )
    # The training part says: one word in common is not enough. So "red car" and "red" are taken to differ.
    train = "red\tJJ\ncar\tNN\nred\n0\nstone\tNN\nstone\tNN\nstone\n1\n"
    test = "old\tJJ\nman\tNN\nman\n0\nbig\tJJ\nbig\tJJ\nbig\n1\nred\tJJ\ncar\tNN\ncar\n1\n"
    save(tmp_path / SETS["semeval2013"].files[1], train)
    save(tmp_path / SETS["semeval2013"].files[0], test)
    turney = [
        ("double", "star", "star double", "lumen", "neutralism"),
        ("bass", "fiddle", "contrabass", "pitch", "bass pitch"),
    ]
    save(
        tmp_path / SETS["turney2012"].files[0],
        "".join(f"{a}\tJJ\n{b}\tNN\n{answer}\n{a}\n{b}\n{c}\n{d}\nx\ny\n" for a, b, answer, c, d in turney),
    )
    return tmp_path


def test_sets_are_measured_as_their_papers_do(data: Path) -> None:
    found = evaluate_phrases(ENCODER, ENCODER, data)
    assert list(found) == ["bird", "semeval2013", "turney2012"]
    scores = [cosine("red car", "blue car"), 1.0, cosine("old man", "stone")]
    pearson = stats.pearsonr(scores, [0.6, 1.0, 0.1]).statistic
    assert found["bird"].encoder["pearson"] == pytest.approx(pearson, abs=1e-5)
    assert found["semeval2013"].rows == 3
    # (old man, man) and (big big, big) are right, (red car, car) is not; it scores as (old man, man) does.
    assert found["semeval2013"].encoder["accuracy"] == pytest.approx(2 / 3, abs=1e-5)
    assert found["semeval2013"].encoder["auc"] in (pytest.approx(0.75), pytest.approx(1), pytest.approx(0.5))
    # The first answer says both words; of the second phrase one candidate shares a word and the answer none.
    assert found["turney2012"].encoder == {"accuracy": 0.5, "accuracy_of_seven": 0.5}
    assert found["turney2012"].untrained == found["turney2012"].encoder


def test_a_tie_is_no_answer(tmp_path: Path) -> None:
    save(tmp_path / SETS["turney2012"].files[0], "a\tJJ\nb\tNN\nsame\na\nb\nsame\nc\nd\ne\n")
    assert evaluate_phrases(ENCODER, ENCODER, tmp_path)["turney2012"].encoder["accuracy"] == 0


def test_the_untrained_encoder_stands_beside(data: Path) -> None:
    found = evaluate_phrases(ENCODER, HashingEncoder(dim=4), data)
    assert found["bird"].encoder != found["bird"].untrained


def test_a_folder_without_any_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="none of the sets"):
        evaluate_phrases(ENCODER, ENCODER, tmp_path)


def pic_line(first: str, second: str, text: str, other: str, label: str) -> str:
    return (
        json.dumps({"phrase1": first, "phrase2": second, "sentence1": text, "sentence2": other, "label": label}) + "\n"
    )


def test_phrases_are_found_in_their_sentences_and_encoded_there(tmp_path: Path) -> None:
    text, other = "A track; the track was cut.", "A track; the old road was cut."
    path = save(tmp_path / "pic.jsonl", pic_line("track", "old road", text, other, "positive"))
    (pair,) = read_pic(path)
    assert (pair.first.span.start, pair.first.phrase, pair.second.phrase, pair.same) == (13, "track", "old road", True)
    # Without context in the vectors both ways agree, so the right units are summed.
    np.testing.assert_allclose(cosines_in_context(ENCODER, [pair]), cosines_alone(ENCODER, [pair]), atol=1e-5)
    (vector,) = vectors_in_context(ENCODER, [pair.second])
    ((vectors,),) = ENCODER.forward([[ENCODER.tokenize([other])[0].ids]])
    at = [other[start:end] for start, end in units.split(other)].index("old")
    by_hand = vectors[at] + vectors[at + 1]
    np.testing.assert_allclose(vector, by_hand / np.linalg.norm(by_hand), atol=1e-5)


def test_each_half_of_pic_gets_the_threshold_of_the_other(tmp_path: Path) -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    lines = [pic_line(word, word, f"We saw {word}.", f"We saw {word}.", "positive") for word in words]
    lines += [pic_line(word, f"un{word}", f"We saw {word}.", f"We saw un{word}.", "negative") for word in words]
    save(tmp_path / SETS["pic_alone"].files[0], "".join(lines))
    found = evaluate_phrases(ENCODER, ENCODER, tmp_path)
    assert found["pic_alone"].rows == 16
    for name in ("pic_alone", "pic_in_context"):
        assert found[name].encoder == {"accuracy": 1.0, "auc": 1.0}


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=30))
def test_no_threshold_is_better_than_the_best(rows: list[tuple[int, bool]]) -> None:
    scores, same = np.array([score / 4 for score, _ in rows]), np.array([label for _, label in rows])

    def right(threshold: float) -> int:
        return int(((scores > threshold) == same).sum())

    assert right(best_threshold(scores, same)) == max(right(level / 8 + 0.01) for level in range(-2, 14))


def test_other_sets_are_read_in_their_forms(tmp_path: Path) -> None:
    patents = save(tmp_path / "p.csv", 'id,anchor,target,context,score\n1,a b,"c, d",A47,0.25\n')
    assert read_patents(patents) == [PhrasePair("a b", "c, d", 0.25)]
    header = "Term1\tTerm2\tString1\tString2\tMean\tStdDev\tRawScores\n"
    wikisrs = save(tmp_path / "w.csv", header + "a\tb\tA x\tB\t97.5\t2.2\t[97, 98]\n")
    assert read_wikisrs(wikisrs) == [PhrasePair("A x", "B", 97.5)]
    semeval = save(tmp_path / "s", "big\tJJ\ncar\tNN\ntruck\n1\n")
    assert read_semeval(semeval) == [PhrasePair("big car", "truck", 1.0)]
    turney = save(tmp_path / "t", "big\tJJ\ncar\tNN\ntruck\nbig\ncar\na\nb\nc\nd\n")
    assert read_turney(turney) == [Choice("big car", "truck", ("a", "b", "c", "d"), ("big", "car"))]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_bird, "term1\tterm2\na\tb\n"),
        (read_semeval, "big\tJJ\ncar\tNN\ntruck\n"),
        (read_turney, "big\tJJ\ncar\tNN\ntruck\nbig\ncar\na\nb\n"),
        (read_wikisrs, "String1\tString2\tMean\na\tb\tmuch\n"),
        (read_pic, '{"phrase1": "a"}\n'),
        (read_pic, pic_line("absent", "b", "c", "b", "positive")),
    ],
)
def test_a_record_of_another_form_is_named(read, text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Record 1 of set is not of the set's form"):
        read(save(tmp_path / "set", text))
