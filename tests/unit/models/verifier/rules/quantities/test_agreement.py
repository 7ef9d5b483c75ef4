"""Whether texts agree on quantities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.verifier.rules.quantities import Relation, compare, quantities, relation

EQUAL = [
    ("18 months", "a year and a half"),
    ("1.5 years", "a year and a half"),
    ("24 hours", "a day"),
    ("50 %", "half of it"),
    ("2 1/2 hours", "two and a half hours"),
    ("2 1/2 hours", "2.5 hours"),
    ("1½ hours", "90 minutes"),
    ("twice the fee", "200 per cent"),
    ("an hour and a half", "1h 30m"),
    ("90 minutes", "1h 30m"),
    ("half a percent", "0.5%"),
    (".5 %", "0.5%"),
    ("1\u202f000 rows", "1,000 rows"),
    ("a third of it", "33%"),
    ("two thirds", "66.7%"),
    ("one eighth", "13%"),
    ("5 kilos", "5000 grams"),
    ("10 km", "10,000 metres"),
    ("6 feet", "2 yards"),
    ("500 g", "half a kilo"),
    ("60 miles per hour", "60 mph"),
    ("a dozen", "12"),
    ("2 GB", "2048 MB"),
    ("at least 5", "5"),
    ("two to three days", "48 to 72 hours"),
    ("June", "3 June 2024"),
    ("3pm", "15:00"),
    ("half past three", "3:30 pm"),
    ("8 in the morning", "8 am"),
    ("at 8 in the evening", "8 o'clock"),
    ("at ten at night", "22:00"),
    ("$1,000", "a thousand dollars"),
    ("by the fifth", "no later than the 5th"),
    ("before 2020", "before 2020"),
    ("before 2020", "in 2020"),
    ("before and after 2020", "after 2020"),
    ("until 2023", "after 2023"),  # open until, and closed after
    ("by the end of 2023", "after 2023"),
    ("not after 5 May", "by May 5"),
]
COMPATIBLE = [
    ("at least 5", "7"),
    ("up to 5", "3"),
    ("about 30 s", "31 s"),
    ("5 miles", "8 km"),
    ("6 feet", "183 cm"),
    ("11 lbs", "5 kg"),
    ("at least 5 miles", "10 km"),
    ("before 8 in the morning", "7 am"),
    ("two to three days", "two days"),
    ("30 days", "a month"),
    ("365 days", "a year"),
    ("June 2024", "3 June"),
    ("before June 2024", "by 3 June"),
    ("at most 5", "at least 3"),
    ("over 2 hours", "2 1/2 hours"),
]
CONTRADICTORY = [
    ("18 years", "13 years"),
    ("2 1/2 hours", "2 hours"),
    ("2 1/2 hours", "2 3/4 hours"),
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
    ("before 2020", "after 2020"),
    ("before May 5", "after the 5th of May"),
    ("before 2020", "after June 2020"),
    ("before 3 June", "after June 2024"),
    ("a third of it", "34%"),
    ("a third of it", "30%"),
    ("one ninth", "one tenth"),
    ("99.9%", "100%"),
    ("33.3%", "33%"),
    ("a half", "51%"),
    ("10 km", "10 miles"),
    ("5 yards", "5 metres"),
    ("5 kg", "5 lbs"),
    ("5 kilos", "500 grams"),
    ("3pm", "3am"),
    ("8 in the morning", "8 pm"),
    ("8 in the morning", "at 8 in the evening"),
    ("at two at night", "at two in the afternoon"),
    ("the fifth", "the fifteenth"),
    ("half of it", "twice it"),
    ("Section 5", "Section 6"),
    ("two to three days", "four days"),
]
UNRELATED = [
    ("5 files", "5 days"),
    ("Section 5", "6 files"),
    ("June", "Monday"),
    ("before June", "after 2020"),
    ("a third of it", "33 files"),
    ("5 pounds", "5 lbs"),
    ("5 km", "5 kg"),
    ("5 metres", "5 files"),
    ("8 in the morning", "8 boxes"),
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
        ("3 nights for two people", "Two nights for three people", "contradicted"),
        ("3 nights for two people", "For two people, three nights", "met"),
        ("two cats and one dog", "One cat and two dogs", "contradicted"),
        ("two cats and one dog", "One dog and two cats", "met"),
        ("three parcels and two letters", "3 packages and 2 notes; one parcel and one letter were damaged", "absent"),
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
