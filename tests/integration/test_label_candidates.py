"""Label candidates of a collection: spans as searches show them, drawn as they say, and ready to be learned from."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.answers import json_values
from app.calibration.label_candidates import LabelCandidates, LabelCandidatesRequest
from app.calibration.label_files import check_label_file_name, read_labels, write_label_candidates
from app.calibration.labels import LabelsRefused
from app.calibration.service import CalibrationRequest
from app.requests import SearchRequest
from app.search.errors import ModeUnavailable
from indexer.errors import CollectionNotFound, TextNotStored
from models.errors import InvalidInput
from models.types import Document, Part, SpanBounds
from tests.byte_restorer import ByteRestorer
from tests.workspace import Workspace

WORDS = ["parcel", "late", "cancel", "my", "plan", "please", "😀", "bill", "wrong", "call"]
ASKED = LabelCandidatesRequest("c", ("cancel my plan", "late parcel"), count=60)
ALL = 10**6


def documents() -> Iterator[Document]:
    for number in range(300):
        words = [WORDS[(number * step + step * step) % 10] for step in range(1 + number % 9)]
        yield Document(f"d{number:03d}", (Part(" ".join(words)), Part(WORDS[number % 7])))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("candidates")) as made:
        made.index(documents(), bounds=SpanBounds(1, 4), segment_units=400)
        yield made


def test_without_stored_texts_there_is_nothing_to_read(tmp_path: Path) -> None:
    with Workspace(tmp_path, restorer=ByteRestorer(), store_text=False) as made:
        made.index([Document("a", (Part("please cancel my plan"),))])
        with pytest.raises(TextNotStored, match="does not store texts"):
            found(made)


def found(workspace: Workspace, asked: LabelCandidatesRequest = ASKED) -> LabelCandidates:
    return workspace.thresholds.candidates(asked)


def hits(workspace: Workspace, phrase: str, group_by: str) -> dict[tuple[str, int, int], float]:
    (answer,) = workspace.service.search(SearchRequest("c", text=phrase, top_k=ALL, threshold=0, group_by=group_by))
    return {(hit.document_id, hit.start, hit.end): hit.raw for hit in answer.hits}


@pytest.mark.slow("many hits")
def test_they_are_the_best_spans_of_documents(workspace: Workspace) -> None:
    drawn = found(workspace)
    assert len(drawn.candidates) == 60
    for phrase in ASKED.phrases:
        best = hits(workspace, phrase, "document")
        mine = [one for one in drawn.candidates if one.phrase == phrase]
        assert mine
        for one in mine:
            assert best[one.span.document_id, one.span.start, one.span.end] == one.raw == one.score
            assert one.context[one.context_start :].startswith(one.says)
            assert workspace.found(one.says, group_by="document")


def test_strata_count_all_pairs_and_every_pair_has_its_probability(workspace: Workspace) -> None:
    drawn = found(workspace)
    everything = [raw for phrase in ASKED.phrases for raw in hits(workspace, phrase, "document").values()]
    assert sum(stratum.population for stratum in drawn.strata) == len(everything)
    assert drawn.near == 0.8
    counted = Counter(one.stratum for one in drawn.candidates)
    for stratum in drawn.strata:
        within = [raw for raw in everything if stratum.low <= raw < stratum.high or raw == stratum.high == 1]
        assert (len(within), counted[stratum.number]) == (stratum.population, stratum.drawn)
        mine = [one for one in drawn.candidates if one.stratum == stratum.number]
        assert all(stratum.low <= one.raw <= stratum.high for one in mine)
        # The weights of a stratum add up to about its pairs, and to no more than their rounding over phrases allows.
        slack = sum(
            max(1 / one.probability for one in mine if one.phrase == phrase) for phrase in {o.phrase for o in mine}
        )
        assert abs(sum(1 / one.probability for one in mine) - stratum.population) <= slack


def test_a_seed_decides_what_is_drawn(workspace: Workspace) -> None:
    once = found(workspace)
    assert replace(found(workspace), took_ms=once.took_ms) == once
    other = found(workspace, replace(ASKED, seed=14))
    assert other.seed == 14
    assert other.strata == once.strata
    assert other.candidates != once.candidates


@pytest.mark.slow("many hits")
def test_every_pair_is_drawn_sooner_or_later_as_often_as_it_says(workspace: Workspace) -> None:
    times: Counter[tuple[str, str]] = Counter()
    chances: dict[tuple[str, str], float] = {}
    for seed in range(60):
        for one in found(workspace, replace(ASKED, seed=seed)).candidates:
            times[one.phrase, one.span.document_id] += 1
            chances[one.phrase, one.span.document_id] = one.probability
    rates = np.array([times[pair] / 60 for pair in chances])
    expected = np.array(list(chances.values()))
    assert np.abs(rates - expected).max() <= 5 * np.sqrt(0.25 / 60)
    assert sum(times.values()) == 60 * 60


def test_with_a_floor_all_spans_over_it_may_be_drawn(workspace: Workspace) -> None:
    asked = replace(ASKED, phrases=("my plan",), floor=0.6, threshold=0.75)
    drawn = found(workspace, asked)
    over = {place: raw for place, raw in hits(workspace, "my plan", "span").items() if raw >= 0.6}
    assert sum(stratum.population for stratum in drawn.strata) == len(over)
    assert drawn.near == 0.75
    for one in drawn.candidates:
        assert over[one.span.document_id, one.span.start, one.span.end] == one.raw


def test_they_lie_around_the_collections_threshold(workspace: Workspace) -> None:
    workspace.thresholds.set("c", "best_span", 0.7, "raw", "")
    try:
        assert found(workspace).near == 0.7
    finally:
        workspace.thresholds.undo("c", "best_span", "")


@pytest.mark.parametrize("name", ["labels.csv", "labels.ndjson"])
def test_a_file_that_is_filled_in_is_learned_from(workspace: Workspace, tmp_path: Path, name: str) -> None:
    drawn = found(workspace, replace(ASKED, count=120))
    path = tmp_path / "new" / name
    write_label_candidates(path, drawn)
    with pytest.raises(LabelsRefused, match=f"None of the {len(drawn.candidates)} candidates in {name} is labelled"):
        read_labels(path)
    _fill_in(path)
    labels = read_labels(path)
    assert [(label.phrase, label.probability, label.stratum) for label in labels] == [
        (one.phrase, one.probability, one.stratum) for one in drawn.candidates
    ]
    _, report = workspace.thresholds.calibrate("c", CalibrationRequest(labels))
    assert report.weighted
    truth = [raw > 0.85 for phrase in ASKED.phrases for raw in hits(workspace, phrase, "document").values()]
    weights = sum(1 / label.probability for label in labels if label.is_match)
    assert weights == pytest.approx(sum(truth), rel=0.2)
    precise = report.suggested[0].threshold
    assert precise.raw > 0.7
    assert precise.precision.low < 0.97
    assert precise.precision.high == pytest.approx(1)


def _fill_in(path: Path) -> None:
    """Whoever labels this finds the same what scores more than 0.85."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(row | {"match": "yes" if float(row["raw"]) > 0.85 else "no"} for row in rows)
    else:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        filled = [json.dumps(row | {"match": row["raw"] > 0.85}) for row in rows]
        path.write_text("\n".join(filled), "utf-8")


