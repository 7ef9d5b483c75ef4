"""Documents that say the same, as nuggets learn from them."""

import random
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from research.training.nugget_data import NuggetShape, NuggetTexts, Sections, draw_likenesses
from research.training.rewrites import RewriteShape, known_synonyms, read_synonyms, rewrite, set_apart

SENTENCES = [f"The {n}th dog ran over the {n}th hill, and a cat sat." for n in range(200)]
TEXTS = NuggetTexts(
    {"novel": [" ".join(SENTENCES[n : n + 5]) for n in range(0, 200, 5)]},
    [(f"The {n}th man sleeps.", f"A {n}th person is asleep.") for n in range(50)],
    {"dog": ["hound"], "cat": ["kitten"]},
)
SHAPE = NuggetShape(documents=6, of_pairs=2, fewest_words=40, most_words=60)
NOTHING = RewriteShape(0, 0, 0, 0, 0, 0, 0, 0)


def numbers(text: str) -> set[str]:
    return {word for word in text.split() if word.endswith("th")}


def test_a_step_draws_the_same_again_and_another_something_else() -> None:
    first, again, other = (draw_likenesses(TEXTS, SHAPE, 13, step) for step in (4, 4, 5))
    assert first == again != other
    assert len(first) == len(other) == 6


def test_both_sides_say_the_same_and_no_others_do() -> None:
    drawn = draw_likenesses(TEXTS, replace(SHAPE, least_kept=1, most_kept=1, of_pairs=0), 13, 1)
    for number, likeness in enumerate(drawn):
        shared = [len(numbers(likeness.source) & numbers(each.target)) for each in drawn]
        assert shared[number] > 0
        assert sum(shared) == shared[number]


def test_documents_of_a_place_stand_one_behind_the_other() -> None:
    shape = replace(SHAPE, least_kept=1, most_kept=1, of_pairs=0, places=1, rewrites=NOTHING)
    drawn = draw_likenesses(TEXTS, shape, 13, 2)
    found = [int(word[:-2]) for each in drawn for word in each.source.split() if word.endswith("th")]
    assert len(set(found)) * 2 == len(found)
    assert (max(found) - min(found) + 1) * 2 == len(found) or 0 in found


def test_fewer_sentences_are_kept_where_so_asked() -> None:
    few, many = (
        draw_likenesses(TEXTS, replace(SHAPE, least_kept=share, most_kept=share), 13, 3) for share in (0.3, 0.9)
    )
    assert sum(len(each.source) for each in few) < sum(len(each.source) for each in many)
    assert all(each.source and each.target for each in few)


def test_nothing_is_rewritten_where_no_rule_applies() -> None:
    assert rewrite(SENTENCES[0], TEXTS.synonyms, random.Random(1), NOTHING) == SENTENCES[0]


def test_an_empty_sentence_stays_empty() -> None:
    all_of_it = RewriteShape(crop=1, turn_about=1, spelling=1, synonym=1, filler=0)
    assert rewrite("", TEXTS.synonyms, random.Random(1), all_of_it) == ""


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (replace(NOTHING, synonym=1), "The hound, which is not a kitten, do not bark."),
        (replace(NOTHING, crop=1), "The dog, which is not a cat,"),
        (replace(NOTHING, turn_about=1), "which is not a cat, do not bark, The dog."),
        (replace(NOTHING, drop_small=1), "dog, which not cat, bark."),
    ],
    ids=["synonym", "crop", "turn_about", "drop_small"],
)
def test_rules(shape: RewriteShape, expected: str) -> None:
    found = {
        rewrite("The dog, which is not a cat, do not bark.", TEXTS.synonyms, random.Random(n), shape) for n in range(9)
    }
    assert any(expected.split()[:3] == each.split()[:3] for each in found)


def test_words_are_spelt_apart() -> None:
    assert set_apart('He said: "I can\'t (yet)."') == 'He said : " I ca n\'t ( yet ) . "'


def test_synonyms_are_read_and_slips_left_out(tmp_path: Path) -> None:
    (tmp_path / "nltk").mkdir()
    with ZipFile(tmp_path / "nltk/mwa_ppdb.zip", "w") as archive:
        archive.writestr("mwa_ppdb/x.uniquepairs", "big\tlarge\nbig\tbgi\n10\tten\nbroken\n")
    found = read_synonyms(tmp_path)
    assert found == {"big": ["large", "bgi"], "large": ["big"], "bgi": ["big"]}
    assert known_synonyms(found, {"big": 20, "large": 20, "bgi": 1}, 5) == {"big": ["large"], "large": ["big"]}


def test_leads_stand_beside_sections_of_their_own_articles_which_speak_of_the_same() -> None:
    articles = [Sections(f"lead {n}", [f"section {n}", f"another section {n}"]) for n in range(20)]

    def near(number: int, many: int) -> list[int]:
        return [(number + step) % 20 for step in range(many)]

    alone = draw_likenesses(TEXTS, SHAPE, 13, 1)
    drawn = draw_likenesses(replace(TEXTS, articles=articles, near=near), replace(SHAPE, of_articles=4), 13, 1)
    assert drawn[: len(alone)] == alone  # the other documents stay what they were
    places = [int(likeness.source.split()[-1]) for likeness in drawn[len(alone) :]]
    assert len(set(places)) == 4
    assert all((place - places[0]) % 20 < 12 for place in places)  # among three times as many neighbours
    for likeness, place in zip(drawn[len(alone) :], places, strict=True):
        assert likeness.source == f"lead {place}"
        assert likeness.target in articles[place].others


def test_a_few_articles_are_all_drawn() -> None:
    articles = [Sections("lead 0", ["section 0"]), Sections("lead 1", ["section 1"])]
    texts = replace(TEXTS, articles=articles, near=lambda number, many: [number, 1 - number][:many])
    drawn = draw_likenesses(texts, replace(SHAPE, documents=0, of_pairs=0, of_articles=5), 13, 1)
    assert {(likeness.source, likeness.target) for likeness in drawn} == {
        ("lead 0", "section 0"),
        ("lead 1", "section 1"),
    }
