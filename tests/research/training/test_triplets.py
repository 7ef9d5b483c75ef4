"""Triplets in a file: checked at first, and each read once before any comes again."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidInput
from research.training.own_texts import Triplet, TripletFile, place


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def line(number: int) -> str:
    triplet = {"query": f"q{number}", "positive": f"p{number} é", "negative": f"n{number}", "id": number}
    return json.dumps(triplet, ensure_ascii=False)


@given(rows=st.integers(1, 60), lap=st.integers(0, 3), seed=st.integers(0, 5))
def test_every_round_goes_through_all_rows(rows: int, lap: int, seed: int) -> None:
    found = [place(number, rows, seed) for number in range(lap * rows, (lap + 1) * rows)]
    assert sorted(found) == list(range(rows))


def test_rounds_and_seeds_have_orders_of_their_own() -> None:
    orders = {
        tuple(place(n, 101, seed) for n in range(lap * 101, (lap + 1) * 101)) for lap in (0, 1) for seed in (1, 2)
    }
    assert len(orders) == 4


def test_batches_hold_every_triplet_once_and_are_the_same_when_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "t.ndjson", [line(0), "", line(1), line(2), "  ", line(3), line(4), line(5)])
    triplets = TripletFile(path)
    assert len(triplets) == 6
    batches = [triplets.batch(step, 2, seed=13) for step in range(3)]
    wanted = {Triplet(f"q{number}", f"p{number} é", f"n{number}") for number in range(6)}
    assert {triplet for batch in batches for triplet in batch} == wanted
    assert [TripletFile(path).batch(step, 2, seed=13) for step in (2, 1, 0)] == batches[::-1]


def test_a_batch_may_be_larger_than_the_file(tmp_path: Path) -> None:
    triplets = TripletFile(write(tmp_path / "t.ndjson", [line(0), line(1)]))
    assert sorted(triplet.query for triplet in triplets.batch(0, 4, seed=1)) == ["q0", "q0", "q1", "q1"]


def test_a_mark_of_the_byte_order_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    path.write_text(line(7) + "\n", "utf-8-sig")
    assert TripletFile(path).batch(0, 1, seed=1)[0].query == "q7"


def test_triplets_with_an_excluded_sentence_are_passed_over(tmp_path: Path) -> None:
    triplets = TripletFile(write(tmp_path / "t.ndjson", [line(0), line(1), line(2)]), excluded=["P1, É!", "N2"])
    assert {triplet.query for triplet in triplets.batch(0, 5, seed=1)} == {"q0"}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{broken", "t.ndjson:3 cannot be trained on: not valid JSON"),
        ("[1]", "t.ndjson:3 cannot be trained on: it is not an object"),
        ('{"query": "a", "positive": "b"}', "negative is not a text with words in it"),
        ('{"query": "...", "positive": "b", "negative": "c"}', "query is not a text with words in it"),
    ],
)
def test_a_line_that_is_no_triplet_is_named_before_training(tmp_path: Path, bad: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as error:
        TripletFile(write(tmp_path / "t.ndjson", [line(0), "", bad]))
    assert error.value.field == "triplets"
    assert '"negative"' in error.value.hint


def test_files_that_cannot_be_read_at_any_place_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such file"):
        TripletFile(tmp_path / "absent.ndjson")
    with pytest.raises(InvalidInput, match="compressed"):
        TripletFile(write(tmp_path / "t.ndjson.gz", [line(0)]))
    with pytest.raises(InvalidInput, match="no triplets in it"):
        TripletFile(write(tmp_path / "empty.ndjson", [""]))
