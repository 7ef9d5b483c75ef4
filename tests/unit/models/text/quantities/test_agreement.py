"""Whether texts agree on quantities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.text.quantities import Relation, compare, quantities, relation

EQUAL = [
    ("18 months", "a year and a half"),
    ("1.5 years", "a year and a half"),
    ("24 hours", "a day"),
    ("50 %", "half of it"),
    ("twice the fee", "200 per cent"),
    ("a dozen", "12"),
    ("2 GB", "2048 MB"),
    ("at least 5", "5"),
    ("two to three days", "48 to 72 hours"),
    ("June", "3 June 2024"),
    ("3pm", "15:00"),
    ("half past three", "3:30 pm"),
    ("$1,000", "a thousand dollars"),
    ("by the fifth", "no later than the 5th"),
]
COMPATIBLE = [
    ("at least 5", "7"),
    ("up to 5", "3"),
    ("about 30 s", "31 s"),
    ("two to three days", "two days"),
    ("30 days", "a month"),
    ("365 days", "a year"),
    ("June 2024", "3 June"),
    ("at most 5", "at least 3"),
]
CONTRADICTORY = [
    ("18 years", "13 years"),
    ("at least 5", "4"),
    ("at least 5", "at most 4"),
    ("more than 5", "less than 5"),
    ("within 30 days", "within 60 days"),
    ("about 30 s", "40 s"),
    ("10 days", "two months"),
    ("$500", "€500"),
    ("June", "September"),
    ("3 June", "4 June 2024"),
    ("Monday", "Tuesday"),
    ("3pm", "3am"),
    ("the fifth", "the fifteenth"),
    ("half of it", "twice it"),
    ("Section 5", "Section 6"),
    ("two to three days", "four days"),
]
UNRELATED = [
    ("5 files", "5 days"),
    ("Section 5", "6 files"),
    ("June", "Monday"),
    ("50 %", "$50"),
]
TEXTS = st.sampled_from([text for pair in (*EQUAL, *COMPATIBLE, *CONTRADICTORY) for text in pair])


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        *((*pair, Relation.EQUAL) for pair in EQUAL),
        *((*pair, Relation.COMPATIBLE) for pair in COMPATIBLE),
        *((*pair, Relation.CONTRADICTORY) for pair in CONTRADICTORY),
    ],
)
def test_two_quantities_relate(left: str, right: str, expected: Relation) -> None:
    assert relation(quantities(left)[0], quantities(right)[0]) is expected


def test_other_dimensions_are_unrelated() -> None:
    for left, right in UNRELATED:
        assert relation(quantities(left)[0], quantities(right)[0]) is Relation.UNRELATED


@given(TEXTS, TEXTS)
def test_relations_are_symmetric(left: str, right: str) -> None:
    one, other = quantities(left)[0], quantities(right)[0]
    assert relation(one, other) is relation(other, one)
    assert relation(one, one) is Relation.EQUAL


@given(TEXTS, TEXTS, TEXTS)
def test_every_quantity_of_a_phrase_has_one_answer(phrase: str, first: str, second: str) -> None:
    agreement = compare(phrase, f"{first}; {second}")
    answered = [pair[0] for pairs in agreement[:3] for pair in pairs]
    assert sorted([*answered, *agreement.absent]) == sorted(quantities(phrase))


def test_an_equal_quantity_outweighs_others() -> None:
    agreement = compare("five threads", "8 threads, then 5")
    assert [(one.value, other.start) for one, other in agreement.met] == [(5, 16)]
    assert not agreement.contradicted


def test_places_of_a_contradiction_are_named() -> None:
    phrase, text = "a notice of 18 months", "a notice of twelve months"
    ((one, other),) = compare(phrase, text).contradicted
    assert (phrase[one.start : one.end], text[other.start : other.end]) == ("18 months", "twelve months")


def test_what_a_text_does_not_measure_is_absent() -> None:
    assert [quantity.value for quantity in compare("5 files in 2 days", "5 files").absent] == [172_800]


@pytest.mark.parametrize(
    ("phrase", "text", "field"),
    [
        ("three nights", "2 nights for 4 people", "contradicted"),
        ("three nights", "4 people and 3 nights, please", "met"),
        ("three nights", "3 people for 4 nights", "absent"),
        ("three parcels", "3 packages; one parcel was damaged", "absent"),
        ("a table for four people", "There are 4 of us", "met"),
        ("two double rooms", "5 people in 3 small rooms", "contradicted"),
        ("two non-smoking rooms", "Two smoke-free rooms and one non-refundable deposit", "met"),
        ("a hotel of three stars", "2 nights in a 3-star hotel", "met"),
        ("one party", "both of the 2 parties", "contradicted"),
        ("5 files", "6 folders with 5 pages", "met"),
        ("5 new employees", "We hired 5 people and opened 2 new offices.", "met"),
        ("four people per room", "Rooms sleep 4 guests, with 2 beds per room.", "met"),
        ("20 users affected", "20 customers and 3 servers affected", "met"),
    ],
)
def test_counts_are_compared_with_counts_of_the_same_things(phrase: str, text: str, field: str) -> None:
    found = compare(phrase, text)
    assert [name for name, of_name in found._asdict().items() if of_name] == [field]
