"""Mode hybrid: what its scores are made of, against loops; candidates, exact hits and refusals."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.requests import SpanChoice
from app.search.modes.hybrid.scorer import HybridExplanation, Weights
from indexer import kernels
from indexer.arrays import SpanTerms
from models.errors import InvalidInput
from models.ops.span_score import SpanScore
from models.text.borders import LEVELS, Boundary
from models.types import SpanBounds
from tests import reference
from tests.examples import examples
from tests.workspace import Workspace, document

SCORE = SpanScore(
    0.15,
    (-0.06, -0.03, 0, 0, 0, 0),
    (-0.05, -0.02, 0, 0, 0, 0),
    -0.1,
    whole_share=0.6,
    part_share=0.8,
    context_share=0.3,
)
TEXTS = [
    ("Please cancel my plan. The plan, my friend, is dear!", "I plan to stay."),
    ("The CANCELLATION of plans", "cancel it. My plan stays, and nothing else does in here."),
    ("Nothing like it. 😀",),
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace(tmp_path_factory.mktemp("hybrid"), words=True, span_score=SCORE) as made:
        for number, texts in enumerate(TEXTS):
            made.index([document(f"d{number}", *texts)], bounds=SpanBounds(2, 4))
        yield made


@pytest.mark.parametrize("boundary", LEVELS)
@given(seed=st.integers(0, 2**32 - 1), units=st.integers(0, 9))
@settings(max_examples=examples(40))
def test_the_best_span_of_a_whole_is_that_of_loops(
    workspace: Workspace, boundary: Boundary, seed: int, units: int
) -> None:
    query = np.random.default_rng(seed).normal(size=64).astype(np.float32)
    query /= np.linalg.norm(query)
    terms = SpanTerms.of(SCORE, np.array([units]))
    for view in workspace.store.snapshot("c").views:
        segment = view.segment
        bounds = segment.whole_spans[boundary]
        scores, spans, cosines = kernels.best_in_whole_spans(segment.arrays, bounds[:-1], bounds[1:], 4, query, terms)
        vectors = segment.vectors.astype(np.float64) * segment.scales.astype(np.float64)[:, None]
        for row, (start, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            candidates = reference.all_spans(end - start, 2, 4)
            assert (scores[row] == -9) == (not candidates)
            if not candidates:
                continue
            starts, ends = (start + np.array([span[side] for span in candidates]) for side in (0, 1))
            naive = terms.of_spans(segment.borders, starts, ends, np.zeros(len(starts), np.int64))
            naive += [reference.cosine(query, vectors, span) for span in zip(starts, ends, strict=True)]
            assert scores[row] == pytest.approx(naive.max(), abs=1e-6)
            assert spans[row].tolist() == [starts[naive.argmax()], ends[naive.argmax()]]
            assert cosines[row] == pytest.approx(reference.cosine(query, vectors, (start, end)), abs=1e-6)


@pytest.mark.parametrize("boundary", LEVELS)
def test_a_score_is_that_of_the_whole_and_of_the_words(workspace: Workspace, boundary: Boundary) -> None:
    query, spans = "cancel the plan that my friend has, or nothing of it at all", SpanChoice(boundaries=boundary)
    weights = Weights.of(13)
    by_meaning, by_words, of_parts = (
        {
            (hit.document_id, hit.start, hit.end): 2 * hit.raw - 1
            for hit in workspace.search(query, mode=mode, spans=choice, threshold=0)
        }
        for mode, choice in (("best_span", spans), ("lexical", spans), ("lexical", SpanChoice(boundaries="part")))
    )
    for hit in workspace.search(query, mode="hybrid", explain=True, spans=spans):
        explanation, place = hit.explanation, (hit.document_id, hit.start, hit.end)
        assert isinstance(explanation, HybridExplanation)
        terms = {term.name: term for term in explanation.terms}
        assert sum(term.weight for term in terms.values()) == pytest.approx(1)
        assert terms["words"].value == pytest.approx(by_words.get(place, -1.0))
        around = [
            value
            for (id, start, end), value in of_parts.items()
            if id == hit.document_id and start <= hit.start and hit.end <= end
        ]
        words = (1 - weights.of_part) * by_words.get(place, -1.0) + weights.of_part * (around[0] if around else -1.0)
        words = by_words.get(place, -1.0) if boundary == "part" else words
        assert 2 * hit.raw - 1 == pytest.approx((1 - weights.words) * by_meaning[place] + weights.words * words)
        assert explanation.cosine == pytest.approx(sum(term.weight * term.value for term in explanation.terms))
        assert explanation.cosine + explanation.exact == pytest.approx(2 * hit.raw - 1)
        assert (explanation.span is None) == ("best_span" not in terms)
        if explanation.span:
            assert hit.start <= explanation.span.start < explanation.span.end <= hit.end
            source = "\n".join(TEXTS[int(hit.document_id[1:])])
            assert explanation.span.text == source[explanation.span.start : explanation.span.end]


def test_occurrences_are_exact_within_and_across_sentences(workspace: Workspace) -> None:
    (first, *others) = workspace.search("my PLAN", mode="hybrid")
    assert (first.text, first.raw, first.match) == ("Please cancel my plan.", 1.0, "exact")
    assert [hit.match for hit in others].count("exact") == 1
    assert all(hit.raw < 1 for hit in others if not hit.match)
    (across, *_) = workspace.search("plan the plan", mode="hybrid")
    assert (across.text, across.match) == ("plan. The plan", "exact")
    assert not [hit for hit in workspace.search("my plan", mode="hybrid", ranking="cosine") if hit.match]


def test_whole_parts_and_lengths(workspace: Workspace) -> None:
    parts = workspace.search("plan", mode="hybrid", spans=SpanChoice(boundaries="part"))
    assert {hit.text for hit in parts} == {text for texts in TEXTS for text in texts}
    short = workspace.search("plan", mode="hybrid", spans=SpanChoice(max_units=4, boundaries="sentence"))
    assert {hit.text for hit in short} == {"The CANCELLATION of plans", "cancel it.", "Nothing like it."}


@pytest.mark.parametrize(("options", "field"), [({"text": "?!"}, "text"), ({"vector": (1.0,) * 64}, "vector")])
def test_what_is_refused(workspace: Workspace, options: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        workspace.search(mode="hybrid", **options)
    assert refused.value.field == field
