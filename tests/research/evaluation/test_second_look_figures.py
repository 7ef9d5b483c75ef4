"""Figures of the second look: which planted paraphrases are marked as they were planted."""

from collections.abc import Sequence
from pathlib import Path

from app.search.mode import load_modes
from app.search.service import SearchService
from models.types import CharSpan, Document, Part
from models.verifier.types import Judgement, Pair, Verdict
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.second_look import borders, labelled_figures
from research.training.verifier_data import Example
from tests.workspace import Workspace

TEXTS = ["We called twice. But the red parcel never came.", "Snow fell on the old blue house."]


class Reader:
    """A verifier that finds every text likely."""

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        return [Judgement(0.9, "match") for _ in pairs]


class Sure:
    """A verifier that finds a text as likely as its number says."""

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        return [Judgement(float(pair.text), "match") for pair in pairs]


def planted(document: str, text: str, phrase: str) -> Query:
    start = TEXTS[int(document)].index(text)
    return Query(phrase, phrase, (DocumentSpan(document, CharSpan(start, start + len(text))),))


def test_borders_are_right_if_a_first_hit_is_marked_as_it_was_planted(tmp_path: Path) -> None:
    documents = [Document(str(number), (Part(text),)) for number, text in enumerate(TEXTS)]
    phrases = [
        planted("0", "red parcel never came", "a red parcel never came"),
        planted("1", "old", "the old blue house"),  # marked with more words than were planted
        planted("1", "Snow fell", "red parcel"),  # the first hit is elsewhere
        Query("none", "nothing of it", ()),
    ]
    with Workspace(tmp_path, words=True) as made:
        made.index(documents, name="sample")
        service = SearchService(made.store, load_modes(made.encoders), lambda recipe: Reader())  # type: ignore[arg-type,return-value]
        found = borders(service, Corpus(documents), phrases).values()
    assert sum(half.right for half in found) == 2
    assert sum(half.as_planted for half in found) == 1


def test_labelled_hits_are_counted_by_label_and_partly_ones_have_no_area() -> None:
    def example(text: str, verdict: Verdict | None) -> Example:
        return Example(Pair("a phrase", text), float(verdict == "match"), verdict)

    lists = [
        [example("0.9", "match"), example("0.6", "differs"), example("0.8", None)],
        [example("0.4", "match"), example("0.1", "unrelated"), example("0.2", "differs")],
    ]
    figures = labelled_figures(Sure(), lists)  # type: ignore[arg-type]
    assert (figures.phrases, figures.hits) == (2, 6)
    assert figures.auc == (3 + 2) / 6
    assert figures.likely == {"match": 0.5, "partly": 1.0, "differs": 0.5, "unrelated": 0.0}
