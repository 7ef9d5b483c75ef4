"""A preview counts what a search without a limit finds, whatever spans it is restricted to.

Mode hybrid is left out: it searches among candidates, and counts all.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.requests import Boundaries, PreviewRequest, SearchRequest, SpanChoice
from models.ops.span_score import SpanScore
from tests.examples import examples
from tests.workspace import Workspace, document

WORDS = ["parcel", "never", "came", "cancel", "my", "plan", "please", "refund", "late", "today"]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    choose = random.Random(3)
    folder: Path = tmp_path_factory.mktemp("preview")

    def text() -> str:
        clauses = (" ".join(choose.choices(WORDS, k=choose.randint(1, 7))) for _ in range(choose.randint(1, 5)))
        return "".join(f"{clause}{choose.choice([',', '.', '!'])} " for clause in clauses)

    with Workspace(
        folder, words=True, span_score=SpanScore(discount=0.1, crossing=-0.1, whole_share=0.7, context_share=0.2)
    ) as made:
        for half in range(2):
            made.index([document(f"d{half}-{n}", text(), text()) for n in range(15)])
        yield made


@given(
    st.sampled_from(["best_span", "lexical"]),
    st.sampled_from(get_args(Boundaries)),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    st.tuples(st.integers(1, 4), st.integers(0, 6)) | st.none(),
    st.sampled_from([0.0, 0.4, 0.55, 0.7, 0.9, 1.0]),
)
@settings(max_examples=examples(150), deadline=None)
def test_counts_are_those_of_a_search_without_a_limit(
    workspace: Workspace, mode: str, boundaries: Boundaries, words: list[str], lengths: tuple[int, int] | None, t: float
) -> None:
    least, more = lengths or (None, None)
    spans = SpanChoice(least, None if least is None else least + more, boundaries)
    phrase = " ".join(words)
    request = PreviewRequest("c", phrases=(phrase,), mode=mode, threshold=t, examples=0, spans=spans)  # type: ignore[arg-type]
    (counted,) = workspace.thresholds.preview(request).phrases
    search = {"text": phrase, "mode": mode, "top_k": 1000, "threshold": t, "spans": spans}
    hits = workspace.service.search(SearchRequest("c", **search))[0].hits  # type: ignore[arg-type]
    assert len(hits) < 1000
    assert counted.spans == len(hits)
    documents = {hit.document_id for hit in hits}
    assert counted.documents == len(documents)
    if t == 0:
        assert counted.with_spans == len(documents)


def test_spans_of_other_lengths_do_not_count_under_the_lowest_threshold(workspace: Workspace) -> None:
    spans, text = SpanChoice(4, 4), "today"
    request = PreviewRequest("c", phrases=(text,), threshold=0.0, examples=0, spans=spans)
    (counted,) = workspace.thresholds.preview(request).phrases
    hits = workspace.service.search(SearchRequest("c", text=text, top_k=1000, threshold=0.0, spans=spans))[0].hits
    assert counted.spans == len(hits) > 0
