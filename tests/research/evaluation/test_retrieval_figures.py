"""Retrieval figures: counted by hand, and against loops over sets of units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.types import CharSpan, SpanBounds
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.retrieval_metrics import Ranked, RetrievalFigures, average_precision, measure, reachable
from tests.workspace import document

# Words of one letter: unit n of a document starts at character 2 n. Documents have parts of four units.
CORPUS = Corpus([document(id, "a b c d", "e f g h", "i j k l") for id in ("x", "y")])
SPANS = st.tuples(st.sampled_from("xy"), st.integers(0, 10), st.integers(1, 6)).map(
    lambda drawn: span(drawn[0], drawn[1], min(12, drawn[1] + drawn[2]))
)
CASES = st.lists(
    st.tuples(st.lists(SPANS, min_size=1, max_size=3), st.lists(SPANS, max_size=12)), min_size=1, max_size=4
)


def span(id: str, first: int, last: int) -> DocumentSpan:
    """The units ``first`` to ``last``, the latter left out."""
    return DocumentSpan(id, CharSpan(2 * first, 2 * last - 1))


def query(*gold: DocumentSpan) -> Query:
    return Query("q", "text", gold)


def units_of(where: DocumentSpan) -> set[tuple[str, int]]:
    return {(where.document_id, unit) for unit in range(where.span.start // 2, (where.span.end + 1) // 2)}


def by_loops(cases: list[tuple[list[DocumentSpan], list[DocumentSpan]]]) -> RetrievalFigures:
    sums = dict.fromkeys(RetrievalFigures.__slots__, 0.0)
    for golds, answer in cases:
        right, near = [], []
        for found in answer[:10]:
            pairs = [(units_of(found), units_of(gold)) for gold in golds]
            right.append(any(2 * len(f & g) >= len(g) and len(f) <= 2 * len(g) for f, g in pairs))
            near.append(any(2 * len(f & g) >= len(f) or 2 * len(f & g) >= len(g) for f, g in pairs))
        sums["top1"] += any(right[:1])
        sums["top5"] += any(right[:5])
        sums["top10"] += any(right)
        sums["mrr"] += 1 / (right.index(True) + 1) if any(right) else 0
        sums["place_top1"] += any(near[:1])
        sums["place_top10"] += any(near)
        for found in answer[:1]:
            units = units_of(found)
            sums["f1"] += max(2 * len(units & units_of(gold)) / (len(units) + len(units_of(gold))) for gold in golds)
            part = {(id, unit // 4) for id, unit in [min(units)]}
            sums["part_top1"] += any((id, unit // 4) in part for gold in golds for id, unit in units_of(gold))
        ids = list(dict.fromkeys(span.document_id for span in answer))
        relevant = {gold.document_id for gold in golds}
        for place, id in enumerate(ids, 1):
            if id in relevant:
                precision = sum(each in relevant for each in ids[:place]) / place
                sums["average_precision"] += precision / len(relevant)
                sums["precision_at_10"] += 0.1
    return RetrievalFigures(**{name: value / len(cases) for name, value in sums.items()})


@given(CASES)
def test_figures_are_those_of_loops(cases: list[tuple[list[DocumentSpan], list[DocumentSpan]]]) -> None:
    figures = measure(CORPUS, [query(*golds) for golds, _ in cases], [Ranked.of(answer) for _, answer in cases])
    expected = by_loops(cases)
    for name in RetrievalFigures.__slots__:
        assert getattr(figures, name) == pytest.approx(getattr(expected, name)), name


def test_figures_by_hand() -> None:
    gold = span("x", 0, 4)
    beside, within, right, elsewhere = span("x", 4, 6), span("x", 0, 1), span("x", 1, 4), span("y", 0, 4)
    answers = [[right], [within, elsewhere, right], [], [elsewhere, beside]]
    figures = measure(CORPUS, [query(gold)] * 4, [Ranked.of(answer) for answer in answers])
    assert figures == RetrievalFigures(
        top1=1 / 4,
        top5=2 / 4,
        top10=2 / 4,
        mrr=(1 + 1 / 3) / 4,
        f1=pytest.approx((6 / 7 + 2 / 5) / 4),
        place_top1=2 / 4,
        place_top10=2 / 4,
        part_top1=2 / 4,
        average_precision=(1 + 1 + 0 + 1 / 2) / 4,
        precision_at_10=pytest.approx(0.3 / 4),
    )


def test_only_ten_hits_count() -> None:
    gold = span("x", 0, 4)
    late = [span("y", 0, 4)] * 10 + [gold]
    assert measure(CORPUS, [query(gold)], [Ranked.of(late)]).top10 == 0
    assert measure(CORPUS, [query(gold)], [Ranked.of(late[1:])]).mrr == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("bounds", "share"), [((1, 12), 1.0), ((1, 1), 0.5), ((5, 12), 0.5), ((4, 12), 1.0), ((25, 30), 0.0)]
)
def test_gold_is_reachable_by_spans_of_half_to_twice_its_length(bounds: tuple[int, int], share: float) -> None:
    queries = [query(span("x", 0, 2)), query(span("x", 0, 12), span("y", 0, 6))]
    assert reachable(CORPUS, queries, SpanBounds(*bounds)) == share


def test_documents_are_measured_by_their_place_in_the_ranking() -> None:
    gold = span("a", 0, 5), span("b", 0, 5)
    ranked = [Ranked([], ["x", "a", "y", "b"]), Ranked([], ["b"]), Ranked([], [f"x{n}" for n in range(10)] + ["a"])]
    figures = measure(CORPUS, [query(*gold)] * 3, ranked)
    assert figures.average_precision == pytest.approx(((1 / 2 + 2 / 4) / 2 + (1 + 0) / 2 + (1 / 11 + 0) / 2) / 3)
    assert figures.precision_at_10 == pytest.approx((0.2 + 0.1 + 0) / 3)
    assert figures.top10 == 0


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_average_precision_is_that_of_its_definition(ranking: list[str], relevant: set[str]) -> None:
    precisions = [
        sum(id in relevant for id in ranking[:place]) / place
        for place in range(1, len(ranking) + 1)
        if ranking[place - 1] in relevant
    ]
    assert average_precision(ranking, relevant) == pytest.approx(sum(precisions) / len(relevant))
