"""Grades of hits, and the figures that they make."""

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from models.types import CharSpan, Document, Part
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.judged import JudgedSet, Judgement, sentences_of, unjudged
from research.evaluation.judged_corpora import sampled, tickets
from research.evaluation.judged_figures import Outcome, figures, gains, of_half, outcomes, unmarked
from research.evaluation.judged_rankings import Found
from research.evaluation.queries import Query

# Ten sentences of two units and a full stop, twelve code points each with the space after them.
SENTENCES = [f"Word number{digit}." for digit in range(10)]
CORPUS = Corpus([Document("a", tuple(Part(text) for text in SENTENCES))])
PLACES = list(CORPUS.parts())
QUERY = Query("q", "words", gold=())


def judged(grades: Sequence[int | None]) -> JudgedSet:
    rows = [Judgement(place, grade) for place, grade in zip(PLACES, grades, strict=True) if grade is not None]
    return JudgedSet([QUERY], {"q": rows})


def outcome(grades: Sequence[int | None], hits: Sequence[Found]) -> Outcome:
    (found,) = outcomes(judged(grades), CORPUS, {"q": hits})
    return found


@given(
    grades=st.lists(st.sampled_from([None, 0, 1, 2]), min_size=10, max_size=10),
    hits=st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=8, unique_by=lambda hit: hit[0]),
)
@settings(max_examples=60, deadline=None)
def test_an_outcome_counts_the_grades_of_the_first_five(grades: list[int | None], hits: list[tuple[int, bool]]) -> None:
    found = outcome(grades, [Found(PLACES[number], unlikely) for number, unlikely in hits])
    shown = [(grades[number], unlikely) for number, unlikely in hits[:5]]
    assert found == Outcome(
        "q",
        shown=len(shown),
        relevant=sum(grade == 2 for grade, _ in shown),
        possible=min(5, grades.count(2)),
        first=bool(shown) and shown[0][0] == 2,
        wrong=sum(grade == 0 for grade, _ in shown),
        unmarked_wrong=sum(grade == 0 and not unlikely for grade, unlikely in shown),
        unmarked_near=sum(grade == 1 and not unlikely for grade, unlikely in shown),
        marked_right=sum(grade == 2 and unlikely for grade, unlikely in shown),
        unjudged=sum(grade is None for grade, _ in shown),
    )


def test_two_hits_at_one_place_find_it_once() -> None:
    grades = [2, 0, *[None] * 8]
    first = PLACES[0].span
    halves = [CharSpan(first.start, first.start + 4), CharSpan(first.start + 5, first.end)]
    found = outcome(grades, [Found(DocumentSpan("a", half)) for half in halves])
    assert (found.relevant, found.possible, found.first, found.wrong) == (1, 1, True, 0)


def test_a_hit_at_several_places_has_the_best_grade() -> None:
    both = DocumentSpan("a", CharSpan(PLACES[0].span.start, PLACES[1].span.end))
    assert outcome([0, 2, *[None] * 8], [Found(both)]).first
    assert list(sentences_of(CORPUS, both)) == PLACES[:2]


def test_only_what_nobody_judged_is_to_be_judged() -> None:
    hits = {"q": PLACES[:3]}
    rows = list(unjudged(judged([0, None, 2, *[None] * 7]), CORPUS, [hits, hits]))
    assert [(row["start"], row["text"]) for row in rows] == [(PLACES[1].span.start, SENTENCES[1])]


def test_figures_are_sums_and_gains_leave_out_what_has_no_answer() -> None:
    right, wrong = outcome([2, *[0] * 9], [Found(PLACES[0])]), outcome([2, *[0] * 9], [Found(PLACES[1])])
    none = outcome([0] * 10, [Found(PLACES[0], unlikely=True)])
    of_right = figures([right, none])
    assert (of_right.share, of_right.first, of_right.answered) == (1.0, 1, 1)
    assert (of_right.silent, of_right.unanswered, of_right.unmarked_wrong) == (1, 1, 0)
    assert gains({"x": [right, none], "y": [wrong, none]}, "y")["x"].difference == 1
    assert gains({"x": [none], "y": [none]}, "y") == {}
    assert gains({"x": [none, right], "y": [none, wrong]}, "y", unmarked)["x"].difference == -0.1


def test_halves_part_the_queries() -> None:
    rows = [outcome([0] * 10, [])]
    assert of_half(rows, "all") == rows
    assert len(of_half(rows, "chooses")) + len(of_half(rows, "reported")) == 1


@given(st.lists(st.text(max_size=3), unique=True), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_a_sample_keeps_to_itself_when_others_leave(ids: list[str], count: int) -> None:
    documents = [Document(id, ()) for id in ids]
    chosen = sampled(documents, count)
    assert len(chosen) == min(count, len(ids))
    assert sampled(chosen, count) == chosen
    assert sampled(documents[::-1], count) == chosen


def test_tickets_are_their_titles_and_descriptions_without_code_comments_and_pictures(tmp_path: Path) -> None:
    body = "It fails. <!-- a comment --> ![a picture](a.png) <img src='b'>\n```\ncode()\n```\nAlways. " + "x" * 4_000
    rows = [("web", "It breaks", body), ("web", "Only a title", "")]
    (tmp_path / "nlbse24-issues").mkdir()
    with gzip.open(tmp_path / "nlbse24-issues/issues_test.csv.gz", "wt", encoding="utf-8") as file:
        csv.writer(file).writerows([("repo", "title", "body"), *rows])
    first, second = tickets(tmp_path)
    assert (first.id, first.metadata, first.parts[0].text) == ("issue-0", {"repository": "web"}, "It breaks")
    assert first.parts[1].text.split()[:3] == ["It", "fails.", "Always."]
    assert len(first.parts[1].text) <= 3_000
    assert [part.text for part in second.parts] == ["Only a title"]
