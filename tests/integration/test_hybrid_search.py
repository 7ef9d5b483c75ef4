"""Mode hybrid: what its scores are made of, against loops; candidates, exact hits and refusals."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.search.hybrid import WEIGHTS, combined
from app.search.types import HybridExplanation, SpanChoice
from indexer import kernels
from indexer.arrays import SpanTerms
from models.borders import LEVELS, Boundary
from models.errors import InvalidInput
from models.ops.span_score import SpanScore
from models.types import SpanBounds
from tests import reference
from tests.examples import examples
from tests.workspace import Workspace, document

SCORE = SpanScore(0.15, (-0.06, -0.03, 0, 0, 0, 0), (-0.05, -0.02, 0, 0, 0, 0), -0.1)
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
        bounds = segment.wholes[boundary]
        scores, spans, cosines = kernels.best_in_wholes(segment.arrays, bounds[:-1], bounds[1:], 4, query, terms)
        vectors = segment.vectors.astype(np.float64) * segment.scales.astype(np.float64)[:, None]
        for row, (start, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            candidates = reference.all_spans(end - start, min(2, end - start), 4)
            starts, ends = (start + np.array([span[side] for span in candidates]) for side in (0, 1))
            naive = terms.of_spans(segment.borders, starts, ends, np.zeros(len(starts), np.int64))
            naive += [reference.cosine(query, vectors, span) for span in zip(starts, ends, strict=True)]
            assert scores[row] == pytest.approx(naive.max(), abs=1e-6)
            assert spans[row].tolist() == [starts[naive.argmax()], ends[naive.argmax()]]
            assert cosines[row] == pytest.approx(reference.cosine(query, vectors, (start, end)), abs=1e-6)


def test_a_score_is_the_weighted_mean_of_its_parts(workspace: Workspace) -> None:
    assert sum(WEIGHTS) == pytest.approx(1)
    hits = workspace.search("cancel the plan", mode="hybrid", explain=True)
    lexical = {
        (hit.document_id, hit.start): hit.raw
        for hit in workspace.search("cancel the plan", mode="lexical", spans=SpanChoice(boundaries="sentence"))
    }
    assert {hit.text for hit in hits} >= {"Please cancel my plan.", "Nothing like it."}
    for hit in hits:
        explanation = hit.explanation
        assert isinstance(explanation, HybridExplanation)
        parts = (np.array([value]) for value in (explanation.best, explanation.whole, explanation.bm25))
        assert explanation.cosine == pytest.approx(combined(*parts)[0])
        assert explanation.bm25 == pytest.approx(lexical.get((hit.document_id, hit.start), 0.0))
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
