"""Thresholds of phrases from few labels of a collection: what is refused, and that scores stay as they were."""

from collections.abc import Iterator

import pytest

from app.calibration.labels import Label, LabelsRefused, StoredSpan
from app.calibration.phrase_thresholds import PhraseThresholdsRequest
from app.requests import SearchRequest
from models.errors import InvalidInput
from models.types import CharSpan
from tests.workspace import Workspace, document

SAYING = [f"please cancel my plan now {number}" for number in range(30)]
OTHERS = [f"the parcel was late again {number}" for number in range(60)]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("proposed")) as made:
        made.index(
            [document(f"s{n}", text) for n, text in enumerate(SAYING)]
            + [document(f"o{n}", text) for n, text in enumerate(OTHERS)]
        )
        yield made


def labels(count: int, phrase: str = "cancel my plan") -> list[Label]:
    saying = [Label(f"line {n}", phrase, StoredSpan(f"s{n}", CharSpan(7, 21)), 5.0) for n in range(count // 2)]
    return saying + [Label(f"other {n}", phrase, StoredSpan(f"o{n}", CharSpan(0, 19)), 0.0) for n in range(count // 2)]


def test_a_threshold_finds_what_says_the_phrase(workspace: Workspace) -> None:
    (proposed,) = workspace.thresholds.propose(PhraseThresholdsRequest("c", labels(20)))
    assert (proposed.phrase, proposed.labels, proposed.matches) == ("cancel my plan", 20, 10)
    assert proposed.raw is not None
    assert proposed.precision is not None
    assert proposed.precision.low <= proposed.precision.value <= proposed.precision.high
    search = SearchRequest(
        "c", text="cancel my plan", threshold=proposed.raw, threshold_on="raw", group_by="document", top_k=200
    )
    (answer,) = workspace.service.search(search)
    assert len(answer.hits) == proposed.found
    right = [hit.document_id.startswith("s") for hit in answer.hits]
    assert sum(right) == len(SAYING)
    assert sum(right) / len(right) >= 0.85


def test_nothing_is_set_and_no_score_moves(workspace: Workspace) -> None:
    search = SearchRequest("c", text="late parcel", top_k=20)
    before = workspace.service.search(search)[0].hits
    workspace.thresholds.propose(PhraseThresholdsRequest("c", labels(20)))
    assert workspace.service.search(search)[0].hits == before
    assert all(mode.threshold is None for mode in workspace.thresholds.thresholds("c"))


def test_what_is_refused(workspace: Workspace) -> None:
    with pytest.raises(LabelsRefused, match="4 different labels of 'cancel my plan' are too few"):
        workspace.thresholds.propose(PhraseThresholdsRequest("c", labels(4)))
    with pytest.raises(LabelsRefused, match="0 different labels are too few"):
        workspace.thresholds.propose(PhraseThresholdsRequest("c", []))
    with pytest.raises(InvalidInput, match=r"A precision cannot be 0\.0"):
        workspace.thresholds.propose(PhraseThresholdsRequest("c", labels(20), precision=0.0))
    one = labels(20)
    with pytest.raises(LabelsRefused, match="contradicts"):
        workspace.thresholds.propose(
            PhraseThresholdsRequest("c", [*one, Label("line 99", one[0].phrase, one[0].target, 0.0)])
        )
