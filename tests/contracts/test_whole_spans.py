"""Search for whole clauses, sentences and parts, against brute force over the stored vectors and texts."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.requests import SpanChoice
from app.search.answers import Hit
from indexer.catalog.leases import lease
from indexer.catalog.publish import remove
from indexer.engine.query import Filter
from models.encoders.base import encode_queries
from models.errors import InvalidInput
from models.ops.span_score import SpanScore
from models.text.borders import LEVELS, Boundary, border_codes, end_strengths, start_strengths
from models.text.units import split
from models.types import SpanBounds
from tests.examples import examples
from tests.workspace import Workspace, document

SCORE = SpanScore(
    0.2,
    (-0.04, -0.02, 0, 0, 0, 0),
    (-0.03, -0.01, 0, 0, 0, 0),
    -0.1,
    whole_share=0.5,
    part_share=0.7,
    context_share=0.3,
)
BOUNDS = SpanBounds(2, 6)
LONG = "my parcel never came to the door " * 12
DOCUMENTS = [
    document("a", "My parcel never came. I want to cancel, please; now!", "Hello there (friend).", kind="x"),
    document("b", f"{LONG}. The parcel came.\nNo parcel: none", kind="y"),
    document("c", "", "cancel my parcel"),
    document("deleted", "my parcel never came"),
    *(document(f"d{number}", f"Ticket {number}, router slow. Parcel {number} never came?") for number in range(30)),
]
QUERY = "my parcel never came today"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("whole_spans"), span_score=SCORE) as workspace:
        workspace.index(DOCUMENTS[:20], bounds=BOUNDS)
        workspace.index(DOCUMENTS[20:], bounds=BOUNDS)
        with lease(workspace.catalog, "c") as held:
            remove(workspace.catalog, held, ["deleted"])
        yield workspace


def brute(made: Workspace, boundary: Boundary, query: str, **filter: Any) -> dict[tuple[str, int, int], float]:
    """The score of every whole of the live documents, from stored vectors, in loops."""
    units = len(split(query))
    vector = encode_queries(made.encoder, [query])[0].astype(np.float64)
    scores = {}
    for view in made.store.snapshot("c").views:
        segment = view.segment
        vectors = segment.vectors.astype(np.float64) * segment.scales.astype(np.float64)[:, None]
        for row in np.flatnonzero(view.live_documents).tolist():
            metadata = segment.document_metadata(row)
            if any(metadata.get(key) != value for key, value in filter.items()):
                continue
            for part in range(*segment.document_parts[row : row + 2].tolist()):
                span = segment.part_span(part)
                first = int(segment.part_units[part])
                text = segment.text(row, span)
                spans = split(text)
                codes = border_codes(text, spans)
                level = LEVELS[boundary]
                firsts = [
                    unit
                    for unit in range(len(spans))
                    if start_strengths(codes)[unit] >= level and end_strengths(codes)[unit] >= level
                ]
                for begin, end in pairwise([*firsts, len(spans)]):
                    total = vectors[first + begin : first + end].sum(axis=0)
                    cosine = float(total @ vector / np.linalg.norm(total))
                    after = 5 if end == len(spans) else int(end_strengths(codes)[end])
                    score = cosine - SCORE.discount * max(0.0, np.log(units / (end - begin)))
                    score += SCORE.start[start_strengths(codes)[begin]] + SCORE.end[after]
                    place = (
                        segment.document_id(row),
                        span.start + int(spans[begin, 0]),
                        span.start + int(spans[end - 1, 1]),
                    )
                    within = [
                        (i, j)
                        for i in range(begin, end)
                        for j in range(i + BOUNDS.shortest, min(i + BOUNDS.longest, end) + 1)
                    ]
                    spans_of = [_span_score(vectors[first:], codes, level, i, j, vector, units) for i, j in within]
                    around = vectors[first : first + len(spans)].sum(axis=0)
                    context = 0.0 if boundary == "part" else SCORE.context_share
                    score = (1 - context) * score + context * float(around @ vector / np.linalg.norm(around))
                    share = SCORE.share(boundary)
                    scores[place] = share * score + (1 - share) * max(spans_of) if spans_of else score
    return scores


def _span_score(vectors, codes, level, begin: int, end: int, query, units: int) -> float:
    """The score of a span of a part, in loops."""
    total = vectors[begin:end].sum(axis=0)
    score = float(total @ query / np.linalg.norm(total)) - SCORE.discount * max(0.0, np.log(units / (end - begin)))
    inside = [int(min(start_strengths(codes)[u], end_strengths(codes)[u])) >= 2 for u in range(begin + 1, end)]
    after = 5 if end == len(codes) else int(end_strengths(codes)[end])
    return score + SCORE.start[start_strengths(codes)[begin]] + SCORE.end[after] + SCORE.crossing * any(inside)


def places(hits: tuple[Hit, ...]) -> list[tuple[str, int, int]]:
    return [(hit.document_id, hit.start, hit.end) for hit in hits]


@pytest.mark.parametrize("boundary", LEVELS)
@given(
    query=st.sampled_from([QUERY, "cancel", "router slow please now", LONG[:90]]),
    top_k=st.integers(1, 60),
    kind=st.sampled_from([{}, {"kind": "x"}, {"kind": "y"}]),
)
@example(query=QUERY, top_k=4, kind={"kind": "y"})
@settings(max_examples=examples(40))
def test_they_are_those_of_brute_force(
    made: Workspace, boundary: Boundary, query: str, top_k: int, kind: dict[str, str]
) -> None:
    scores = brute(made, boundary, query, **kind)
    hits = made.search(query, top_k=top_k, filter=Filter(kind), spans=SpanChoice(boundaries=boundary), explain=True)
    assert len(hits) == min(top_k, len(scores))
    expected = sorted(scores, key=lambda place: (-scores[place], place))
    for hit, place in zip(hits, expected, strict=False):
        assert 2 * hit.raw - 1 == pytest.approx(scores[place], abs=1e-9)
        found = (hit.document_id, hit.start, hit.end)
        assert scores[found] == pytest.approx(scores[place], abs=1e-9)
        assert hit.explanation is not None
        terms = hit.explanation.length + hit.explanation.borders
        total, within = sum(unit.contribution for unit in hit.explanation.units) + terms, hit.explanation.best_span
        around, left = hit.explanation.part, 1.0
        assert (around is None) == (boundary == "part")
        parts = [0.0]
        if around is not None:
            left, parts = left - around.share, [*parts, around.share * around.cosine]
        if within is not None:
            assert hit.start <= within.start < within.end <= hit.end
            left, parts = left - within.share, [*parts, within.share * within.span_score]
        total = left * total + sum(parts)
        assert total == pytest.approx(scores[found], abs=1e-4)


def test_they_have_their_punctuation_and_any_length(made: Workspace) -> None:
    texts = {hit.text for hit in made.search(QUERY, top_k=99, spans=SpanChoice(boundaries="sentence"))}
    assert {
        "My parcel never came.",
        "I want to cancel, please; now!",
        "Hello there (friend).",
        "No parcel: none",
    } <= texts
    assert f"{LONG}." in {text.replace(" .", ".") for text in texts} | texts
    texts = {hit.text for hit in made.search(QUERY, top_k=99, spans=SpanChoice(boundaries="clause"))}
    assert {"I want to cancel,", "please;", "now!", "(friend)."} <= texts


@pytest.mark.parametrize("group_by", ["part", "document"])
def test_groups_keep_the_best(made: Workspace, group_by: str) -> None:
    scores = brute(made, "sentence", QUERY)
    hits = made.search(QUERY, top_k=99, group_by=group_by, spans=SpanChoice(boundaries="sentence"))
    documents = [hit.document_id for hit in hits]
    if group_by == "document":
        assert len(set(documents)) == len(documents) == len({id for id, _, _ in scores})
        best = {id: max(score for (other, _, _), score in scores.items() if other == id) for id in documents}
        assert [2 * hit.raw - 1 for hit in hits] == pytest.approx([best[id] for id in documents], abs=1e-9)
    assert documents.count("a") == (2 if group_by == "part" else 1)


def test_a_threshold_cuts_them(made: Workspace) -> None:
    every = made.search(QUERY, top_k=99, spans=SpanChoice(boundaries="clause"))
    middle = every[len(every) // 2].raw
    some = made.search(QUERY, top_k=99, threshold=middle, threshold_on="raw", spans=SpanChoice(boundaries="clause"))
    assert some == tuple(hit for hit in every if hit.raw >= middle)


@pytest.mark.parametrize("lengths", [(2, 2), (3, 5), (6, 6), (None, 3), (4, None)])
def test_lengths_narrow_spans(made: Workspace, lengths: tuple[int | None, int | None]) -> None:
    hits = made.search(QUERY, top_k=200, spans=SpanChoice(*lengths))
    assert hits
    shortest, longest = lengths[0] or 2, lengths[1] or 6
    assert {len(split(hit.text)) for hit in hits} <= set(range(shortest, longest + 1))
    first = max(
        (hit.raw for hit in made.search(QUERY, top_k=1000) if shortest <= len(split(hit.text)) <= longest), default=0
    )
    assert hits[0].raw >= first


@pytest.mark.parametrize("spans", [SpanChoice(1), SpanChoice(None, 7), SpanChoice(5, 4), SpanChoice(5, 4, "sentence")])
def test_lengths_that_there_are_not(made: Workspace, spans: SpanChoice) -> None:
    with pytest.raises(InvalidInput) as caught:
        made.search(QUERY, spans=spans)
    assert (caught.value.field, bool(caught.value.hint)) == ("spans", True)


def test_whole_spans_have_lengths_too(made: Workspace) -> None:
    hits = made.search(QUERY, top_k=99, spans=SpanChoice(40, None, "sentence"))
    assert [hit.document_id for hit in hits] == ["b"]
