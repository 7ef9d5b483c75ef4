"""What users bring: texts within bounds of memory, graded pairs, and sentences that say what is wrong with a line."""

import gzip
import io
import json
import random
from pathlib import Path

import pytest

from models.errors import InvalidInput
from models.ops.sampling import sample
from research.training import own_texts as own
from research.training.own_texts import paragraphs, read_graded_pair_file, read_own_texts
from research.training.sources import GradedPair


def test_texts_of_a_folder_are_read_whatever_their_form(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.ndjson").write_text('{"text": "One.", "id": 1}\n\n{"text": "Two,\\nthree.\\n\\nFour."}\n')
    with gzip.open(tmp_path / "deep/b.txt.gz", "wt") as file:
        file.write("Five\nsix.\n\n---\n\nSeven.")
    (tmp_path / "c.csv").write_text("eight")
    assert sorted(read_own_texts(tmp_path, seed=1)) == ["Five six.", "Four.", "One.", "Seven.", "Two, three."]


def test_no_more_texts_are_kept_than_there_is_room_for(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text("".join(json.dumps({"text": f"text {number}"}) + "\n" for number in range(200)))
    found = read_own_texts(path, seed=1, most=5)
    assert len(set(found)) == 5
    assert found == read_own_texts(path, seed=1, most=5)
    assert found != read_own_texts(path, seed=2, most=5)


def test_a_sample_takes_every_item_about_as_often() -> None:
    counts = [0] * 10
    for seed in range(2000):
        for item in sample(range(10), 3, random.Random(seed)):
            counts[item] += 1
    # Each is expected 600 times, with a standard deviation of 20.
    assert all(500 < count < 700 for count in counts)


def test_a_long_paragraph_comes_in_pieces_that_say_all_of_it() -> None:
    words = [f"word{number}" for number in range(2000)]
    for text in (" ".join(words), "\n".join(words)):
        pieces = list(paragraphs(io.StringIO(text)))
        assert max(map(len, pieces)) < 2 * own.LONGEST
        assert "".join(pieces).replace(" ", "") == "".join(words)


def test_what_holds_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no file of texts"):
        read_own_texts(tmp_path / "absent", seed=1)
    (tmp_path / "a.csv").write_text("a")
    with pytest.raises(InvalidInput, match="no file of texts"):
        read_own_texts(tmp_path / "a.csv", seed=1)
    with pytest.raises(InvalidInput, match="no texts in it"):
        read_own_texts(tmp_path, seed=1)


def test_pairs_are_read_with_scores_as_numbers_with_a_point(tmp_path: Path) -> None:
    path = tmp_path / "p.ndjson"
    path.write_text(
        '{"query": "a b", "paraphrase": "c", "score": 1}\n{"query": "d", "paraphrase": "e", "score": 0.25}\n'
    )
    found = read_graded_pair_file(path)
    assert found == [GradedPair("a b", "c", 1.0), GradedPair("d", "e", 0.25)]
    assert all(type(pair.score) is float for pair in found)


@pytest.mark.parametrize("score", ["1.01", "-0.5", "true", '"high"', "null", "NaN"])
def test_a_score_is_from_0_to_1(tmp_path: Path, score: str) -> None:
    path = tmp_path / "p.ndjson"
    path.write_text(f'{{"query": "a", "paraphrase": "b", "score": {score}}}\n')
    with pytest.raises(InvalidInput, match=r"p\.ndjson:1 .* score is not a number from 0 to 1"):
        read_graded_pair_file(path)
