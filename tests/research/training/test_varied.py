"""Documents to which a projection is fitted: of every kind, in every form."""

from research.training.nugget_data import NO_TEXTS, NuggetTexts
from research.training.nugget_whitening import draw_mixed_documents

PROSE = {
    kind: [" ".join(f"The {kind} goes on {n}." for n in range(9))] * many for kind, many in (("novel", 40), ("law", 2))
}
TEXTS = NuggetTexts(PROSE, [("pair sits.", "pair is seated.")], {})
KINDS = ("novel", "law", "pair")


def kinds_of(document: str) -> set[str]:
    return {kind for kind in KINDS if kind in document}


def test_documents_are_the_same_for_the_same_seed() -> None:
    assert (
        draw_mixed_documents(TEXTS, 9, 13)
        == draw_mixed_documents(TEXTS, 12, 13)[:9]
        != draw_mixed_documents(TEXTS, 9, 14)
    )


def test_every_second_document_is_of_one_kind_and_the_others_of_many() -> None:
    drawn = draw_mixed_documents(TEXTS, 24, 13)
    assert all(len(kinds_of(document)) == 3 for document in drawn[0::2])
    runs = [kinds_of(document) for document in drawn[1::2]]
    assert all(runs.count({kind}) == 4 for kind in KINDS)


def test_a_run_is_in_its_order() -> None:
    text = NuggetTexts({"novel": [" ".join(f"It was {n}." for n in range(400))]}, [], {})
    found = [
        int(word.rstrip(".")) for word in draw_mixed_documents(text, 2, 13)[1].split() if word.rstrip(".").isdecimal()
    ]
    assert found == list(range(len(found)))


def test_of_either_form_half_have_signs_set_apart() -> None:
    apart = [" . " in document for document in draw_mixed_documents(TEXTS, 8, 13)]
    assert apart == [False, False, True, True] * 2


def test_no_texts_give_no_documents() -> None:
    assert draw_mixed_documents(NO_TEXTS, 5, 13) == []
