"""Figures of the second look: which planted paraphrases are marked as they were planted."""

from collections.abc import Sequence
from pathlib import Path

from app.search.mode import load_modes
from app.search.service import SearchService
from models.types import CharSpan, Document, Part
from models.verifier.types import Judgement, Pair
from research.evaluation.corpus import Corpus, DocumentSpan
from research.evaluation.queries import Query
from research.evaluation.second_look import borders
from tests.workspace import Workspace

TEXTS = ["We called twice. But the red parcel never came.", "Snow fell on the old blue house."]


class Reader:
    """A verifier that finds every text likely."""

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        return [Judgement(0.9, "match") for _ in pairs]


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
