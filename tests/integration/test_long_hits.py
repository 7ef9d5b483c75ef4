"""Hits of sentences that nobody can read whole, and queries that say nothing."""

from pathlib import Path
from typing import get_args

import pytest

from app.requests import Boundaries, ModeName, SearchRequest, SpanChoice
from app.search.hits import MAX_TEXT
from tests.workspace import Workspace, records

FILLER = "so we went on and on with it, "
LONG = FILLER * 4_000 + "please cancel my plan today " + FILLER * 4_000


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = Workspace(tmp_path_factory.mktemp("long"), words=True, nugget_ratio=0.1)
    made.index(records([("long", LONG), ("short", "Please cancel my plan."), ("gap", f"cancel{' ' * 200_000}plan")]))
    return made


@pytest.mark.parametrize("mode", ["best_span", "hybrid", "lexical"])
@pytest.mark.parametrize("boundaries", ["sentence", "part"])
def test_a_long_hit_shows_the_part_with_the_words_of_the_query(
    workspace: Workspace, mode: ModeName, boundaries: Boundaries
) -> None:
    assert boundaries in get_args(Boundaries)
    hits = workspace.search("cancel my plan", mode=mode, spans=SpanChoice(boundaries=boundaries), top_k=9, explain=True)
    by_document = {hit.document_id: hit for hit in hits}
    assert by_document["short"].cut is None
    hit = by_document["long"]
    assert hit.cut is True
    assert len(hit.text) <= MAX_TEXT
    assert "please cancel my plan today" in hit.text
    assert hit.text == LONG[hit.start : hit.end]
    assert hit.match == "exact"
    assert hit.explanation is not None
    assert all(word.text == LONG[word.start : word.end] for word in hit.highlights or ())


def test_a_long_document_shows_the_part_with_the_words_of_the_query(workspace: Workspace) -> None:
    hits = workspace.search("cancel my plan", mode="maxsim", top_k=9, explain=True)
    by_document = {hit.document_id: hit for hit in hits}
    short, hit = by_document["short"], by_document["long"]
    assert (short.text, short.cut) == ("Please cancel my plan.", None)
    assert (by_document["gap"].text, by_document["gap"].cut) == ("cancel", True)
    assert hit.cut is True
    assert len(hit.text) <= MAX_TEXT
    assert "please cancel my plan today" in hit.text
    assert hit.text == LONG[hit.start : hit.end]


def test_a_span_over_a_gap_is_cut_as_well(workspace: Workspace) -> None:
    hits = workspace.search("cancel plan", top_k=9, spans=SpanChoice(boundaries="part"))
    (hit,) = [hit for hit in hits if hit.document_id == "gap"]
    assert (hit.text, hit.start, hit.end, hit.cut) == ("cancel", 0, 6, True)


def test_a_vector_has_the_beginning(workspace: Workspace, tmp_path: Path) -> None:
    vector = tuple([1.0] + [0.0] * (workspace.encoder.dim - 1))
    hits = workspace.search(vector=vector, top_k=9, spans=SpanChoice(boundaries="part"), threshold=0)
    (hit,) = [hit for hit in hits if hit.document_id == "long"]
    assert (hit.start, hit.cut) == (0, True)


@pytest.mark.parametrize(("text", "said"), [(".", "no words"), ("Um, uh", "only fillers"), ("um, cancel", None)])
def test_a_query_without_words_is_said_to_be_one(workspace: Workspace, text: str, said: str | None) -> None:
    (answer,) = workspace.service.search(SearchRequest("c", text=text))
    assert answer.notice is None if said is None else said in (answer.notice or "")