def test_an_interface_shows_candidates_as_labels(workspace: Workspace) -> None:
    one = json_values(found(workspace))["candidates"][0]
    assert set(one) == {
        "phrase", "span", "says", "context", "context_start", "score", "raw", "stratum", "probability",
    }  # fmt: skip
    assert set(one["span"]) == {"document_id", "start", "end"}


def test_an_empty_collection_has_nothing_to_label(tmp_path: Path) -> None:
    with Workspace(tmp_path) as made:
        made.index([])
        drawn = made.thresholds.candidates(ASKED)
        assert (drawn.strata, drawn.candidates) == ((), ())


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"phrases": ()}, "phrase"),
        ({"phrases": ("a",) * 2}, "phrase"),
        ({"phrases": tuple(map(str, range(101)))}, "phrase"),
        ({"count": 19}, "count"),
        ({"count": 2001}, "count"),
        ({"seed": -1}, "seed"),
        ({"floor": float("nan")}, "floor"),
        ({"floor": 1.5}, "floor"),
        ({"threshold": float("nan")}, "threshold"),
        ({"phrases": (" ",)}, "text"),
    ],
)
def test_what_cannot_be_drawn_is_refused(workspace: Workspace, change, field) -> None:
    with pytest.raises(InvalidInput) as refused:
        found(workspace, replace(ASKED, **change))
    assert refused.value.field == field


def test_unknown_collections_modes_and_files(workspace: Workspace) -> None:
    with pytest.raises(CollectionNotFound):
        found(workspace, replace(ASKED, collection="nobody"))
    with pytest.raises(ModeUnavailable):
        found(workspace, replace(ASKED, mode="maxsim"))
    with pytest.raises(InvalidInput, match=r"cannot be written as labels\.txt"):
        check_label_file_name(Path("labels.txt"))
    check_label_file_name(Path("labels.csv"))
